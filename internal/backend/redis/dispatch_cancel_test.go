package redis_test

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"sluice/internal/backend/redis"
	"sluice/internal/dispatch"
	"sluice/internal/domain"
	"sluice/internal/testkit"
)

// TestCanceledWaitsLoseNothing: waits that end at any moment keep nothing, and
// what reached them does not count as delivered.
func TestCanceledWaitsLoseNothing(t *testing.T) {
	t.Parallel()
	for name, url := range map[string]string{"single": testkit.Redis(t), "cluster": testkit.RedisCluster(t)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			losesNothing(t, openDispatcher(t, url, testkit.Prefix(t), redis.DispatcherOptions{Lease: time.Hour}))
		})
	}
}

func losesNothing(t *testing.T, d *redis.Dispatcher) {
	const jobs, waiters = 400, 8
	start := testkit.Seed(t)
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
			t.Errorf("%s came as delivery %d", l.ID, l.Deliveries)
		}
	}
	if err := d.Ack(t.Context(), leases...); err != nil {
		t.Errorf("ack: %v", err)
	}
	return int64(len(leases))
}

// tells tells a channel of every log line that says this, and shows all of them.
type tells struct {
	slog.Handler
	text string
	said chan<- struct{}
}

func (h tells) Enabled(context.Context, slog.Level) bool { return true }

func (h tells) Handle(ctx context.Context, r slog.Record) error {
	if r.Message == h.text {
		select {
		case h.said <- struct{}{}:
		default:
		}
	}
	return h.Handler.Handle(ctx, r)
}

// TestSlowEndOfAWaitLosesNothing: a wait ends, Redis hears of it late, and gives it
// an entry meanwhile. That goes back at once, and not when its lease ends.
func TestSlowEndOfAWaitLosesNothing(t *testing.T) {
	t.Parallel()
	url, prefix := testkit.StartRedis(t).URL(), "late"
	g, failed := newGate(t, strings.TrimPrefix(url, "redis://")), make(chan struct{}, 1)
	d := openDispatcher(t, g.url(), prefix, redis.DispatcherOptions{
		Lease: time.Hour, Log: slog.New(tells{slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelDebug}), "withdraw a wait", failed}),
	})
	other, w := openDispatcher(t, url, prefix, redis.DispatcherOptions{Lease: time.Hour}), newWatcher(t, url, prefix)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := waitIn(ctx, d, 1)
	w.untilBlocked(1)
	close(g.shut)
	cancel()
	push(t, other, entry("a", 1))
	w.until("a lease of the wait", func() bool {
		s, err := other.Stats(t.Context())
		return err == nil && s.Leased == 1
	})
	<-failed // the first try to tell Redis
	close(g.open)
	if r := <-done; !errors.Is(r.err, context.Canceled) {
		t.Errorf("the wait ended with %v, %v", r.leases, r.err)
	}
	finish(t, other, lease(t, other, 1))
}

// TestCancelWhileRedisHangs: the end of a wait does not depend on Redis.
func TestCancelWhileRedisHangs(t *testing.T) {
	t.Parallel()
	server := testkit.StartRedis(t)
	d := openDispatcher(t, server.URL(), "hang", redis.DispatcherOptions{})
	w := newWatcher(t, server.URL(), "hang")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := waitIn(ctx, d, 1)
	w.untilBlocked(1)
	server.Pause()
	defer server.Continue()
	cancel()
	if r := <-done; !errors.Is(r.err, context.Canceled) {
		t.Errorf("a canceled wait ended with %v, %v", r.leases, r.err)
	}
}

// TestCloseEndsWaits: waits end, and nothing of the process is left in Redis.
func TestCloseEndsWaits(t *testing.T) {
	t.Parallel()
	server := testkit.StartRedis(t)
	d := openDispatcher(t, server.URL(), "close", redis.DispatcherOptions{Name: "worker"})
	w := newWatcher(t, server.URL(), "close")
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
	d, other := openDispatcher(t, url, prefix, redis.DispatcherOptions{Name: "first"}), openDispatcher(t, url, prefix, redis.DispatcherOptions{})
	push(t, d, entry("a", 1))
	held := lease(t, d, 1)
	d.Close()
	if names := newWatcher(t, url, prefix).consumers("high"); len(names) == 0 {
		t.Error("the consumer was removed although it holds a lease")
	}
	if lost, err := other.Renew(t.Context(), held...); err != nil || len(lost) > 0 {
		t.Errorf("closing lost %v, %v", lost, err)
	}
}
