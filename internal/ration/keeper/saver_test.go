package keeper_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"sluice/internal/domain"
	"sluice/internal/ration/keeper"
)

// slowStore takes its time, and fails while it has an error.
type slowStore struct {
	keeper.Store
	takes time.Duration
	err   error
	asked int
}

func (s *slowStore) Save(ctx context.Context, _ []keeper.Stored) error {
	s.asked++
	timer := time.NewTimer(s.takes)
	defer timer.Stop()
	select {
	case <-timer.C:
		return s.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

func newSaver(s keeper.Store) *keeper.Saver {
	start := time.Now()
	return keeper.NewSaver("lab", s, func() time.Duration { return time.Since(start) })
}

func save(ctx context.Context, s *keeper.Saver) error {
	return s.Save(ctx, func() []keeper.Stored { return make([]keeper.Stored, 1) }, func(context.Context) error { return nil })
}

// TestWhoWaitsForASlowStoreGivesUp: one caller is at the store; another, who waits for
// its turn, is let go when its context ends. What the first has begun goes on even if its
// own context ends. Who finds when it is its turn that nothing is left to write does not
// ask.
func TestWhoWaitsForASlowStoreGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &slowStore{takes: 5 * time.Second}
		s, began := newSaver(store), time.Now()
		first := make(chan error, 1)
		brief, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		go func() { first <- save(brief, s) }()
		synctest.Wait()
		if err := save(brief, s); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != time.Second {
			t.Errorf("who waits: %v after %v", err, time.Since(began))
		}
		if err := <-first; err != nil || time.Since(began) != store.takes {
			t.Errorf("who was at the store: %v after %v", err, time.Since(began))
		}
		if err := save(t.Context(), s); err != nil || store.asked != 2 {
			t.Errorf("the next: %v; the store was asked %d times", err, store.asked)
		}
		if err := s.Save(t.Context(), func() []keeper.Stored { return nil }, nil); err != nil || store.asked != 2 {
			t.Errorf("who has nothing to write: %v; the store was asked %d times", err, store.asked)
		}
	})
}

// TestStoreThatFailsIsLeftAlone: those who waited for their turn are told of the
// failure, and do not all ask the store again.
func TestStoreThatFailsIsLeftAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &slowStore{takes: time.Minute}
		s, began := newSaver(store), time.Now()
		failed := make(chan error, 10)
		for range cap(failed) {
			go func() { failed <- save(t.Context(), s) }()
		}
		for range cap(failed) {
			if err := <-failed; domain.CodeOf(err) != domain.CodeUnavailable {
				t.Errorf("a store that hangs: %v", err)
			}
		}
		if took := time.Since(began); store.asked != 1 || took != 10*time.Second {
			t.Errorf("the store was asked %d times in %v", store.asked, took)
		}
		store.takes = 0
		time.Sleep(time.Second)
		if err := save(t.Context(), s); err != nil {
			t.Errorf("a store that works again: %v", err)
		}
	})
}

// TestWhatNobodyWaitsFor is written down once at a time, whoever's context ends.
func TestWhatNobodyWaitsFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &slowStore{takes: 5 * time.Second}
		s := newSaver(store)
		ctx, cancel := context.WithCancel(t.Context())
		for range 10 {
			s.Behind(ctx, func(ctx context.Context) error { return save(ctx, s) })
		}
		cancel()
		s.Wait()
		if store.asked != 1 {
			t.Errorf("the store was asked %d times", store.asked)
		}
	})
}
