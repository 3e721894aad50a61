package timer_test

import (
	"context"
	"strings"
	"sync"
	"time"

	"sluice/internal/backend/memory"
	"sluice/internal/due"
)

const intentPrefix = "~guard:"

// watchedTrigger knows what intents there are, and can lose everything.
type watchedTrigger struct {
	mu             sync.Mutex
	inner          due.Set
	intents        map[string]bool
	made, greatest int
}

func (w *watchedTrigger) current() due.Set {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.inner
}

// count tells how many intents there are, were made, and were at most.
func (w *watchedTrigger) count() (left, made, greatest int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.intents), w.made, w.greatest
}

// empty loses everything, as a Redis does that keeps nothing on disk.
func (w *watchedTrigger) empty(ctx context.Context) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.inner = memory.NewDueSet(memory.DueSetOptions{})
	return w.inner.Put(ctx, due.Entry{ID: due.RebuildID, At: time.Now()})
}

func (w *watchedTrigger) Put(ctx context.Context, entries ...due.Entry) error {
	w.mu.Lock()
	for _, e := range entries {
		if strings.HasPrefix(e.ID, intentPrefix) {
			w.intents[e.ID] = true
			w.made++
			w.greatest = max(w.greatest, len(w.intents))
		}
	}
	w.mu.Unlock()
	return w.current().Put(ctx, entries...)
}

func (w *watchedTrigger) Remove(ctx context.Context, ids ...string) error {
	w.mu.Lock()
	for _, id := range ids {
		delete(w.intents, id)
	}
	w.mu.Unlock()
	return w.current().Remove(ctx, ids...)
}

func (w *watchedTrigger) Take(ctx context.Context, n int) (due.Batch, error) {
	return w.current().Take(ctx, n)
}

func (w *watchedTrigger) Done(ctx context.Context, taken ...due.Taken) error {
	return w.current().Done(ctx, taken...)
}

func (w *watchedTrigger) Again(ctx context.Context, again ...due.Again) error {
	return w.current().Again(ctx, again...)
}
