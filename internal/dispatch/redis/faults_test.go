package redis_test

import (
	"context"
	"strconv"
	"testing"
	"time"

	"sluice/internal/dispatch"
	"sluice/internal/dispatch/redis"
	"sluice/internal/domain"
	"sluice/internal/testkit"
)

// onLoss is what the tests push when the queue was lost.
var onLoss = dispatch.Entry{Job: -7, Lane: "rebuild", Priority: domain.PriorityHigh, Class: domain.ClassChild}

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
			d, w := open(t, url, "hand", redis.Options{}), watch(t, url, "hand")
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
			if r := <-done; r.err != nil || len(r.leases) != 1 || r.leases[0].Job != 4 || r.leases[0].Deliveries != 1 {
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
			d, w := open(t, url, prefix, redis.Options{Lease: 300 * time.Millisecond}), watch(t, url, prefix)
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
			w.until("the end of the lease", func() bool {
				s, err := d.Stats(t.Context())
				return err == nil && s.Ready == 1
			})
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
	d, w := open(t, url, prefix, redis.Options{Lease: time.Hour}), watch(t, url, prefix)
	w.must("ZADD", w.key("jobs:demand"), "9000000000000", "gone 2")
	w.must("HSET", w.key("jobs:meta"), "wanted", "2")
	low := entry("a", 2)
	low.Priority = domain.PriorityLow
	push(t, d, entry("a", 1), low, entry("a", 3))
	leases, err := d.Lease(t.Context(), 3)
	if err != nil || len(leases) != 3 {
		t.Fatalf("leased %+v, %v", leases, err)
	}
	if got := [3]int64{leases[0].Job, leases[1].Job, leases[2].Job}; got != [3]int64{1, 3, 2} {
		t.Errorf("leased %v", got)
	}
	finish(t, d, leases)
}

// TestForeignEntry: what a person put into a stream is thrown away.
func TestForeignEntry(t *testing.T) {
	t.Parallel()
	url := testkit.StartRedis(t).URL()
	d, w := open(t, url, "foreign", redis.Options{}), watch(t, url, "foreign")
	done := waitIn(t.Context(), d, 1)
	w.untilBlocked(1)
	w.must("XADD", w.key("jobs:high"), "*", "job", "99")
	push(t, d, entry("a", 1))
	if r := <-done; r.err != nil || len(r.leases) != 1 || r.leases[0].Job != 1 {
		t.Errorf("leased %+v, %v", r.leases, r.err)
	}
}

// TestFlushAll: whoever waits gets the entry that asks for a rebuild, and what
// was leased is lost.
func TestFlushAll(t *testing.T) {
	t.Parallel()
	url := testkit.StartRedis(t).URL()
	d, w := open(t, url, "flush", redis.Options{OnLoss: onLoss}), watch(t, url, "flush")
	finish(t, d, lease(t, d, onLoss.Job)) // a new Redis is an empty one
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
	d, w := open(t, url, "scripts", redis.Options{}), watch(t, url, "scripts")
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
		"park": d.Park(ctx, "a", time.Now().Add(time.Hour)), "resume": d.Resume(ctx, "a"), "remove": d.Remove(ctx, 1),
	}
}

// TestRedisIsAway: while Redis is stopped every call says so, also one that
// waits; then everything works, and the loss is noticed.
func TestRedisIsAway(t *testing.T) {
	t.Parallel()
	server := testkit.StartRedis(t)
	d, w := open(t, server.URL(), "away", redis.Options{OnLoss: onLoss}), watch(t, server.URL(), "away")
	schedule(t, d)
	finish(t, d, lease(t, d, onLoss.Job))
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
	finish(t, d, lease(t, d, onLoss.Job, 2))
}

// TestOldSnapshot: a server that comes back with what it had earlier asks for a
// rebuild.
func TestOldSnapshot(t *testing.T) {
	t.Parallel()
	server := testkit.StartRedis(t, "--appendonly", "yes", "--appendfsync", "always")
	d := open(t, server.URL(), "snapshot", redis.Options{OnLoss: onLoss})
	finish(t, d, lease(t, d, onLoss.Job))
	push(t, d, dispatch.Entry{Job: 1, Lane: "a", NotBefore: time.Now().Add(time.Hour)})
	stop := schedule(t, d)
	w := watch(t, server.URL(), "snapshot")
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
