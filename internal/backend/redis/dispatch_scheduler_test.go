package redis_test

import (
	"context"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"sluice/internal/backend/redis"
	"sluice/internal/dispatch"
	"sluice/internal/testkit"
)

func (w *watcher) leader() string { return w.text("GET", w.key("jobs:leader")) }
func (w *watcher) term() int64    { return w.number("HGET", w.key("jobs:meta"), "term") }

// leaderAfter waits until somebody else leads.
func (w *watcher) leaderAfter(first string) (second string) {
	w.Helper()
	w.until("another leader", func() bool {
		second = w.leader()
		return second != "" && second != first
	})
	return second
}

// TestOneLeads: of several schedulers one holds the lead; when it stops another
// takes over at once.
func TestOneLeads(t *testing.T) {
	t.Parallel()
	for name, url := range map[string]string{"single": testkit.Redis(t), "cluster": testkit.RedisCluster(t)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			prefix, clock := testkit.Prefix(t), newClock()
			w := newWatcher(t, url, prefix)
			stopFirst := schedule(t, openDispatcher(t, url, prefix, redis.DispatcherOptions{Clock: clock}))
			w.until("the first leader", func() bool { return w.leader() != "" })
			first := w.leader()
			for range 3 {
				schedule(t, openDispatcher(t, url, prefix, redis.DispatcherOptions{Clock: clock}))
			}
			w.until("all to listen", func() bool { return w.listeners() == 4 })
			if w.leader() != first || w.term() != 1 {
				t.Errorf("leader %q of term %d, want %q of term 1", w.leader(), w.term(), first)
			}
			// The clock stands still: nobody takes over because time has passed.
			stopFirst()
			w.leaderAfter(first)
			if w.term() != 2 {
				t.Errorf("this is term %d", w.term())
			}
		})
	}
}

// listeners returns how many schedulers have subscribed, on any node.
func (w *watcher) listeners() (n int64) {
	for _, node := range w.db.Client.Nodes() {
		reply, err := node.Do(w.Context(), node.B().PubsubNumsub().Channel(w.key("wake")).Build()).ToArray()
		if err != nil || len(reply) < 2 {
			// In RESP3 it is a map.
			all, err := node.Do(w.Context(), node.B().PubsubNumsub().Channel(w.key("wake")).Build()).AsIntMap()
			if err != nil {
				w.Fatalf("listeners: %v", err)
			}
			n += all[w.key("wake")]
			continue
		}
		count, err := reply[1].AsInt64()
		if err != nil {
			w.Fatalf("listeners: %v", err)
		}
		n += count
	}
	return n
}

// TestSilentLeaderIsReplaced: a leader whose connection hangs loses the lead,
// and when it comes back it neither takes nor ends that of the other.
func TestSilentLeaderIsReplaced(t *testing.T) {
	t.Parallel()
	url, prefix := testkit.Redis(t), testkit.Prefix(t)
	w, g := newWatcher(t, url, prefix), newGate(t, strings.TrimPrefix(url, "redis://"))
	here, there := newClock(), newClock()
	waits := func(c *testkit.HandClock) func() bool {
		return func() bool { _, waits := c.Next(); return waits }
	}
	stopFirst := schedule(t, openDispatcher(t, g.url(), prefix, redis.DispatcherOptions{Clock: here}))
	w.until("the first leader", func() bool { return w.leader() != "" })
	here.Until(waits(here))
	first := w.leader()
	schedule(t, openDispatcher(t, url, prefix, redis.DispatcherOptions{Clock: there}))
	there.Until(waits(there))
	release := sync.OnceFunc(func() { close(g.open) })
	defer release()
	close(g.shut)
	// By itself the lead ends within the time in which a leader is replaced.
	if left := w.number("PTTL", w.key("jobs:leader")); left <= 0 || left > 30_000 {
		t.Errorf("the lead lasts for %d ms more", left)
	}
	here.AdvanceToNext() // what it asks now arrives when the other leads
	// The lead has run out, and the other looks when it knew that it would. It
	// may be looking just now, because its subscription has begun, and then
	// looks again.
	w.must("DEL", w.key("jobs:leader"))
	second := ""
	w.until("another leader", func() bool {
		there.AdvanceToNext()
		second = w.leader()
		return second != "" && second != first
	})
	release()
	stopFirst()
	if w.leader() != second || w.term() != 2 {
		t.Errorf("leader %q of term %d, want %q of term 2", w.leader(), w.term(), second)
	}
}

// TestSchedulerIsOnTime: an instant that comes to be while all wait is served
// when it comes: by the scheduler, because those who wait do not know of it.
func TestSchedulerIsOnTime(t *testing.T) {
	t.Parallel()
	url := testkit.StartRedis(t).URL()
	clock := newClock()
	d, w := openDispatcher(t, url, "time", redis.DispatcherOptions{Clock: clock}), newWatcher(t, url, "time")
	schedule(t, d)
	w.until("a listener", func() bool { return w.listeners() == 1 })
	onTime := func(job int64) {
		done := waitIn(t.Context(), d, 1)
		w.untilBlocked(1)
		// The later one must not hide the earlier one.
		when := clock.Now().Add(time.Second)
		push(t, d, dueAt(job+1, clock.Now().Add(time.Hour)), dueAt(job, when))
		clock.Until(func() bool { next, waits := clock.Next(); return waits && next.Equal(when) })
		// At this instant the scheduler alone looks.
		clock.AdvanceTo(when)
		r := <-done
		if r.err != nil || len(r.leases) != 1 || r.leases[0].ID != dispatch.JobID(job) {
			t.Fatalf("leased %+v, %v", r.leases, r.err)
		}
		finish(t, d, r.leases)
	}
	onTime(10)
	// It subscribes again after it was cut off.
	w.must("CLIENT", "KILL", "TYPE", "pubsub")
	w.until("a listener again", func() bool { return w.listeners() == 1 })
	onTime(20)
}

func dueAt(job int64, at time.Time) dispatch.Entry {
	e := entry("a", job)
	e.NotBefore = at
	return e
}

// TestGoneConsumersAreRemoved: those that are silent and hold nothing, and no
// others.
func TestGoneConsumersAreRemoved(t *testing.T) {
	t.Parallel()
	url, prefix := testkit.Redis(t), testkit.Prefix(t)
	d, w := openDispatcher(t, url, prefix, redis.DispatcherOptions{ConsumerIdle: 50 * time.Millisecond, MaxWait: 100 * time.Millisecond}), newWatcher(t, url, prefix)
	for _, name := range []string{"holds", "gone"} {
		w.must("XGROUP", "CREATECONSUMER", w.key("jobs:high"), "workers", name)
	}
	push(t, d, entry("a", 1))
	lease(t, d, 1)
	w.must("XADD", w.key("jobs:high"), "*", "job", "99")
	w.must("XREADGROUP", "GROUP", "workers", "holds", "STREAMS", w.key("jobs:high"), ">")
	schedule(t, d)
	w.until("the removal", func() bool { return len(w.consumers("high")) == 2 })
	for _, name := range w.consumers("high") {
		if name == "gone" {
			t.Error("the consumer that is gone is left")
		}
	}
}

// TestIdleCostsNextToNothing: a process that waits sends two commands for each
// wait, and a scheduler little more than one.
func TestIdleCostsNextToNothing(t *testing.T) {
	t.Parallel()
	url := testkit.StartRedis(t).URL()
	const wait, waits = time.Second, 3
	d, w := openDispatcher(t, url, "idle", redis.DispatcherOptions{MaxWait: wait}), newWatcher(t, url, "idle")
	other := openDispatcher(t, url, "idle", redis.DispatcherOptions{MaxWait: wait})
	schedule(t, d)
	schedule(t, other)
	w.until("both to listen", func() bool { return w.listeners() == 2 })
	idle := func() {
		leases, err := d.Lease(t.Context(), 10)
		if err != nil || len(leases) > 0 {
			t.Fatalf("leased %+v, %v", leases, err)
		}
	}
	idle() // connects
	w.must("CONFIG", "RESETSTAT")
	began := time.Now()
	for range waits {
		idle()
	}
	calls := w.calls()
	scripts, reads := calls["evalsha"], calls["xreadgroup"]
	// The schedulers' questions do not begin and end with the waits: they come
	// after five sixths of one each, and one more when the other leads. On a busy
	// machine the waits take longer.
	turns := int(time.Since(began)/(wait*5/6)) + 2
	if reads != waits || scripts < waits || scripts > waits+2*turns {
		t.Errorf("%d idle waits beside two schedulers took %d reads and %d scripts", waits, reads, scripts)
	}
	for _, command := range []string{"eval", "ping", "publish", "subscribe", "client|id", "client|unblock", "xadd"} {
		if n := calls[command]; n > 0 {
			t.Errorf("%d times %s", n, command)
		}
	}
}

// gate is a way to Redis that can be shut: nothing passes, and nothing is
// refused either.
type gate struct {
	net.Listener
	shut, open chan struct{}
}

func newGate(t *testing.T, server string) *gate {
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	g := &gate{Listener: listener, shut: make(chan struct{}), open: make(chan struct{})}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	var all sync.WaitGroup
	t.Cleanup(func() {
		cancel()
		listener.Close()
		all.Wait()
	})
	all.Go(func() {
		for {
			near, err := listener.Accept()
			if err != nil {
				return
			}
			far, err := new(net.Dialer).DialContext(ctx, "tcp", server)
			if err != nil {
				near.Close()
				continue
			}
			context.AfterFunc(ctx, func() {
				near.Close()
				far.Close()
			})
			all.Go(func() { g.pass(near, far) })
			all.Go(func() { g.pass(far, near) })
		}
	})
	return g
}

func (g *gate) pass(to, from net.Conn) {
	defer to.Close()
	part := make([]byte, 4096)
	for {
		n, err := from.Read(part)
		if err != nil {
			return
		}
		select {
		case <-g.shut:
			<-g.open
		default:
		}
		if _, err := to.Write(part[:n]); err != nil {
			from.Close()
			return
		}
	}
}

func (g *gate) url() string { return "redis://" + g.Addr().String() }
