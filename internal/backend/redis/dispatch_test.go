package redis_test

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	"sluice/internal/backend/redis"
	"sluice/internal/dispatch"
	"sluice/internal/dispatch/dispatchtest"
	"sluice/internal/domain"
	"sluice/internal/due"
	"sluice/internal/due/duetest"
	"sluice/internal/testkit"
)

// rapidSettings is held while the suite sets rapid's flags, which all tests share.
var rapidSettings sync.Mutex

// TestDispatchConformance runs with a scheduler on every queue. Calls that wait leave an
// instant to it for 300 ms before they look for themselves.
func TestDispatchConformance(t *testing.T) {
	t.Parallel()
	scheduled := dispatchtest.Features{Shared: true, LaneLimit: true, Scheduled: true, Sleepers: 1, Late: 300 * time.Millisecond}
	conformDispatcher(t, testkit.Redis(t), scheduled, func(t dispatchtest.T, d *redis.Dispatcher) { schedule(t, d) })
}

// TestDispatchConformanceOnACluster runs without a scheduler: calls alone must do.
func TestDispatchConformanceOnACluster(t *testing.T) {
	t.Parallel()
	alone := dispatchtest.Features{Shared: true, LaneLimit: true}
	conformDispatcher(t, testkit.RedisCluster(t), alone, func(dispatchtest.T, *redis.Dispatcher) {})
}

func conformDispatcher(t *testing.T, url string, f dispatchtest.Features, opened func(dispatchtest.T, *redis.Dispatcher)) {
	rapidSettings.Lock()
	// The first queue is that of the suite's model, made when the flags are set.
	set := sync.OnceFunc(rapidSettings.Unlock)
	defer set()
	dispatchtest.Run(t, dispatchtest.Factory{
		Features: f,
		NewQueue: func(_ dispatchtest.T, c dispatchtest.Config) dispatchtest.Open {
			set()
			prefix := testkit.Prefix(t)
			var first sync.Once
			return func(t dispatchtest.T) dispatch.Dispatcher {
				d := openDispatcher(t, url, prefix, redis.DispatcherOptions{Lease: c.Lease, LaneLimit: c.LaneLimit, Clock: c.Clock})
				first.Do(func() { opened(t, d) })
				return d
			}
		},
	})
}

// TestDispatchDueConformance: entries that are due later keep the promises of
// every due set, by the server's clock.
func TestDispatchDueConformance(t *testing.T) {
	t.Parallel()
	url := testkit.Redis(t)
	duetest.Run(t, duetest.Factory{
		Features: duetest.Features{Shared: true, Unordered: true, Leased: true},
		New: func(t *testing.T, c duetest.Config) duetest.Open {
			prefix := testkit.Prefix(t)
			return func(t *testing.T) due.Set {
				d := openDispatcher(t, url, prefix, redis.DispatcherOptions{Lease: c.Grace})
				schedule(t, d)
				return duetest.Dispatched{Dispatcher: d}
			}
		},
	})
}

// newClock returns a clock for a queue, in whole milliseconds as Redis keeps
// instants.
func newClock() *testkit.HandClock {
	return testkit.NewHandClock(time.Now().Truncate(time.Millisecond))
}

// TestDispatchByTheServersClock: without a clock of a test Redis decides, and nothing
// comes before its time.
func TestDispatchByTheServersClock(t *testing.T) {
	t.Parallel()
	const life = 200 * time.Millisecond
	d := openDispatcher(t, testkit.Redis(t), testkit.Prefix(t), redis.DispatcherOptions{Lease: life})
	when := time.Now().Add(life)
	push(t, d, dueAt(1, when))
	lease(t, d, 1)
	if early := time.Until(when); early > 0 {
		t.Errorf("a due entry came %v early", early)
	}
	leases, err := d.Lease(t.Context(), 1)
	if err != nil || len(leases) != 1 || leases[0].ID != "job:1" || leases[0].Deliveries != 2 {
		t.Fatalf("leased %+v, %v, want the second delivery of job 1", leases, err)
	}
	if early := time.Until(when.Add(life)); early > 0 {
		t.Errorf("a lease ended %v early", early)
	}
}

// openDispatcher returns a dispatcher with a connection of its own, like another
// process.
func openDispatcher(t dispatchtest.T, url, prefix string, o redis.DispatcherOptions) *redis.Dispatcher {
	t.Helper()
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	db, err := redis.Open(t.Context(), redis.Options{URL: url, Prefix: prefix})
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	d, err := redis.NewDispatcher(t.Context(), db, o)
	if err != nil {
		t.Fatalf("new: %v", err)
	}
	t.Cleanup(func() {
		d.Close()
		db.Close()
	})
	return d
}

// schedule runs a scheduler until the test or the function it returns ends it.
func schedule(t dispatchtest.T, d *redis.Dispatcher) (stop func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan error, 1)
	go func() { done <- d.Schedule(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("the scheduler ended with %v", err)
		}
	})
	t.Cleanup(stop)
	return stop
}

func entry(lane string, job int64) dispatch.Entry {
	return dispatch.Entry{ID: dispatch.JobID(job), Lane: lane, Priority: domain.PriorityHigh, Class: domain.ClassChild}
}
