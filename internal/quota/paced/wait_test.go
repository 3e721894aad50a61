package paced_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"sluice/internal/backend/memory"
	"sluice/internal/domain"
	"sluice/internal/quota/paced"
	"sluice/internal/quota/rate"
	"sluice/internal/quota/rate/ratetest"
)

// counted counts how often a keeper is asked.
type counted struct {
	rate.Keeper
	asks atomic.Int64
}

func (c *counted) Reserve(ctx context.Context, upstream string, p domain.Priority, n int) (rate.Grant, error) {
	c.asks.Add(1)
	return c.Keeper.Reserve(ctx, upstream, p, n)
}

func newCounted(t *testing.T, l rate.Limits) *counted {
	k, err := paced.New(map[string]rate.Limits{ratetest.Upstream: l}, memory.NewRations(memory.RationsOptions{Store: &ratetest.Store{}}), paced.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return &counted{Keeper: k}
}

// TestRateWaitersAreServedAtTheRate: a thousand wait at once. They get their calls
// as fast as these become free, and do not ask again and again.
func TestRateWaitersAreServedAtTheRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newCounted(t, ratetest.Maple())
		start := time.Now()
		var all sync.WaitGroup
		for range 1000 {
			all.Go(func() {
				if n, err := rate.Wait(t.Context(), k, ratetest.Upstream, domain.PriorityLow, 1); n != 1 || err != nil {
					t.Errorf("waited for %d, %v", n, err)
				}
			})
		}
		all.Wait()
		// A second until anything is granted, and 1000 at 350 a second.
		if took := time.Since(start); took < 3700*time.Millisecond || took > 5*time.Second {
			t.Errorf("1000 calls took %v", took)
		}
		if asks := k.asks.Load(); asks > 5000 {
			t.Errorf("1000 waiters asked %d times", asks)
		}
	})
}

func TestRateWaitEndsWithItsCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newCounted(t, ratetest.Maple())
		if err := k.Pause(t.Context(), ratetest.Upstream, time.Now().Add(time.Hour)); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if n, err := rate.Wait(ctx, k, ratetest.Upstream, domain.PriorityHigh, 1); n != 0 || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("waited for %d, %v", n, err)
		}
		// It looks again every half minute: a pause may have ended earlier.
		if asks := k.asks.Load(); asks > 4 {
			t.Errorf("asked %d times in a minute", asks)
		}
	})
}

// TestRateManyAtOnce: callers of both priorities, who ask for one call or more.
func TestRateManyAtOnce(t *testing.T) {
	l := rate.Limits{Hard: 1100, Rate: 1000, Burst: 100, LowRate: 500, LowBurst: 50, Reserve: 20, Daily: 1_000_000}
	synctest.Test(t, func(t *testing.T) {
		k := newCounted(t, l)
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		var all sync.WaitGroup
		var mu sync.Mutex
		var seconds ratetest.Seconds
		start := time.Now()
		for i := range 50 {
			p := []domain.Priority{domain.PriorityHigh, domain.PriorityLow}[i%2]
			all.Go(func() {
				for {
					n, err := rate.Wait(ctx, k, ratetest.Upstream, p, 1+i%4)
					if err != nil {
						return
					}
					mu.Lock()
					seconds.Add(time.Since(start), n)
					mu.Unlock()
				}
			})
		}
		all.Wait()
		if most := seconds.Fullest(); most > l.Hard || seconds.Total() < 3900 {
			t.Errorf("%d in a second, %d in four", most, seconds.Total())
		}
	})
}
