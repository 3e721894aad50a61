package refresh

import (
	"sync"
	"time"
)

// watched remembers when a few entities were asked for, to see how long that
// takes: also in a process that carries nothing out itself.
type watched struct {
	mu sync.Mutex
	at map[Entity]time.Time
}

const (
	// mostWatched bounds what is remembered, longWatched for how long.
	mostWatched = 256
	longWatched = time.Minute
)

func (w *watched) asked(e Entity, now time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.at == nil || len(w.at) >= mostWatched {
		w.at = map[Entity]time.Time{}
	}
	w.at[e] = now
}

// arrived returns how long it took until an entity was looked at that was asked
// for; false if it was not, or is still as it was.
func (w *watched) arrived(e Entity, checked time.Time) (time.Duration, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	at, ok := w.at[e]
	if !ok || !checked.After(at) {
		return 0, false
	}
	delete(w.at, e)
	took := checked.Sub(at)
	return took, took < longWatched
}
