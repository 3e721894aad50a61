package rate_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"sluice/internal/domain"
	"sluice/internal/quota/rate"
)

// slowStore takes its time, and fails while it has an error.
type slowStore struct {
	takes time.Duration
	err   error
	asked int
}

func (s *slowStore) Load(context.Context, string, string) (rate.Spent, error) {
	return rate.Spent{}, nil
}

func (s *slowStore) Save(ctx context.Context, _, _ string, _ rate.Spent) error {
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

func newLedger(s rate.Store) *rate.Ledger {
	start := time.Now()
	l := rate.Limits{Hard: 500, Rate: 450, Burst: 25, LowRate: 350, LowBurst: 25, Daily: 1_000_000}
	return rate.NewLedger("maple", l, s, func() time.Duration { return time.Since(start) })
}

func extend(ctx context.Context, l *rate.Ledger) error {
	_, err := l.Extend(ctx, rate.Limits{}.DayAt(time.Now()), rate.Spent{Calls: 1})
	return err
}

// TestWhoWaitsForASlowStoreGivesUp: one caller is at the store; another, who
// waits for its turn, is let go when its context ends. What the first has begun
// goes on even if its own context ends.
func TestWhoWaitsForASlowStoreGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &slowStore{takes: 5 * time.Second}
		l, began := newLedger(store), time.Now()
		first := make(chan error, 1)
		brief, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		go func() { first <- extend(brief, l) }()
		synctest.Wait()
		if err := extend(brief, l); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != time.Second {
			t.Errorf("who waits: %v after %v", err, time.Since(began))
		}
		if err := <-first; err != nil || time.Since(began) != store.takes {
			t.Errorf("who was at the store: %v after %v", err, time.Since(began))
		}
		if err := extend(t.Context(), l); err != nil || store.asked != 2 {
			t.Errorf("the next: %v; the store was asked %d times", err, store.asked)
		}
	})
}

// TestStoreThatFailsIsLeftAlone: those who waited for their turn are told of the
// failure, and do not all ask the store again.
func TestStoreThatFailsIsLeftAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &slowStore{takes: time.Minute}
		l, began := newLedger(store), time.Now()
		failed := make(chan error, 10)
		for range cap(failed) {
			go func() { failed <- extend(t.Context(), l) }()
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
		if err := extend(t.Context(), l); err != nil {
			t.Errorf("a store that works again: %v", err)
		}
	})
}
