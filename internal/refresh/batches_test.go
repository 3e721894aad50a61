package refresh_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"sluice/internal/refresh"
)

// largestSaves is a store that takes a while, and counts how many values were saved
// at once by the first letter of their keys.
type largestSaves struct {
	refresh.Snapshots
	mu      sync.Mutex
	largest map[byte]int
}

func (l *largestSaves) Save(ctx context.Context, refreshed []refresh.Refreshed) ([]refresh.Saved, error) {
	l.mu.Lock()
	l.largest[refreshed[0].Key[0]] = max(l.largest[refreshed[0].Key[0]], len(refreshed))
	l.mu.Unlock()
	time.Sleep(50 * time.Millisecond)
	return l.Snapshots.Save(ctx, refreshed)
}

// TestSavesAreBounded: values of a backlog are saved together, of HIGH 20 at most and
// of LOW 100.
func TestSavesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStand(t, always(`"v"`))
		store := &largestSaves{Snapshots: s.parts.Snapshots, largest: map[byte]int{}}
		parts := s.parts
		parts.Snapshots = store
		worker, err := refresh.NewPipeline(parts, s.settings)
		s.check(err)
		var highs, lows []string
		for i := range 500 {
			highs, lows = append(highs, fmt.Sprint("h", i)), append(lows, fmt.Sprint("l", i))
		}
		_, err = s.ask(high, highs...)
		s.check(err)
		_, err = s.ask(low, lows...)
		s.check(err)
		s.check(worker.Start(t.Context()))
		defer func() { s.check(worker.Stop(t.Context())) }()
		s.until("all are stored", func() bool { return worker.Worker().Counters().Stored.Load() == 1000 })
		store.mu.Lock()
		defer store.mu.Unlock()
		if n := store.largest['h']; n < 10 || n > 20 {
			t.Errorf("the largest group of HIGH was %d", n)
		}
		if n := store.largest['l']; n < 50 || n > 100 {
			t.Errorf("the largest group of LOW was %d", n)
		}
	})
}
