package redis_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"sluice/internal/dispatch"
	"sluice/internal/dispatch/redis"
	"sluice/internal/domain"
	"sluice/internal/testkit"
)

// seed returns a random number, or that of SLUICE_TEST_SEED, and prints it.
func seed(t *testing.T) uint64 {
	s := rand.Uint64()
	if given := os.Getenv("SLUICE_TEST_SEED"); given != "" {
		n, err := strconv.ParseUint(given, 10, 64)
		if err != nil {
			t.Fatalf("SLUICE_TEST_SEED=%q is not a number: %v", given, err)
		}
		s = n
	}
	t.Logf("SLUICE_TEST_SEED=%d", s)
	return s
}

// TestCanceledWaitsLoseNothing: waits that end at any moment keep nothing, and
// what reached them does not count as delivered.
func TestCanceledWaitsLoseNothing(t *testing.T) {
	t.Parallel()
	for name, url := range map[string]string{"single": testkit.Redis(t), "cluster": testkit.RedisCluster(t)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			losesNothing(t, open(t, url, testkit.Prefix(t), redis.Options{Lease: time.Hour}))
		})
	}
}

func losesNothing(t *testing.T, d *redis.Dispatcher) {
	const jobs, waiters = 400, 8
	start := seed(t)
	var got atomic.Int64
	pushed, end := context.WithCancel(t.Context())
	var all sync.WaitGroup
	for w := range uint64(waiters) {
		random := rand.New(rand.NewPCG(start, w))
		all.Go(func() {
			for pushed.Err() == nil {
				ctx, cancel := context.WithTimeout(pushed, time.Duration(random.IntN(20_000))*time.Microsecond)
				leases, err := d.Lease(ctx, 1+random.IntN(4))
				cancel()
				if err != nil && !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, context.Canceled) {
					t.Errorf("lease: %v", err)
					return
				}
				got.Add(finish(t, d, leases))
			}
		})
	}
	for job := range int64(jobs) {
		e := entry("a", job)
		if job%3 == 0 {
			e.Priority = domain.PriorityLow
		}
		if err := d.Push(t.Context(), e); err != nil {
			t.Errorf("push: %v", err)
		}
	}
	end()
	all.Wait()
	for got.Load() < jobs {
		leases, err := d.Lease(t.Context(), 50)
		if err != nil || len(leases) == 0 {
			t.Fatalf("after %d of %d jobs: leased %v, %v", got.Load(), jobs, leases, err)
		}
		got.Add(finish(t, d, leases))
	}
	if s, err := d.Stats(t.Context()); err != nil || s.Ready+s.Due+s.Leased > 0 {
		t.Errorf("left behind: %+v, %v", s, err)
	}
}

// finish acknowledges leases and counts them. Each must be the first delivery.
func finish(t *testing.T, d *redis.Dispatcher, leases []dispatch.Lease) int64 {
	for _, l := range leases {
		if l.Deliveries != 1 {
			t.Errorf("job %d came as delivery %d", l.Job, l.Deliveries)
		}
	}
	if err := d.Ack(t.Context(), leases...); err != nil {
		t.Errorf("ack: %v", err)
	}
	return int64(len(leases))
}

// TestCancelWhileRedisHangs: the end of a wait does not depend on Redis.
func TestCancelWhileRedisHangs(t *testing.T) {
	t.Parallel()
	server := testkit.StartRedis(t)
	d := open(t, server.URL(), "hang", redis.Options{})
	w := watch(t, server.URL(), "hang")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := waitIn(ctx, d, 1)
	w.untilBlocked(1)
	server.Pause()
	defer server.Continue()
	began := time.Now()
	cancel()
	if r := <-done; !errors.Is(r.err, context.Canceled) {
		t.Errorf("a canceled wait ended with %v, %v", r.leases, r.err)
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("a canceled wait took %v to end", took)
	}
}

// TestCloseEndsWaits: waits end, and nothing of the process is left in Redis.
func TestCloseEndsWaits(t *testing.T) {
	t.Parallel()
	server := testkit.StartRedis(t)
	d := open(t, server.URL(), "close", redis.Options{Name: "worker"})
	w := watch(t, server.URL(), "close")
	done := waitIn(t.Context(), d, 3)
	w.untilBlocked(1)
	if n := w.number("ZCARD", w.key("jobs:demand")); n != 1 {
		t.Errorf("%d waits are noted, want 1", n)
	}
	d.Close()
	if r := <-done; domain.CodeOf(r.err) != domain.CodeUnavailable {
		t.Errorf("a wait ended with %v, %v", r.leases, r.err)
	}
	if n := w.number("ZCARD", w.key("jobs:demand")); n != 0 {
		t.Errorf("%d waits are noted after closing", n)
	}
	if names := w.consumers("high"); len(names) > 0 {
		t.Errorf("consumers %v are left", names)
	}
	if _, err := d.Lease(t.Context(), 1); domain.CodeOf(err) != domain.CodeUnavailable {
		t.Errorf("a closed dispatcher leases: %v", err)
	}
}

// TestCloseKeepsAConsumerThatHolds: its entries would be lost to the group.
func TestCloseKeepsAConsumerThatHolds(t *testing.T) {
	t.Parallel()
	url, prefix := testkit.Redis(t), testkit.Prefix(t)
	d, other := open(t, url, prefix, redis.Options{Name: "first"}), open(t, url, prefix, redis.Options{})
	push(t, d, entry("a", 1))
	held := lease(t, d, 1)
	d.Close()
	if names := watch(t, url, prefix).consumers("high"); len(names) == 0 {
		t.Error("the consumer was removed although it holds a lease")
	}
	if lost, err := other.Renew(t.Context(), held...); err != nil || len(lost) > 0 {
		t.Errorf("closing lost %v, %v", lost, err)
	}
}
