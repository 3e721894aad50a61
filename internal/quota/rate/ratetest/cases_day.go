package ratetest

import (
	"context"
	"errors"
	"time"

	"sluice/internal/domain"
	"sluice/internal/quota/rate"
)

// small is a day that a test can spend.
func small() rate.Limits {
	return rate.Limits{
		Hard: 500, Rate: 400, Burst: 100, LowRate: 400, LowBurst: 100, Daily: 3000, DailyReserve: 500, Zone: Seoul,
	}
}

// spend asks until the day is over or this many calls are granted.
func (s *suite) spend(p domain.Priority, n int) (granted int, last rate.Grant) {
	s.Helper()
	for granted < n {
		last = s.ask(p, n-granted)
		granted += last.Calls
		if last.Reason == rate.ReasonDaily {
			break
		}
		if last.Reason != "" {
			s.until(last.RetryAt)
		}
	}
	return granted, last
}

func dayEnds(s *suite) {
	s.start(small())
	granted, last := s.spend(high, 4000)
	midnight := time.Date(2026, 3, 2, 0, 0, 0, 0, Seoul)
	if granted != 3000 || !last.RetryAt.Equal(midnight) {
		s.Fatalf("%d calls, and to come back at %v; want 3000 and %v", granted, last.RetryAt, midnight)
	}
	s.until(midnight.Add(-time.Microsecond))
	s.want(high, 1, 0, rate.ReasonDaily)
	s.until(midnight)
	s.want(high, 100, 100, "")
	if u := s.usage(); u.Day != "2026-03-02" || u.Used != 100 || !u.ResetsAt.Equal(midnight.AddDate(0, 0, 1)) {
		s.Fatalf("usage %+v", u)
	}
}

func dayReserve(s *suite) {
	s.start(small())
	if granted, _ := s.spend(low, 4000); granted != 2500 {
		s.Fatalf("LOW got %d of the day, want 2500", granted)
	}
	if granted, _ := s.spend(high, 4000); granted != 500 {
		s.Fatalf("HIGH got %d of the rest, want 500", granted)
	}
	s.want(low, 1, 0, rate.ReasonDaily)
}

func noDailyLimit(s *suite) {
	l := small()
	l.Daily, l.DailyReserve = 0, 0
	s.start(l)
	if granted, _ := s.spend(low, 10_000); granted != 10_000 {
		s.Fatalf("LOW got %d", granted)
	}
	if u := s.usage(); u.Used != 10_000 || u.UsedLow != 10_000 || u.Daily != 0 {
		s.Fatalf("usage %+v", u)
	}
	if s.store.Saves() != 0 {
		s.Fatalf("%d writes of a count that nobody limits", s.store.Saves())
	}
}

func dayForwardAndBack(s *suite) {
	s.start(small())
	total, _ := s.spend(high, 1000)
	s.clock.Set(24 * time.Hour)
	more, _ := s.spend(high, 500)
	s.clock.Set(-24 * time.Hour)
	rest, last := s.spend(high, 4000)
	if total += more + rest; total > 3000 || last.Reason != rate.ReasonDaily {
		s.Fatalf("%d calls in one day, %+v", total, last)
	}
	s.until(last.RetryAt)
	s.want(high, 10, 10, "")
}

func lossHolds(s *suite) {
	s.start(Maple())
	s.want(high, 25, 25, "")
	s.Lose()
	g := s.want(high, 1, 0, rate.ReasonRate)
	if wait := g.RetryAt.Sub(s.clock.Now()); wait != time.Second {
		s.Fatalf("to come back in %v, want 1s", wait)
	}
	s.want(low, 1, 0, rate.ReasonRate)
	s.clock.Advance(time.Second - time.Microsecond)
	s.want(high, 1, 0, rate.ReasonRate)
	s.clock.Advance(time.Microsecond)
	s.want(high, 25, 25, "")
}

func lossKeepsDay(s *suite) {
	s.start(small())
	total := 0
	for range 50 {
		granted, _ := s.spend(high, 40)
		total += granted
		s.Lose()
		if u := s.usage(); u.Used < int64(total) {
			s.Fatalf("%d are taken for used, and %d were granted", u.Used, total)
		}
	}
	if total > 3000 {
		s.Fatalf("%d calls in a day", total)
	}
	s.until(time.Date(2026, 3, 2, 0, 0, 0, 0, Seoul))
	if granted, _ := s.spend(high, 4000); granted < 2900 {
		s.Fatalf("%d calls of the next day", granted)
	}
}

func restartKeepsDay(s *suite) {
	s.start(small())
	s.spend(high, 3000)
	s.Restart(0)
	if g := s.ask(high, 1); g.Calls != 0 {
		s.Fatalf("granted right after the restart: %+v", g)
	}
	s.clock.Advance(time.Second)
	s.want(high, 1, 0, rate.ReasonDaily)
}

// storeFails: without a store that answers nothing is granted beyond what it
// was told, and an error says so.
func storeFails(s *suite) {
	s.start(small())
	s.store.Fail(errors.New("the store is away"))
	granted, failed := 0, error(nil)
	for range 100_000 {
		g, err := s.keeper().Reserve(s.Context(), Upstream, high, 10)
		if err != nil {
			failed = err
			break
		}
		granted += g.Calls
		s.clock.Advance(10 * time.Millisecond)
	}
	if domain.CodeOf(failed) != domain.CodeUnavailable || granted >= 2000 {
		s.Fatalf("%d calls, then %v", granted, failed)
	}
	s.store.Fail(nil)
	s.clock.Advance(2 * time.Second)
	if granted, last := s.spend(high, 500); granted != 500 {
		s.Fatalf("after the store is back: %d calls, %+v", granted, last)
	}
	s.store.Fail(errors.New("the store is away"))
	s.Lose()
	s.clock.Advance(2 * time.Second)
	if g, err := s.keeper().Reserve(s.Context(), Upstream, high, 1); domain.CodeOf(err) != domain.CodeUnavailable || g.Calls != 0 {
		s.Fatalf("with neither: %+v, %v", g, err)
	}
}

func storeSeldom(s *suite) {
	s.start(Maple())
	for range 20_000 {
		s.ask(high, 5)
		s.clock.Advance(time.Millisecond)
	}
	if n := s.store.Saves(); n < 2 || n > 20 {
		s.Fatalf("the store was written %d times in 20 s", n)
	}
}

func refunds(s *suite) {
	s.start(small())
	s.clock.Advance(11 * time.Minute)
	refund := func(p domain.Priority, n int) {
		if err := s.keeper().Refund(s.Context(), Upstream, p, n); err != nil {
			s.Fatal(err)
		}
	}
	s.want(low, 100, 100, "")
	refund(low, 40)
	if u := s.usage(); u.Used != 60 || u.UsedLow != 60 {
		s.Fatalf("usage %+v", u)
	}
	s.until(time.Date(2026, 3, 2, 0, 0, 1, 0, Seoul))
	s.want(high, 10, 10, "")
	refund(high, 10) // it may be of a call of yesterday
	if u := s.usage(); u.Used != 10 {
		s.Fatalf("usage after midnight %+v", u)
	}
	s.seconds = Seconds{}
	for range 2000 {
		g := s.ask(high, 50)
		if g.Calls > 0 {
			refund(high, g.Calls)
		}
		s.clock.Advance(time.Millisecond)
	}
	if most := s.seconds.Fullest(); most > 500 {
		s.Fatalf("%d calls in a second", most)
	}
}

func usage(s *suite) {
	s.start(Maple())
	s.want(high, 5, 5, "")
	s.want(low, 3, 3, "")
	want := rate.Usage{Day: "2026-03-01", Used: 8, UsedLow: 3, Daily: 20_000_000, PerSecond: Maple().Rate, LowPerSecond: Maple().LowRate}
	u := s.usage()
	midnight := time.Date(2026, 3, 2, 0, 0, 0, 0, Seoul)
	if !u.ResetsAt.Equal(midnight) {
		s.Fatalf("resets at %v", u.ResetsAt)
	}
	u.ResetsAt = time.Time{}
	if u != want {
		s.Fatalf("usage %+v, want %+v", u, want)
	}
	ctx, cancel := context.WithCancel(s.Context())
	cancel()
	if g, err := s.keeper().Reserve(ctx, Upstream, high, 1); !errors.Is(err, context.Canceled) || g.Calls != 0 {
		s.Fatalf("a caller that is stopped: %+v, %v", g, err)
	}
	if u := s.usage(); u.Used != 8 {
		s.Fatalf("usage %+v", u)
	}
}
