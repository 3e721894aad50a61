package ratetest

import (
	"time"

	"sluice/internal/domain"
	"sluice/internal/quota/rate"
)

// burstThenRate: one call more than the burst comes exactly when it is due.
func burstThenRate(s *suite) {
	s.start(Maple())
	for range 25 {
		s.want(high, 1, 1, "")
	}
	g := s.want(high, 1, 0, rate.ReasonRate)
	if wait := g.RetryAt.Sub(s.clock.Now()); wait != 2223*time.Microsecond {
		s.Fatalf("the next call in %v, want 2.223ms: a 450th of a second", wait)
	}
	s.clock.Advance(2222 * time.Microsecond)
	s.want(high, 1, 0, rate.ReasonRate)
	s.clock.Advance(time.Microsecond)
	s.want(high, 1, 1, "")
	s.clock.Advance(time.Hour)
	s.want(high, 100, 25, rate.ReasonRate)
}

func onlyLow(s *suite) {
	s.start(Maple())
	s.clock.Advance(time.Minute)
	total := 0
	for range 10_000 {
		total += s.ask(low, 1).Calls
		total += s.ask(low, 3).Calls
		s.clock.Advance(time.Millisecond)
	}
	// LOW's burst is there at the beginning, less what is kept for HIGH.
	if total < 3500 || total > 3500+25 {
		s.Fatalf("LOW got %d calls in 10 s, want 350 a second and a burst of at most 25", total)
	}
}

func refusedLowTakesNothing(s *suite) {
	l := Maple()
	l.LowRate, l.LowBurst, l.Reserve = 1, 5, 0
	s.start(l)
	s.want(low, 10, 5, rate.ReasonLow)
	for range 1000 {
		s.want(low, 1, 0, rate.ReasonLow)
	}
	s.want(high, 20, 20, "")
	if u := s.usage(); u.Used != 25 || u.UsedLow != 5 {
		s.Fatalf("usage %+v", u)
	}
}

// highBeforeLow: 200 a second are offered of HIGH and 300 of LOW.
func highBeforeLow(s *suite) {
	s.start(Maple())
	var highCalls, lowCalls, lowWaits int
	for millisecond := range 20_000 {
		if millisecond%10 < 3 {
			lowWaits++
		}
		if lowWaits > 0 {
			lowCalls += s.ask(low, lowWaits).Calls
			lowWaits = min(lowWaits, 30)
		}
		if millisecond%5 == 0 {
			s.want(high, 1, 1, "")
			highCalls++
		}
		s.clock.Advance(time.Millisecond)
	}
	if highCalls != 4000 || lowCalls < 20*249 || lowCalls > 20*250+25 {
		s.Fatalf("HIGH got %d and LOW %d in 20 s, want 4000 and 5000", highCalls, lowCalls)
	}
}

func highFindsReserve(s *suite) {
	s.start(Maple())
	for range 100 {
		for s.ask(low, 1).Calls > 0 {
			continue
		}
		s.want(high, 10, 10, "")
		s.want(low, 1, 0, rate.ReasonRate)
		s.clock.Advance(100 * time.Millisecond)
	}
}

func fewerThanAsked(s *suite) {
	s.start(Maple())
	g := s.want(high, 40, 25, rate.ReasonRate)
	s.until(g.RetryAt)
	if g := s.ask(high, 15); g.Calls < 12 {
		s.Fatalf("came back for %d calls, want at least half a burst", g.Calls)
	}
}

// noHerd: a hundred who were refused come back when they were told to. Most of
// them are then granted a call.
func noHerd(s *suite) {
	for _, p := range []domain.Priority{high, low} {
		s.start(Maple())
		for s.ask(p, 1).Calls > 0 {
			continue
		}
		var times []time.Time
		for range 100 {
			g := s.ask(p, 1)
			if n := len(times); n > 0 && !g.RetryAt.After(times[n-1]) {
				s.Fatalf("two are told to come back at %v", g.RetryAt)
			}
			times = append(times, g.RetryAt)
		}
		for i, at := range times {
			s.until(at)
			if g := s.ask(p, 1); g.Calls != 1 {
				s.Fatalf("waiter %d of %s is refused again: %+v", i, p, g)
			}
		}
	}
}

// clockSet: whichever way the clock is set, no second has more than it may, and
// calls go on.
func clockSet(s *suite) {
	l := rate.Limits{Hard: 30, Rate: 20, Burst: 10, LowRate: 20, LowBurst: 10}
	for _, by := range []time.Duration{time.Hour, -time.Hour, 900 * time.Millisecond, -400 * 24 * time.Hour} {
		s.seconds = Seconds{}
		s.start(l)
		for range 300 {
			s.ask(high, 10)
			s.clock.Set(by)
			s.clock.Advance(10 * time.Millisecond)
		}
		if most := s.seconds.Fullest(); most > 30 || s.seconds.Total() < 60 {
			s.Fatalf("set by %v: %d in a second, %d in three", by, most, s.seconds.Total())
		}
	}
}

func wrongAsks(s *suite) {
	s.start(Maple())
	for _, c := range []struct {
		upstream string
		p        domain.Priority
		n        int
	}{{"other", high, 1}, {Upstream, 0, 1}, {Upstream, high, 0}, {Upstream, low, -1}} {
		if g, err := s.keeper().Reserve(s.Context(), c.upstream, c.p, c.n); domain.CodeOf(err) != domain.CodeInvalid || g.Calls != 0 {
			s.Errorf("Reserve %+v: %+v, %v", c, g, err)
		}
		if err := s.keeper().Refund(s.Context(), c.upstream, c.p, c.n); domain.CodeOf(err) != domain.CodeInvalid {
			s.Errorf("Refund %+v: %v", c, err)
		}
	}
	if _, err := s.keeper().Usage(s.Context(), "other"); domain.CodeOf(err) != domain.CodeInvalid {
		s.Errorf("Usage: %v", err)
	}
	if err := s.keeper().Pause(s.Context(), "other", s.clock.Now()); domain.CodeOf(err) != domain.CodeInvalid {
		s.Errorf("Pause: %v", err)
	}
}

func pauses(s *suite) {
	s.start(Maple())
	pause := func(d time.Duration) {
		if err := s.keeper().Pause(s.Context(), Upstream, s.clock.Now().Add(d)); err != nil {
			s.Fatal(err)
		}
	}
	end := s.clock.Now().Add(time.Minute)
	pause(time.Minute)
	pause(time.Second) // the later one stands
	for _, p := range []domain.Priority{high, low} {
		if g := s.want(p, 1, 0, rate.ReasonPause); !g.RetryAt.Equal(end) {
			s.Fatalf("paused until %v, want %v", g.RetryAt, end)
		}
	}
	if u := s.usage(); !u.PausedTill.Equal(end) || u.Used != 0 {
		s.Fatalf("usage %+v", u)
	}
	s.until(end)
	s.want(high, 25, 25, "")
	if u := s.usage(); !u.PausedTill.IsZero() {
		s.Fatalf("usage %+v", u)
	}
}
