package rationtest

import (
	"context"
	"errors"
	"time"

	"sluice/internal/domain"
	"sluice/internal/ration"
	"sluice/internal/ration/keeper"
)

// take asks for calls in bulk.
func (s *suite) take(a keeper.Ask, n int) keeper.Grant {
	s.Helper()
	g, err := s.first().Take(s.Context(), a, n)
	if err != nil {
		s.Fatal(err)
	}
	if g.Calls < 0 || g.Calls > n || (g.Calls == n) != (g.Reason == "") || g.RetryAt.IsZero() != (g.Reason == "") || (g.Refused == "") != (g.Reason == "") {
		s.Fatalf("asked for %d: %+v", n, g)
	}
	if g.Reason != "" && !g.RetryAt.After(s.clock.Now()) {
		s.Fatalf("to come back at %v, and it is %v", g.RetryAt, s.clock.Now())
	}
	return g
}

// takes wants so many calls of n, and to know who refuses the others.
func (s *suite) takes(a keeper.Ask, n, calls int, refused string) keeper.Grant {
	s.Helper()
	g := s.take(a, n)
	if g.Calls != calls || g.Refused != refused {
		s.Fatalf("of %d calls at %v: %+v, want %d and %q", n, s.clock.Now(), g, calls, refused)
	}
	return g
}

func low(a keeper.Ask) keeper.Ask {
	a.Low = true
	return a
}

// bulk: calls are taken of all counts, or of none: as many as the tightest has.
func bulk(s *suite) {
	wide, narrow, deep := make1("wide", ration.Fixed, 100, time.Hour), make1("narrow", ration.Sliding, 10, time.Minute), make1("deep", ration.Bucket, 40, 40*time.Second)
	s.takes(ask(wide, narrow, deep), 4, 4, "")
	g := s.takes(ask(wide, narrow, deep), 9, 6, "narrow/alice")
	if wait := g.RetryAt.Sub(s.clock.Now()); g.Reason != keeper.ReasonSpent || wait < 59*time.Second || wait > time.Minute {
		s.Errorf("the others are told %+v", g)
	}
	s.takes(ask(wide, narrow, deep), 1, 0, "narrow/alice")
	s.takes(ask(wide, deep), 40, 30, "deep/alice")
	w := s.windows()
	if w["wide/alice"].Spent != 40 || w["wide/alice"].Available != 60 || w["narrow/alice"].Spent != 10 || w["deep/alice"].Spent != 40 {
		s.Errorf("it shows %+v", w)
	}
	// What was taken in bulk and what is reserved one by one are one count.
	s.grant(ask(wide))
	s.takes(ask(wide), 100, 59, "wide/alice")
	for _, a := range []keeper.Ask{{Group: Group}, ask(make1("busy", ration.Concurrent, 5, 0))} {
		if g, err := s.first().Take(s.Context(), a, 1); domain.CodeOf(err) != domain.CodeInvalid || g.Calls != 0 {
			s.Errorf("what cannot be taken in bulk: %+v, %v", g, err)
		}
	}
	if g, err := s.first().Take(s.Context(), ask(wide), 0); domain.CodeOf(err) != domain.CodeInvalid {
		s.Errorf("no calls: %+v, %v", g, err)
	}
	ctx, cancel := context.WithCancel(s.Context())
	cancel()
	if g, err := s.first().Take(ctx, ask(deep), 1); err == nil || g.Calls != 0 {
		s.Errorf("who has given up gets %+v, %v", g, err)
	}
}

// exactBucket: what comes back comes back to the microsecond, however it is taken, and
// no part of it is lost.
func exactBucket(s *suite) {
	r := make1("bucket", ration.Bucket, 25, time.Second)
	r.Refill = 450
	s.takes(ask(r), 25, 25, "")
	g := s.takes(ask(r), 1, 0, "bucket/alice")
	if wait := g.RetryAt.Sub(s.clock.Now()); wait != 2223*time.Microsecond {
		s.Errorf("the next call in %v, want 2.223ms: a 450th of a second", wait)
	}
	s.clock.Advance(2222 * time.Microsecond)
	s.takes(ask(r), 1, 0, "bucket/alice")
	s.clock.Advance(time.Microsecond)
	s.takes(ask(r), 1, 1, "")
	total := 26
	for range 9000 {
		s.clock.Advance(777 * time.Microsecond)
		total += s.take(ask(r), 3).Calls
	}
	// 25, and 450 a second.
	if elapsed := 2223 + 9000*777; total != 25+450*elapsed/1_000_000 {
		s.Errorf("%d calls in %d µs", total, elapsed)
	}
}

// reserved: what is not urgent leaves so much, of windows and of buckets, whether calls
// are taken in bulk or reserved.
func reserved(s *suite) {
	window, deep := make1("hour", ration.Fixed, 33, time.Hour), make1("bucket", ration.Bucket, 33, time.Hour)
	for _, r := range []*ration.Ration{window, deep} {
		r.Reserve = 7
		s.takes(low(ask(r)), 20, 20, "")
		s.spend(5, low(ask(r)))
		s.takes(low(ask(r)), 20, 1, r.Name+"/alice")
		if d := s.refuse(low(ask(r))); d.Reason != keeper.ReasonKept {
			s.Errorf("refused by %+v", d)
		}
		s.takes(ask(r), 20, 7, r.Name+"/alice")
		if w := s.windows()[r.Name+"/alice"]; w.Spent != 33 || w.Low != 21 {
			s.Errorf("it shows %+v", w)
		}
	}
}

// pace is a bucket that lets no second have more than 120 calls.
func pace(name string) *ration.Ration {
	r := make1(name, ration.Bucket, 20, time.Second)
	r.Refill, r.Hard = 100, 120
	return r
}

// paced: whoever does not know what was granted grants nothing for a period, and then all
// that fits. What is given back is not given out again.
func paced(s *suite) {
	r := pace("pace")
	s.takes(ask(r), 50, 20, "pace/alice")
	s.clock.Advance(time.Hour)
	s.takes(ask(r), 15, 15, "")
	if err := s.first().Return(s.Context(), ask(r), 15); err != nil {
		s.Fatal(err)
	}
	s.takes(ask(r), 15, 5, "pace/alice")
	s.Lose()
	g := s.takes(ask(r), 1, 0, "pace/alice")
	if wait := g.RetryAt.Sub(s.clock.Now()); wait != time.Second {
		s.Errorf("to come back in %v, want 1s", wait)
	}
	s.clock.Advance(time.Second - time.Microsecond)
	s.takes(ask(r), 1, 0, "pace/alice")
	s.clock.Advance(time.Microsecond)
	s.takes(ask(r), 30, 20, "pace/alice")
}

// newcomer: a process that comes cannot tell whether the clock was set. It is granted
// nothing of what is paced until somebody can tell, or the period is over.
func newcomer(s *suite) {
	r := pace("pace")
	s.takes(ask(r), 1, 1, "") // now there is something to be careful about
	for _, by := range []time.Duration{5 * time.Second, -time.Hour, 300 * time.Millisecond} {
		s.clock.Advance(2 * time.Second)
		for _, k := range s.Keepers() {
			if _, err := k.Take(s.Context(), ask(r), 20); err != nil {
				s.Fatal(err)
			}
		}
		s.Restart(0)
		s.clock.Set(by)
		for range 10 {
			s.takes(ask(r), 20, 0, "pace/alice")
			s.clock.Advance(99 * time.Millisecond)
		}
		s.clock.Advance(10 * time.Millisecond)
		if g := s.take(ask(r), 50); g.Calls != 20 {
			s.Errorf("after a second, set by %v: %+v", by, g)
		}
	}
}

// returned: calls that were not made come back to windows and buckets.
func returned(s *suite) {
	window, slides, deep := make1("hour", ration.Fixed, 20, time.Hour), make1("slides", ration.Sliding, 20, time.Hour), make1("bucket", ration.Bucket, 20, time.Hour)
	s.takes(low(ask(window, slides, deep)), 12, 12, "")
	s.clock.Advance(10 * time.Minute)
	s.takes(ask(window, slides, deep), 8, 8, "")
	for _, n := range []int{5, 8} {
		if err := s.first().Return(s.Context(), low(ask(window, slides, deep)), n); err != nil {
			s.Fatal(err)
		}
	}
	w := s.windows()
	if w["hour/alice"].Spent != 7 || w["slides/alice"].Spent != 7 || w["bucket/alice"].Spent > 7 || w["hour/alice"].Low != 0 {
		s.Errorf("it shows %+v", w)
	}
	s.takes(ask(window, slides), 20, 13, "hour/alice")
	if err := s.first().Return(s.Context(), ask(window), 1000); err != nil {
		s.Fatal(err)
	}
	s.takes(ask(window), 21, 20, "hour/alice")
	if err := s.first().Return(s.Context(), ask(window), 0); domain.CodeOf(err) != domain.CodeInvalid {
		s.Errorf("no calls are given back: %v", err)
	}
}

// line: callers who wait for a bucket come back one after the other, at the pace of the
// slowest, and find their calls.
func line(s *suite) {
	fast, slow := make1("fast", ration.Bucket, 50, time.Second), make1("slow", ration.Bucket, 10, time.Second)
	fast.Refill, slow.Refill = 200, 100
	s.takes(ask(fast, slow), 11, 10, "slow/alice")
	last := s.clock.Now().Add(10 * time.Millisecond)
	var times []time.Time
	for range 50 {
		g := s.takes(ask(fast, slow), 1, 0, "slow/alice")
		if g.RetryAt.Sub(last) != 10*time.Millisecond {
			s.Fatalf("to come back at %v, after one at %v", g.RetryAt, last)
		}
		last = g.RetryAt
		times = append(times, last)
	}
	for _, at := range times {
		s.clock.Advance(at.Sub(s.clock.Now()))
		s.takes(ask(fast, slow), 1, 1, "")
	}
	// The line begins again when it is longer than a period and 32 callers.
	s.takes(ask(fast, slow), 2, 1, "slow/alice")
	longest := s.clock.Now()
	for range 500 {
		if at := s.take(ask(fast, slow), 1).RetryAt; at.After(longest) {
			longest = at
		}
	}
	if wait := longest.Sub(s.clock.Now()); wait > 1100*time.Millisecond || wait < time.Second {
		s.Errorf("the last of the line comes in %v", wait)
	}
}

// bulkPause: nobody tries first after a pause, as nobody tells how it went.
func bulkPause(s *suite) {
	r := make1("hour", ration.Sliding, 100, time.Hour)
	if err := s.first().Park(s.Context(), Group, "alice", 5*time.Second); err != nil {
		s.Fatal(err)
	}
	g := s.takes(gated(r), 3, 0, keeper.GatePrefix+"alice")
	if g.Reason != keeper.ReasonParked || g.RetryAt.Sub(s.clock.Now()) != 5*time.Second {
		s.Errorf("it is told %+v", g)
	}
	s.takes(ask(r), 3, 3, "")
	s.Lose()
	s.takes(gated(r), 3, 0, keeper.GatePrefix+"alice")
	s.clock.Advance(5 * time.Second)
	s.takes(gated(r), 3, 3, "")
	s.takes(gated(r), 3, 3, "")
}

// bulkStored: as much as is said is written down ahead, before it is taken if nothing is
// left of that, and else while nobody waits; never more than there is.
func bulkStored(s *suite) {
	r := make1("day", ration.Fixed, 10_000, 24*time.Hour)
	r.Ahead = 100
	before := s.store.Saves()
	for range 1000 {
		s.takes(ask(r), 1, 1, "")
	}
	if n := s.store.Saves() - before; n < 10 || n > 60 {
		s.Errorf("1000 calls were stored %d times", n)
	}
	s.Lose()
	if w := s.looked(r); w.Spent < 1000 || w.Spent > 1200 {
		s.Errorf("after a loss %d are taken for spent", w.Spent)
	}
	s.takes(low(ask(r)), 8800, 8800, "")
	s.Lose()
	if w := s.looked(r); w.Spent < 9800 || w.Spent > 10_000 || w.Low != 0 && w.Low != 8800 {
		s.Errorf("after a loss it shows %+v", w)
	}
	s.store.Fail(errors.New("no disk"))
	s.Lose()
	if g, err := s.first().Take(s.Context(), ask(r), 1); domain.CodeOf(err) != domain.CodeUnavailable || g.Calls != 0 {
		s.Errorf("without a store: %+v, %v", g, err)
	}
	s.store.Fail(nil)
}

// looked is what is told of a count that nobody has asked for since.
func (s *suite) looked(r *ration.Ration) keeper.Window {
	s.Helper()
	draw := keeper.Draw{Ration: r, Part: "alice", Cost: 1}
	all, err := s.first().Look(s.Context(), Group, draw)
	if err != nil {
		s.Fatal(err)
	}
	for _, w := range all {
		if w.Count == draw.Count() {
			return w
		}
	}
	s.Fatalf("it is not told: %+v", all)
	return keeper.Window{}
}

// uncounted: what is not limited is counted, and never stored.
func uncounted(s *suite) {
	r := make1("all", ration.Fixed, ration.Unlimited, time.Hour)
	before := s.store.Saves()
	s.takes(low(ask(r)), 1_000_000, 1_000_000, "")
	s.spend(3, ask(r))
	if w := s.windows()["all/alice"]; w.Spent != 1_000_003 || w.Low != 1_000_000 {
		s.Errorf("it shows %+v", w)
	}
	if n := s.store.Saves() - before; n != 0 {
		s.Errorf("it was stored %d times", n)
	}
}
