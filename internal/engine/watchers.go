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

	mu sync.Mutex
	by map[chan struct{}]struct{}
	// stop ends listening to other processes; nil while nobody watches.
	stop context.CancelFunc
}

// Watch returns a channel that gets a token after something changed, here or
// in another process, and the function that ends it. Tokens that nobody took
// yet are not doubled.
func (e *Engine) Watch() (changed <-chan struct{}, end func()) {
	ch := make(chan struct{}, 1)
	w := e.watchers
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.by == nil {
		w.by = map[chan struct{}]struct{}{}
	}
	w.by[ch] = struct{}{}
	if w.signals != nil && w.stop == nil {
		var ctx context.Context
		ctx, w.stop = context.WithCancel(context.Background())
		go w.listen(ctx)
	}
	return ch, func() { w.leave(ch) }
}

func (w *watchers) leave(ch chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.by, ch)
	if len(w.by) == 0 && w.stop != nil {
		w.stop()
		w.stop = nil
	}
}

// listen passes on what other processes announce. An announcement can be
// missed; so those who watch look at the truth now and then.
func (w *watchers) listen(ctx context.Context) {
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
		case <-ctx.Done():
			return
		}
	}
}

// notify says that something changed here.
func (w *watchers) notify() {
	w.tell()
	if w.signals != nil {
		w.signals.Announce(context.Background())
	}
}

func (w *watchers) tell() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for ch := range w.by {
		select {
		case ch <- struct{}{}:
		default:
		}
	}
}
