package quotatest

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"sluice/internal/quota"
)

// clockCases set the local clock, which needs one that can be set.
func clockCases() map[string]func(*suite) {
	return map[string]func(*suite){
		"a clock set forward opens a spent window for one call": forwardWhenSpent,
		"a clock set forward opens no more than was left":       forwardWithRest,
		"a clock set forward and an answer that is lost":        forwardAndLost,
		"a clock set forward while the process is down":         forwardAtRestart,
		"a clock set back parks for two windows at most":        backWhenSpent,
		"a clock set back while the process is down":            backAtRestart,
		"a clock set back keeps no points":                      backWithPoints,
		"a reset in years is not believed":                      absurdReset,
		"a new window opens with its first answer":              firstAnswerOpens,
	}
}

// set sets the local clock, and the upstream's stays.
func (s *suite) set(u *Upstream, d time.Duration) {
	s.Advance(d)
	u.LocalClockSet(d)
}

// wantClosed wants the window closed until the upstream's reset, and that no
// more than so many calls were beyond it.
func (s *suite) wantClosed(u *Upstream, beyond int) {
	s.Helper()
	if u.TooMany != beyond {
		s.Fatalf("%d calls beyond the limit, want %d", u.TooMany, beyond)
	}
	s.wantResetWait(s.refused(ask(alice, core), quota.ReasonPrimary), u.Reset(s.Now()))
}

func forwardWhenSpent(s *suite) {
	s.start(s.limits(10))
	u := s.upstream(10)
	s.spend(u, ask(alice, core), 10)
	s.set(u, 2*s.window)
	first := s.grant(ask(alice, core))
	for range 5 {
		s.refused(ask(alice, core), quota.ReasonTrial)
	}
	s.settle(first, u.Count(s.Now(), first.Ask))
	s.wantClosed(u, 1)
	s.until(u.Reset(s.Now()).Add(certain))
	s.spend(u, ask(alice, core), 10)
	s.wantClosed(u, 1)
}

func forwardWithRest(s *suite) {
	s.start(s.limits(10))
	u := s.upstream(10)
	s.spend(u, ask(alice, core), 6)
	s.set(u, 2*s.window)
	s.wantAvailable(ask(alice, core), 4)
	s.spend(u, ask(alice, core), 4)
	s.wantClosed(u, 0)
}

func forwardAndLost(s *suite) {
	s.start(s.limits(10))
	u := s.upstream(10)
	s.spend(u, ask(alice, core), 10)
	s.set(u, 2*s.window)
	for range 3 {
		p := s.grant(ask(alice, core))
		s.refused(ask(alice, core), quota.ReasonTrial)
		s.settle(p, quota.Response{})
	}
	first := s.grant(ask(alice, core))
	s.settle(first, u.Count(s.Now(), first.Ask))
	s.wantClosed(u, 1)
}

func forwardAtRestart(s *suite) {
	for _, by := range []time.Duration{s.window + time.Minute, 100 * s.window} {
		s.startWith(quota.Config{Buckets: both(s.limits(10)), Concurrency: 1})
		u := s.upstream(10)
		s.spend(u, ask(bob, core), 10)
		s.set(u, by)
		s.Crash()
		first := s.grant(ask(bob, core))
		s.settle(first, u.Count(s.Now(), first.Ask))
		s.refused(ask(bob, core), quota.ReasonPrimary)
		if u.TooMany != 1 {
			s.Fatalf("set by %v: %d calls beyond the limit, want one", by, u.TooMany)
		}
	}
}

// wantSoon wants to be told an instant that is two windows away at most, and a
// call to be granted then.
func (s *suite) wantSoon() {
	s.Helper()
	retryAt := s.refused(ask(alice, core), quota.ReasonPrimary)
	if wait := retryAt.Sub(s.Now()); wait > 2*s.window+time.Minute {
		s.Fatalf("waits for %v", wait)
	}
	s.until(retryAt)
	s.grant(ask(alice, core))
}

func backWhenSpent(s *suite) {
	s.start(s.limits(10))
	u := s.upstream(10)
	s.spend(u, ask(alice, core), 10)
	s.set(u, -1000*s.window)
	s.wantSoon()
	if u.TooMany != 0 {
		s.Fatalf("%d calls beyond the limit", u.TooMany)
	}
}

func backAtRestart(s *suite) {
	s.start(s.limits(10))
	u := s.upstream(10)
	s.spend(u, ask(alice, core), 9)
	p := s.grant(ask(alice, core))
	r := u.Count(s.Now(), p.Ask)
	r.RetryAfter = time.Minute
	s.settle(p, r)
	s.set(u, -1000*s.window)
	s.Crash()
	parked := s.refused(ask(alice, core), quota.ReasonRetryAfter)
	if wait := parked.Sub(s.Now()); wait > quota.LongestPark {
		s.Fatalf("parked for %v", wait)
	}
	s.until(parked)
	if d := s.reserve(ask(alice, core)); !d.Granted {
		s.wantSoon()
	}
}

func backWithPoints(s *suite) {
	s.startPoints(3, false)
	u := s.upstream(1000)
	s.spend(u, ask(alice, core), 3)
	s.set(u, -100*s.period)
	retryAt := s.refused(ask(alice, core), quota.ReasonPoints)
	if wait := retryAt.Sub(s.Now()); wait > s.period {
		s.Fatalf("waits for %v", wait)
	}
	s.until(retryAt)
	s.grant(ask(alice, core))
}

func absurdReset(s *suite) {
	s.start(s.limits(3))
	for range 2 {
		s.answer(2, s.Now().Add(2*365*24*time.Hour).Truncate(time.Second))
	}
	p := s.grant(ask(alice, core))
	r := told(0, s.Now().Add(2*365*24*time.Hour).Truncate(time.Second), s.Now().Truncate(time.Second))
	r.Exhausted = true
	s.settle(p, r)
	s.wantSoon()
}

func firstAnswerOpens(s *suite) {
	s.start(s.limits(10))
	u := s.upstream(10)
	s.spend(u, ask(alice, core), 10)
	s.until(s.refused(ask(alice, core), quota.ReasonPrimary))
	first := s.grant(ask(alice, core))
	s.refused(ask(alice, core), quota.ReasonTrial)
	s.settle(first, u.Count(s.Now(), first.Ask))
	s.wantAvailable(ask(alice, core), 9)
	// A call that cost nothing and found nothing counted tells as much.
	s.spend(u, ask(alice, core), 9)
	s.until(s.refused(ask(alice, core), quota.ReasonPrimary))
	unchanged := s.grant(ask(alice, core))
	s.refund(unchanged, u.NotModified(s.Now(), unchanged.Ask))
	s.wantAvailable(ask(alice, core), 10)
}

// clockCostsOneCall: whatever the clock is set to and whenever, each time costs
// one call beyond the limit at most, and one more for every answer that is lost.
func clockCostsOneCall(t *testing.T, f Factory) {
	rapid.Check(t, func(rt *rapid.T) {
		w := newWorld(t, rt, f)
		w.foreign, w.up.PointsPerPeriod = false, 0
		excused := 0
		w.Repeat(map[string]func(*rapid.T){
			"reserve":  w.reserve,
			"burst":    w.burst,
			"land":     w.land,
			"answer":   func(t *rapid.T) { w.settleOne(t) },
			"lose":     func(t *rapid.T) { w.lose(t); excused++ },
			"refund":   w.refund,
			"advance":  w.advance,
			"to reset": w.toReset,
			"crash":    func(t *rapid.T) { w.crash(t); excused++ },
			"set": func(t *rapid.T) {
				by := time.Duration(rapid.Int64Range(-7200_000, 7200_000).Draw(t, "set by ms")) * time.Millisecond
				w.Advance(by)
				w.up.LocalClockSet(by)
				excused++
			},
			"": func(t *rapid.T) {
				if w.up.TooMany > excused {
					t.Fatalf("%d calls beyond the limit; the clock was set, answers were lost or the process died %d times", w.up.TooMany, excused)
				}
			},
		})
	})
}
