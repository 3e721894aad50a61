package redis_test

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"testing"

	"sluice/internal/dispatch"
	"sluice/internal/dispatch/dispatchtest"
	"sluice/internal/dispatch/redis"
	"sluice/internal/domain"
	"sluice/internal/redisdb"
	"sluice/internal/testkit"
)

func TestMain(m *testing.M) {
	// The tests wait for real time and do little besides: many may wait at
	// once, however few processors there are.
	if err := flag.Set("test.parallel", "32"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(testkit.Main(m))
}

// settings is held while the suite sets rapid's flags, which all tests share.
var settings sync.Mutex

// TestConformance runs with a scheduler on every queue.
func TestConformance(t *testing.T) {
	t.Parallel()
	conform(t, testkit.Redis(t), func(t dispatchtest.T, d *redis.Dispatcher) { schedule(t, d) })
}

// TestConformanceOnACluster runs without a scheduler: calls alone must do.
func TestConformanceOnACluster(t *testing.T) {
	t.Parallel()
	conform(t, testkit.RedisCluster(t), func(dispatchtest.T, *redis.Dispatcher) {})
}

func conform(t *testing.T, url string, opened func(dispatchtest.T, *redis.Dispatcher)) {
	settings.Lock()
	// The first queue is that of the suite's model, made when the flags are set.
	set := sync.OnceFunc(settings.Unlock)
	defer set()
	dispatchtest.Run(t, dispatchtest.Factory{
		Features: dispatchtest.Features{Shared: true, LaneLimit: true},
		NewQueue: func(_ dispatchtest.T, c dispatchtest.Config) dispatchtest.Open {
			set()
			prefix := testkit.Prefix(t)
			var first sync.Once
			return func(t dispatchtest.T) dispatch.Dispatcher {
				d := open(t, url, prefix, redis.Options{Lease: c.Lease, LaneLimit: c.LaneLimit})
				first.Do(func() { opened(t, d) })
				return d
			}
		},
	})
}

// open returns a dispatcher with a connection of its own, like another
// process.
func open(t dispatchtest.T, url, prefix string, o redis.Options) *redis.Dispatcher {
	t.Helper()
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	db, err := redisdb.Open(t.Context(), redisdb.Options{URL: url, Prefix: prefix})
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	d, err := redis.New(t.Context(), db, o)
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
	return dispatch.Entry{Job: job, Lane: lane, Priority: domain.PriorityHigh, Class: domain.ClassChild}
}
