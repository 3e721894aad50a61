// Package watch tells whoever watches that something changed, never what: they
// read the truth. Between processes the news is carried by Signals.
package watch

import (
	"context"
	"sync"
	"time"
)

// Signals carries to other processes that something changed.
type Signals interface {
	// Announce tells them. It does not wait, and merges what comes in quick
	// succession.
	Announce(ctx context.Context)
	// Changes returns a channel that gets a token after a process announced
	// something, and the function that ends it.
	Changes(ctx context.Context) (changed <-chan struct{}, end func())
}

// Broadcaster tells everybody who watches that something changed.
type Broadcaster struct {
	// signals is nil where there is no other process.
	signals Signals
	// lookAgain is how long an announcement can be missed.
	lookAgain time.Duration
	// news gets a token when something changed here, first when somebody
	// begins to watch, last when nobody does any more.
	news, first, last chan struct{}

	mu sync.Mutex
	by map[chan struct{}]struct{}
}

// New returns a broadcaster. Announcements of other processes can be missed; so those
// who watch are told to look now and then, every lookAgain.
func New(signals Signals, lookAgain time.Duration) *Broadcaster {
	return &Broadcaster{
		signals: signals, lookAgain: lookAgain, by: map[chan struct{}]struct{}{},
		news: make(chan struct{}, 1), first: make(chan struct{}, 1), last: make(chan struct{}, 1),
	}
}

// Watch returns a channel that gets a token after something changed, here or,
// while Run does, in another process, and the function that ends it. Tokens
// that nobody took yet are not doubled.
func (b *Broadcaster) Watch() (changed <-chan struct{}, end func()) {
	ch := make(chan struct{}, 1)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.by[ch] = struct{}{}
	if len(b.by) == 1 {
		put(b.first)
	}
	return ch, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.by, ch)
		if len(b.by) == 0 {
			put(b.last)
		}
	}
}

// put leaves a token where there is none.
func put(ch chan struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}

// Notify says that something changed here.
func (b *Broadcaster) Notify() {
	b.broadcast()
	if b.signals != nil {
		put(b.news)
	}
}

func (b *Broadcaster) broadcast() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for ch := range b.by {
		put(ch)
	}
}

func (b *Broadcaster) watched() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.by) > 0
}

// Run passes news between processes until ctx ends. Without other processes it
// returns at once.
func (b *Broadcaster) Run(ctx context.Context) {
	if b.signals == nil {
		return
	}
	var listening sync.WaitGroup
	listening.Go(func() { b.listen(ctx) })
	defer listening.Wait()
	for {
		select {
		case <-b.news:
			b.signals.Announce(ctx)
		case <-ctx.Done():
			return
		}
	}
}

// listen passes on what other processes announce, while anybody watches.
func (b *Broadcaster) listen(ctx context.Context) {
	for {
		select {
		case <-b.first:
			if b.watched() {
				b.pass(ctx)
			}
		case <-ctx.Done():
			return
		}
	}
}

// pass tells those who watch until nobody does.
func (b *Broadcaster) pass(ctx context.Context) {
	changed, end := b.signals.Changes(ctx)
	defer end()
	missed := time.NewTicker(b.lookAgain)
	defer missed.Stop()
	for {
		select {
		case <-changed:
			b.broadcast()
		case <-missed.C:
			b.broadcast()
		case <-b.last:
			if !b.watched() {
				return
			}
		case <-ctx.Done():
			return
		}
	}
}
