package quotatest

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"sluice/internal/quota"
)

// busy plays workers with an endless backlog: each takes a call whenever one
// is granted, and all wait for RetryAt when refused.
type busy struct {
	*rapid.T
	Bench
	up      *Upstream
	workers int
	latency time.Duration
	calls   []*busyCall
	// wait is the earliest instant a refused worker may ask again.
	wait time.Time
	// wasted is what calls lost and crashes may have cost, by window.
	wasted map[int]int
}

type busyCall struct {
	flight
	at, done time.Time
}

// rationIsUsed: when nobody else uses the token, every window is spent down to
// the floor, less what crashes and losses leave in doubt; and the next window
// begins within 1.1 seconds of the reset.
func rationIsUsed(t *testing.T, f Factory) {
	rapid.Check(t, func(rt *rapid.T) {
		limit := rapid.IntRange(5, 60).Draw(rt, "limit")
		floor := rapid.IntRange(0, limit/2).Draw(rt, "floor")
		b := &busy{
			T: rt, wasted: make(map[int]int),
			workers: rapid.IntRange(1, 10).Draw(rt, "workers"),
			latency: time.Duration(rapid.IntRange(2, 60).Draw(rt, "latency ms")) * time.Millisecond,
			up: &Upstream{
				Limit:  limit,
				Window: time.Duration(rapid.IntRange(10, 40).Draw(rt, "window seconds")) * time.Second,
				Ahead:  time.Duration(rapid.Int64Range(-7200_000, 7200_000).Draw(rt, "ahead ms")) * time.Millisecond,
			},
		}
		b.Bench = f.New(t, quota.Config{Concurrency: 10, Buckets: map[string]quota.Limits{
			core: {Limit: limit, Window: b.up.Window, Floor: floor},
		}})
		b.play(4)
		b.judge(limit - floor)
	})
}

func (b *busy) play(windows int) {
	for len(b.up.Usage) <= windows {
		b.fill()
		b.next()
	}
}

// fill lets every idle worker ask.
func (b *busy) fill() {
	for len(b.calls) < b.workers && !b.Now().Before(b.wait) {
		d, err := b.Keeper().Reserve(b.Context(), ask(alice, core))
		if err != nil {
			b.Fatalf("Reserve: %v", err)
		}
		if !d.Granted {
			b.wait = d.RetryAt
			return
		}
		took := time.Duration(rapid.Int64Range(1, int64(b.latency)).Draw(b.T, "took"))
		b.calls = append(b.calls, &busyCall{
			flight: flight{permit: d.Permit}, at: b.Now().Add(took / 2), done: b.Now().Add(took),
		})
	}
}

// next goes to the next thing that happens, and lets it happen.
func (b *busy) next() {
	var first *busyCall
	for _, c := range b.calls {
		if first == nil || c.when().Before(first.when()) {
			first = c
		}
	}
	if first == nil || len(b.calls) < b.workers && b.wait.After(b.Now()) && b.wait.Before(first.when()) {
		b.Advance(b.wait.Sub(b.Now()))
		return
	}
	if d := first.when().Sub(b.Now()); d > 0 {
		b.Advance(d)
	}
	if !first.landed {
		first.landed = true
		first.answer = b.up.Count(b.Now(), first.permit.Ask)
		return
	}
	b.finish(first)
}

func (c *busyCall) when() time.Time {
	if c.landed {
		return c.done
	}
	return c.at
}

func (b *busy) finish(c *busyCall) {
	for i := range b.calls {
		if b.calls[i] == c {
			b.calls = append(b.calls[:i], b.calls[i+1:]...)
			break
		}
	}
	current := len(b.up.Usage) - 1
	answer := c.answer
	switch rapid.IntRange(0, 199).Draw(b.T, "fate") {
	case 1:
		answer = quota.Response{}
		b.wasted[current]++
		b.wasted[current+1]++
	case 2:
		// What a crash leaves in flight, and what an adapter that was not told
		// has to assume, is bounded by the concurrency.
		b.wasted[current] += len(b.calls) + 1
		b.wasted[current+1] += abandonedAtMost
		b.calls = nil
		b.wait = time.Time{}
		b.Crash()
		return
	}
	if err := b.Keeper().Settle(b.Context(), c.permit, answer); err != nil {
		b.Fatalf("Settle: %v", err)
	}
}

// abandonedAtMost is the concurrency times the dearest call an adapter may
// have to assume.
const abandonedAtMost = 40

func (b *busy) judge(want int) {
	if b.up.TooMany > 0 {
		b.Fatalf("%d calls too many", b.up.TooMany)
	}
	for i, u := range b.up.Usage[:len(b.up.Usage)-1] {
		if u.Used < want-b.wasted[i] {
			b.Fatalf("window %d: %d calls made of %d, %d excused", i, u.Used, want, b.wasted[i])
		}
		gap := b.up.Usage[i+1].FirstCall.Sub(u.End)
		if gap > 1100*time.Millisecond && b.wasted[i] == 0 {
			b.Fatalf("window %d began %v after the reset", i+1, gap)
		}
	}
}
