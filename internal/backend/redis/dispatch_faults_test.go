package redis_test

import (
	"context"
	"strconv"
	"testing"
	"time"

	"sluice/internal/backend/redis"
	"sluice/internal/dispatch"
	"sluice/internal/domain"
	"sluice/internal/testkit"
)

// onLoss is what the tests push when the queue was lost.
var onLoss = dispatch.Entry{ID: "rebuild", Lane: "rebuild", Priority: domain.PriorityHigh, Class: domain.ClassChild}

// TestGroupDeletedByHand: those who hold something keep it, and those who wait
// go on waiting.
func TestGroupDeletedByHand(t *testing.T) {
	t.Parallel()
	for name, destroy := range map[string]func(w *watcher, stream string){
		"group":  func(w *watcher, stream string) { w.must("XGROUP", "DESTROY", stream, "workers") },
		"stream": func(w *watcher, stream string) { w.must("DEL", stream) },
		"trim":   func(w *watcher, stream string) { w.must("XTRIM", stream, "MAXLEN", "0") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := testkit.StartRedis(t).URL()
			d, w := openDispatcher(t, url, "hand", redis.DispatcherOptions{}), newWatcher(t, url, "hand")
			low := entry("a", 3)
			low.Priority = domain.PriorityLow
			push(t, d, entry("a", 1), entry("a", 2), low)
			held := lease(t, d, 1)
			destroy(w, w.key("jobs:high"))
			destroy(w, w.key("jobs:low"))
			held = append(held, lease(t, d, 2, 3)...)
			if lost, err := d.Renew(t.Context(), held...); err != nil || len(lost) > 0 {
				t.Errorf("lost %v, %v", lost, err)
			}
			done := waitIn(t.Context(), d, 1)
			w.untilBlocked(1)
			destroy(w, w.key("jobs:high"))
			destroy(w, w.key("jobs:low"))
			w.until("blocking again", func() bool { return w.info("clients", "blocked_clients") > 0 })
			if err := d.Ack(t.Context(), held...); err != nil {
				t.Errorf("ack: %v", err)
			}
			push(t, d, entry("a", 4))
			if r := <-done; r.err != nil || len(r.leases) != 1 || r.leases[0].ID != "job:4" || r.leases[0].Deliveries != 1 {
				t.Errorf("the call that waited got %+v, %v", r.leases, r.err)
			}
			if s, err := d.Stats(t.Context()); err != nil || s.Leased != 1 || s.Ready != 0 {
				t.Errorf("statistics are %+v, %v", s, err)
			}
		})
	}
}

// TestUndeliveredIsNotADelivery: what was put into a stream for somebody who
// never read it comes back uncounted, also if the stream was trimmed.
func TestUndeliveredIsNotADelivery(t *testing.T) {
	t.Parallel()
	for _, trim := range []bool{false, true} {
		t.Run(strconv.FormatBool(trim), func(t *testing.T) {
			t.Parallel()
			url, prefix := testkit.Redis(t), testkit.Prefix(t)
			clock := newClock()
			d, w := openDispatcher(t, url, prefix, redis.DispatcherOptions{Clock: clock}), newWatcher(t, url, prefix)
			// Somebody waited, and is gone.
			w.must("ZADD", w.key("jobs:demand"), "9000000000000", "gone 1")
			w.must("HSET", w.key("jobs:meta"), "wanted", "1")
			push(t, d, entry("a", 1))
			if n := w.number("XLEN", w.key("jobs:high")); n != 1 {
				t.Fatalf("%d entries were put into the stream", n)
			}
			if trim {
				w.must("XTRIM", w.key("jobs:high"), "MAXLEN", "0")
			}
			w.must("ZREM", w.key("jobs:demand"), "gone 1")
			w.must("HSET", w.key("jobs:meta"), "wanted", "0")
			clock.Advance(dispatch.DefaultLease)
			if l := lease(t, d, 1)[0]; l.Deliveries != 1 {
				t.Errorf("came as delivery %d", l.Deliveries)
			}
			if n := w.number("HGET", w.key("jobs:meta"), "pumped"); n != 0 {
				t.Errorf("%d entries count as unreported", n)
			}
		})
	}
}

// TestUnreadIsServedFirst: what lies in a stream for somebody who is gone goes
// to whoever asks next.
func TestUnreadIsServedFirst(t *testing.T) {
	t.Parallel()
	url, prefix := testkit.Redis(t), testkit.Prefix(t)
	d, w := openDispatcher(t, url, prefix, redis.DispatcherOptions{Lease: time.Hour}), newWatcher(t, url, prefix)
	w.must("ZADD", w.key("jobs:demand"), "9000000000000", "gone 2")
	w.must("HSET", w.key("jobs:meta"), "wanted", "2")
	low := entry("a", 2)
	low.Priority = domain.PriorityLow
	push(t, d, entry("a", 1), low, entry("a", 3))
	leases, err := d.Lease(t.Context(), 3)
	if err != nil || len(leases) != 3 {
		t.Fatalf("leased %+v, %v", leases, err)
	}
	if got := [3]string{leases[0].ID, leases[1].ID, leases[2].ID}; got != [3]string{"job:1", "job:3", "job:2"} {
		t.Errorf("leased %v", got)
	}
	finish(t, d, leases)
}

// TestForeignEntry: what a person put into a stream is thrown away.
func TestForeignEntry(t *testing.T) {
	t.Parallel()
	url := testkit.StartRedis(t).URL()
	d, w := openDispatcher(t, url, "foreign", redis.DispatcherOptions{}), newWatcher(t, url, "foreign")
	done := waitIn(t.Context(), d, 1)
	w.untilBlocked(1)
	w.must("XADD", w.key("jobs:high"), "*", "job", "99")
	push(t, d, entry("a", 1))
	if r := <-done; r.err != nil || len(r.leases) != 1 || r.leases[0].ID != "job:1" {
		t.Errorf("leased %+v, %v", r.leases, r.err)
	}
}

// TestFlushAll: whoever waits gets the entry that asks for a rebuild, and what
// was leased is lost.
func TestFlushAll(t *testing.T) {
	t.Parallel()
	url := testkit.StartRedis(t).URL()
	d, w := openDispatcher(t, url, "flush", redis.DispatcherOptions{OnLoss: onLoss}), newWatcher(t, url, "flush")
	finish(t, d, leaseIDs(t, d, onLoss.ID)) // a new Redis is an empty one
	push(t, d, entry("a", 1))
	held := lease(t, d, 1)
	done := waitIn(t.Context(), d, 1)
	w.untilBlocked(1)
	w.must("FLUSHALL")
	r := <-done
	if r.err != nil || len(r.leases) != 1 || r.leases[0].Entry != onLoss {
		t.Fatalf("the call that waited got %+v, %v", r.leases, r.err)
	}
	finish(t, d, r.leases)
	if lost, err := d.Renew(t.Context(), held...); err != nil || len(lost) != 1 {
		t.Errorf("lost %v, %v", lost, err)
	}
	push(t, d, entry("a", 1))
	again := lease(t, d, 1)
	if again[0].Token <= held[0].Token {
		t.Errorf("token %d came after %d", again[0].Token, held[0].Token)
	}
	if err := d.Ack(t.Context(), held...); err != nil {
		t.Errorf("ack: %v", err)
	}
	if lost, err := d.Renew(t.Context(), again...); err != nil || len(lost) > 0 {
		t.Errorf("an old lease ended a new one: %v, %v", lost, err)
	}
}

func TestScriptFlush(t *testing.T) {
	t.Parallel()
	url := testkit.StartRedis(t).URL()
	d, w := openDispatcher(t, url, "scripts", redis.DispatcherOptions{}), newWatcher(t, url, "scripts")
	for job := range int64(3) {
		w.must("SCRIPT", "FLUSH")
		push(t, d, entry("a", job))
		w.must("SCRIPT", "FLUSH")
		held := lease(t, d, job)
		w.must("SCRIPT", "FLUSH")
		finish(t, d, held)
	}
}

// everyCall calls every method and returns the errors.
func everyCall(ctx context.Context, d *redis.Dispatcher) map[string]error {
	l := dispatch.Lease{Entry: entry("a", 1), Token: 1}
	_, leased := d.Lease(ctx, 1)
	_, renewed := d.Renew(ctx, l)
	_, counted := d.Stats(ctx)
	return map[string]error{
		"lease": leased, "renew": renewed, "stats": counted,
		"push": d.Push(ctx, entry("a", 1)), "ack": d.Ack(ctx, l), "release": d.Release(ctx, l, time.Time{}),
		"park": d.Park(ctx, "a", time.Now().Add(time.Hour)), "resume": d.Resume(ctx, "a"), "remove": d.Remove(ctx, "job:1"),
	}
}

// TestRedisIsAway: while Redis is stopped every call says so, also one that
// waits; then everything works, and the loss is noticed.
func TestRedisIsAway(t *testing.T) {
	t.Parallel()
	server := testkit.StartRedis(t)
	d, w := openDispatcher(t, server.URL(), "away", redis.DispatcherOptions{OnLoss: onLoss}), newWatcher(t, server.URL(), "away")
	schedule(t, d)
	finish(t, d, leaseIDs(t, d, onLoss.ID))
	push(t, d, entry("a", 1))
	lease(t, d, 1)
	done := waitIn(t.Context(), d, 1)
	w.untilBlocked(1)
	server.Kill()
	if r := <-done; domain.CodeOf(r.err) != domain.CodeUnavailable {
		t.Errorf("a wait ended with %+v, %v", r.leases, r.err)
	}
	for name, err := range everyCall(t.Context(), d) {
		if domain.CodeOf(err) != domain.CodeUnavailable {
			t.Errorf("%s: %v", name, err)
		}
	}
	server.Start()
	w.untilConnected(d)
	push(t, d, entry("a", 2))
	finish(t, d, leaseIDs(t, d, onLoss.ID, dispatch.JobID(2)))
}

// TestOldSnapshot: a server that comes back with what it had earlier asks for a
// rebuild.
func TestOldSnapshot(t *testing.T) {
	t.Parallel()
	server := testkit.StartRedis(t, "--appendonly", "yes", "--appendfsync", "always")
	d := openDispatcher(t, server.URL(), "snapshot", redis.DispatcherOptions{OnLoss: onLoss})
	finish(t, d, leaseIDs(t, d, onLoss.ID))
	push(t, d, dispatch.Entry{ID: dispatch.JobID(1), Lane: "a", NotBefore: time.Now().Add(time.Hour)})
	stop := schedule(t, d)
	w := newWatcher(t, server.URL(), "snapshot")
	w.until("a leader", func() bool { return w.text("HGET", w.key("jobs:meta"), "run_id") != "" })
	stop()
	server.Restart()
	schedule(t, d)
	w.untilConnected(d)
	if leases, err := d.Lease(t.Context(), 1); err != nil || len(leases) != 1 || leases[0].Entry != onLoss {
		t.Errorf("leased %+v, %v", leases, err)
	}
	if s, err := d.Stats(t.Context()); err != nil || s.Due != 1 {
		t.Errorf("statistics are %+v, %v", s, err)
	}
}

// TestDispatchClockOfTheServerIsSetBack: what somebody held who is gone is had again
// after a lease, and not when the clock is where it was.
func TestDispatchClockOfTheServerIsSetBack(t *testing.T) {
	t.Parallel()
	server, clock := testkit.StartRedisWithClock(t)
	clock.Set(2 * time.Hour)
	prefix := testkit.Prefix(t)
	gone := openDispatcher(t, server.URL(), prefix, redis.DispatcherOptions{Lease: 300 * time.Millisecond})
	push(t, gone, entry("a", 1))
	if l := lease(t, gone, 1); len(l) != 1 {
		t.Fatalf("leased %+v", l)
	}
	clock.Set(0)
	d := openDispatcher(t, server.URL(), prefix, redis.DispatcherOptions{Lease: 300 * time.Millisecond})
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	for {
		leases, err := d.Lease(ctx, 1)
		if err != nil {
			t.Fatalf("the job is not had again: %v", err)
		}
		if len(leases) == 1 {
			if leases[0].ID != "job:1" || leases[0].Deliveries != 2 {
				t.Errorf("leased %+v", leases[0])
			}
			return
		}
	}
}

// TestParksEndWhenTheClockIsSetBack: a lane that was closed by the clock before
// is open at once, and not when the clock is where it was. Whoever keeps the
// quota says whether it is still to be closed.
func TestParksEndWhenTheClockIsSetBack(t *testing.T) {
	t.Parallel()
	for name, from := range map[string]time.Duration{"ahead from the start": 2 * time.Hour, "ahead for a moment": 0} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server, clock := testkit.StartRedisWithClock(t)
			clock.Set(from)
			d := openDispatcher(t, server.URL(), testkit.Prefix(t), redis.DispatcherOptions{Lease: 300 * time.Millisecond})
			schedule(t, d)
			push(t, d, entry("a", 1))
			clock.Set(2 * time.Hour)
			if err := d.Park(t.Context(), "a", time.Now().Add(time.Hour)); err != nil {
				t.Fatal(err)
			}
			clock.Set(0)
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			for {
				leases, err := d.Lease(ctx, 1)
				if err != nil {
					t.Fatalf("the lane stays closed: %v", err)
				}
				if len(leases) == 1 {
					return
				}
			}
		})
	}
}
