package ratetest

import (
	"testing"
	"time"

	"sluice/internal/domain"
	"sluice/internal/quota/rate"
)

// Upstream is the one that benches know.
const Upstream = "maple"

// Seoul is where MapleStory counts its days.
var Seoul = time.FixedZone("KST", 9*60*60)

// Morning is when most cases begin: far from midnight in Seoul.
var Morning = time.Date(2026, 3, 1, 1, 0, 0, 123456000, time.UTC)

const (
	high = domain.PriorityHigh
	low  = domain.PriorityLow
)

// Maple is what the limits of MapleStory are like.
func Maple() rate.Limits {
	return rate.Limits{
		Hard: 500, Rate: 450, Burst: 25, LowRate: 350, LowBurst: 25, Reserve: 10,
		Daily: 20_000_000, DailyReserve: 2_000_000, Zone: Seoul,
	}
}

// Run runs every case against the adapter.
func Run(t *testing.T, f Factory) {
	for name, run := range map[string]func(*suite){
		"the burst and then the rate":            burstThenRate,
		"only LOW gets its share":                onlyLow,
		"a refused LOW takes nothing":            refusedLowTakesNothing,
		"HIGH goes before LOW":                   highBeforeLow,
		"HIGH finds its reserve":                 highFindsReserve,
		"fewer than asked for":                   fewerThanAsked,
		"the day ends at midnight of its zone":   dayEnds,
		"LOW leaves the day's reserve":           dayReserve,
		"no limit of the day":                    noDailyLimit,
		"the day is set forward and back":        dayForwardAndBack,
		"nothing for a second after a loss":      lossHolds,
		"a loss takes what was written for used": lossKeepsDay,
		"a restart keeps the day":                restartKeepsDay,
		"a store that fails":                     storeFails,
		"the store is written seldom":            storeSeldom,
		"a pause":                                pauses,
		"calls given back":                       refunds,
		"waiters come one after the other":       noHerd,
		"a clock that is set":                    clockSet,
		"a greedy caller and steps of the clock": greedyUnderSteps,
		"asks that are wrong":                    wrongAsks,
		"usage":                                  usage,
	} {
		t.Run(name, func(t *testing.T) { run(&suite{T: t, factory: f}) })
	}
	t.Run("property: never a call too many", func(t *testing.T) { neverTooMany(t, f) })
	t.Run("property: HIGH never waits for LOW", func(t *testing.T) { highNeverWaits(t, f) })
}

// suite is one case under way.
type suite struct {
	*testing.T
	Bench
	factory Factory
	clock   *Clock
	store   *Store
	seconds Seconds
}

// start makes the bench, a second and more ago: nothing is granted in the first.
func (s *suite) start(l rate.Limits) { s.startAt(l, Morning) }

func (s *suite) startAt(l rate.Limits, at time.Time) {
	s.Helper()
	s.clock, s.store = NewClock(at), &Store{}
	s.Bench = s.factory(s, l, s.clock, s.store)
	for _, k := range s.Keepers() {
		if g, err := k.Reserve(s.Context(), Upstream, high, 1); err != nil || g.Calls != 0 {
			s.Fatalf("granted in the first second: %+v, %v", g, err)
		}
	}
	s.clock.Advance(time.Second)
}

func (s *suite) keeper() rate.Keeper { return s.Keepers()[0] }

func (s *suite) ask(p domain.Priority, n int) rate.Grant {
	s.Helper()
	g, err := s.keeper().Reserve(s.Context(), Upstream, p, n)
	if err != nil {
		s.Fatalf("Reserve: %v", err)
	}
	s.check(g, n)
	return g
}

// check is what holds for every grant.
func (s *suite) check(g rate.Grant, n int) {
	s.Helper()
	if g.Calls < 0 || g.Calls > n || (g.Calls == n) != (g.Reason == "") || g.RetryAt.IsZero() != (g.Reason == "") {
		s.Fatalf("asked for %d: %+v", n, g)
	}
	if g.Reason != "" && !g.RetryAt.After(s.clock.Now()) {
		s.Fatalf("to come back at %v, and it is %v", g.RetryAt, s.clock.Now())
	}
	s.seconds.Add(s.clock.Passed(), g.Calls)
}

func (s *suite) want(p domain.Priority, n, calls int, why rate.Reason) rate.Grant {
	s.Helper()
	g := s.ask(p, n)
	if g.Calls != calls || g.Reason != why {
		s.Fatalf("%s asks for %d: %+v, want %d calls and reason %q", p, n, g, calls, why)
	}
	return g
}

// until lets time pass until the wall clock shows this.
func (s *suite) until(at time.Time) {
	if d := at.Sub(s.clock.Now()); d > 0 {
		s.clock.Advance(d)
	}
}

func (s *suite) usage() rate.Usage {
	s.Helper()
	u, err := s.keeper().Usage(s.Context(), Upstream)
	if err != nil {
		s.Fatalf("Usage: %v", err)
	}
	return u
}
