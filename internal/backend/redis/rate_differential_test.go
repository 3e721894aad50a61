package redis_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"sluice/internal/backend/memory"
	"sluice/internal/domain"
	"sluice/internal/quota/paced"
	"sluice/internal/quota/rate"
	"sluice/internal/quota/rate/ratetest"
	"sluice/internal/testkit"
)

// rateTwins are the two keepers, asked the same things at the same time.
type rateTwins struct {
	testing.TB
	rng    *rand.Rand
	clock  *ratetest.Clock
	limits rate.Limits
	memory rate.Keeper
	redis  []rate.Keeper
	events []string
}

// TestRateSameDecisionsAsInMemory plays random asks through both keepers, several
// processes on Redis against one in memory. They decide alike to the
// microsecond: how many calls, why not more, when to come back, what is shown.
// There is no store: which of them has written the day's count down in time is
// chance.
func TestRateSameDecisionsAsInMemory(t *testing.T) {
	rng := rand.New(rand.NewPCG(testkit.Seed(t), 0))
	db := connectOwn(t, testkit.Redis(t))
	rounds := 150
	if testing.Short() {
		rounds = 10
	}
	for range rounds {
		w := &rateTwins{TB: t, rng: rng, clock: ratetest.NewClock(ratetest.Morning), limits: ratetest.RandomLimits(rng)}
		k, err := paced.New(map[string]rate.Limits{ratetest.Upstream: w.limits}, memory.NewRations(memory.RationsOptions{
			Now: w.clock.Now, Passed: w.clock.Passed,
		}), paced.Options{Now: w.clock.Now, Passed: w.clock.Passed})
		if err != nil {
			t.Fatal(err)
		}
		w.memory, w.redis = k, newRateStand(t, db, w.limits, w.clock, nil).keepers
		w.introduce()
		for range 150 {
			w.step()
		}
	}
}

// introduce lets every process ask until it is no newcomer any more.
func (w *rateTwins) introduce() {
	w.reserveOf(w.redis[0], domain.PriorityHigh, 1)
	for _, k := range w.redis[1:] {
		if g, err := k.Reserve(w.Context(), ratetest.Upstream, domain.PriorityHigh, 1); err != nil || g.Calls != 0 {
			w.fail("a newcomer: %+v, %v", g, err)
		}
	}
	for _, k := range w.redis {
		w.reserveOf(k, domain.PriorityHigh, 1)
	}
}

func (w *rateTwins) step() {
	p := []domain.Priority{domain.PriorityHigh, domain.PriorityLow}[w.rng.IntN(2)]
	switch n := w.rng.IntN(30); {
	case n < 15:
		w.reserveOf(w.one(), p, 1+w.rng.IntN(15))
	case n < 16:
		w.both("refund", func(k rate.Keeper) error { return k.Refund(w.Context(), ratetest.Upstream, p, 2) })
	case n < 17:
		until := w.clock.Now().Add(time.Duration(w.rng.IntN(2_000_000)-500_000) * time.Microsecond)
		w.both("pause", func(k rate.Keeper) error { return k.Pause(w.Context(), ratetest.Upstream, until) })
	case n < 19:
		w.compareUsage()
	case n < 20:
		d := (time.Duration(w.rng.Int64N(int64(60*time.Hour))) - 30*time.Hour).Truncate(time.Microsecond)
		w.note("the clock is set by %v", d)
		// Which dates have not ended by the time that passes each process knows for itself,
		// since it was asked on them.
		w.everybody()
		w.clock.Set(d)
		w.everybody()
	default:
		most := []time.Duration{time.Millisecond, 300 * time.Millisecond, 3 * time.Second, 9 * time.Hour}[w.rng.IntN(4)]
		d := time.Duration(w.rng.Int64N(int64(most))).Truncate(time.Microsecond)
		w.note("%v pass", d)
		w.clock.Advance(d)
	}
}

// everybody is asked what day it is.
func (w *rateTwins) everybody() {
	for _, k := range append([]rate.Keeper{w.memory}, w.redis...) {
		if _, err := k.Usage(w.Context(), ratetest.Upstream); err != nil {
			w.fail("%v", err)
		}
	}
}

func (w *rateTwins) one() rate.Keeper { return w.redis[w.rng.IntN(len(w.redis))] }

func (w *rateTwins) reserveOf(process rate.Keeper, p domain.Priority, n int) {
	m, err := w.memory.Reserve(w.Context(), ratetest.Upstream, p, n)
	if err != nil {
		w.fail("in memory: %v", err)
	}
	r, err := process.Reserve(w.Context(), ratetest.Upstream, p, n)
	if err != nil {
		w.fail("in Redis: %v", err)
	}
	w.note("%d %s: %+v", n, p, m)
	if m.Calls != r.Calls || m.Reason != r.Reason || !m.RetryAt.Equal(r.RetryAt) {
		w.fail("in memory %+v\nin Redis  %+v", m, r)
	}
}

func (w *rateTwins) both(what string, do func(rate.Keeper) error) {
	w.note("%s", what)
	if err := do(w.memory); err != nil {
		w.fail("in memory: %v", err)
	}
	if err := do(w.one()); err != nil {
		w.fail("in Redis: %v", err)
	}
}

func (w *rateTwins) compareUsage() {
	m, err := w.memory.Usage(w.Context(), ratetest.Upstream)
	if err != nil {
		w.fail("in memory: %v", err)
	}
	r, err := w.one().Usage(w.Context(), ratetest.Upstream)
	if err != nil {
		w.fail("in Redis: %v", err)
	}
	same := m.ResetsAt.Equal(r.ResetsAt) && m.PausedTill.Equal(r.PausedTill)
	m.ResetsAt, m.PausedTill, r.ResetsAt, r.PausedTill = time.Time{}, time.Time{}, time.Time{}, time.Time{}
	if !same || m != r {
		w.fail("usage in memory %+v\nin Redis %+v", m, r)
	}
}

func (w *rateTwins) note(format string, args ...any) {
	w.events = append(w.events, w.clock.Now().Format("01-02 15:04:05.000000 ")+fmt.Sprintf(format, args...))
}

func (w *rateTwins) fail(format string, args ...any) {
	w.Helper()
	for _, e := range w.events {
		w.Log(e)
	}
	w.Logf("%+v", w.limits)
	w.Fatalf(format, args...)
}
