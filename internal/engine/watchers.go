package engine

import (
	"context"
	"sync"
	"time"

	"sluice/internal/dispatch"
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

// watchers are told that something changed, never what: they read the truth.
type watchers struct {
	// signals is nil where there is no other process.
	signals Signals
	// news gets a token when something changed here, first when somebody
	// begins to watch, last when nobody does any more.
	news, first, last chan struct{}

	mu sync.Mutex
	by map[chan struct{}]struct{}
}

func newWatchers(signals Signals) *watchers {
	return &watchers{
		signals: signals, by: map[chan struct{}]struct{}{},
		news: make(chan struct{}, 1), first: make(chan struct{}, 1), last: make(chan struct{}, 1),
	}
}

// Watch returns a channel that gets a token after something changed, here or,
// while the engine is started, in another process, and the function that ends
// it. Tokens that nobody took yet are not doubled.
func (e *Engine) Watch() (changed <-chan struct{}, end func()) {
	ch := make(chan struct{}, 1)
	w := e.watchers
	w.mu.Lock()
	defer w.mu.Unlock()
	w.by[ch] = struct{}{}
	if len(w.by) == 1 {
		put(w.first)
	}
	return ch, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.by, ch)
		if len(w.by) == 0 {
			put(w.last)
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

// notify says that something changed here.
func (w *watchers) notify() {
	w.tell()
	if w.signals != nil {
		put(w.news)
	}
}

func (w *watchers) tell() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for ch := range w.by {
		put(ch)
	}
}

func (w *watchers) watched() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.by) > 0
}

// announce tells other processes what is new here.
func (w *watchers) announce(ctx context.Context) {
	for {
		select {
		case <-w.news:
			w.signals.Announce(ctx)
		case <-ctx.Done():
			return
		}
	}
}

// listen passes on what other processes announce, while anybody watches.
func (w *watchers) listen(ctx context.Context) {
	for {
		select {
		case <-w.first:
			if w.watched() {
				w.pass(ctx)
			}
		case <-ctx.Done():
			return
		}
	}
}

// pass tells those who watch until nobody does. An announcement can be missed;
// so they look at the truth now and then.
func (w *watchers) pass(ctx context.Context) {
	changed, end := w.signals.Changes(ctx)
	defer end()
	missed := time.NewTicker(dispatch.MaxWait)
	defer missed.Stop()
	for {
		select {
		case <-changed:
			w.tell()
		case <-missed.C:
			w.tell()
		case <-w.last:
			if !w.watched() {
				return
			}
		case <-ctx.Done():
			return
		}
	}
}
