package redis_test

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"sluice/internal/backend/redis"
	"sluice/internal/quota"
	"sluice/internal/quota/quotatest"
	"sluice/internal/testkit"
)

// TestNeverTooManyThroughLosses plays random orders of reservations, arrivals,
// answers, lost answers, resets and losses of everything in Redis. Calls that
// are under way at a loss live on, arrive and are given back after it.
func TestNeverTooManyThroughLosses(t *testing.T) {
	// Everything is lost twice in one window, with calls of the window before under way.
	t.Run("twice", func(t *testing.T) { throughLosses(t, connectOwn(t, testkit.Redis(t)), 10256093023434074296) })
	for name, url := range map[string]func(testing.TB) string{"single": testkit.Redis, "cluster": testkit.RedisCluster} {
		t.Run(name, func(t *testing.T) { throughLosses(t, connectOwn(t, url(t)), testkit.Seed(t)) })
	}
}

func throughLosses(t *testing.T, db *redis.DB, seed uint64) {
	rng := rand.New(rand.NewPCG(seed, 0))
	rounds, reopened := 400, 0
	if testing.Short() {
		rounds = 25
	}
	for range rounds {
		limit, window := 1+rng.IntN(60), time.Duration(2+rng.IntN(300))*time.Second
		if rng.IntN(2) == 0 {
			// Calls outlive such a window, and the one after it.
			limit, window = 1+rng.IntN(8), time.Duration(2+rng.IntN(8))*time.Second
		}
		points, period := []int{0, 0, 5}[rng.IntN(3)], time.Duration(31+rng.IntN(60))*time.Second
		s := newBucketStand(t, db, quota.Config{
			Concurrency: 1 + rng.IntN(4),
			Buckets:     map[string]quota.Limits{"core": {Limit: limit, Window: window, PointsPerMinute: points, PointsPeriod: period}},
		})
		w := &lossy{bucketStand: s, rng: rng, up: &quotatest.Upstream{
			Limit: limit, Window: window, PointsPerPeriod: points, Period: period,
			Ahead: time.Duration(rng.Int64N(int64(4*time.Hour))).Truncate(time.Millisecond) - 2*time.Hour,
		}}
		for range 150 {
			w.step()
		}
		if w.up.TooMany > 0 || w.up.TooDense > 0 {
			t.Fatalf("%d calls too many, %d too dense; limit %d, window %v, %d points in %v", w.up.TooMany, w.up.TooDense, limit, window, points, period)
		}
		reopened += w.reopened
	}
	t.Logf("%d calls were granted in the window of a loss", reopened)
	if reopened == 0 {
		t.Fatal("no window was ever used again after a loss in it")
	}
}

// lossy is a world in which Redis forgets.
type lossy struct {
	*bucketStand
	rng     *rand.Rand
	up      *quotatest.Upstream
	flights []*flight
	lostAt  time.Time
	// reopened counts calls granted in the window of a loss.
	reopened int
}

type flight struct {
	permit quota.Permit
	at     time.Time
	landed bool
	answer quota.Response
}

func (w *lossy) step() {
	// What the keeper takes for granted: a call has reached the upstream, or
	// never will, half a minute after it was granted.
	for _, f := range slices.Clone(w.flights) {
		if w.Now().Sub(f.at) > 25*time.Second {
			w.end(f)
		}
	}
	switch n := w.rng.IntN(20); {
	case n < 8:
		if d := w.decide(quotaAsk()); d.Granted {
			w.flights = append(w.flights, &flight{permit: d.Permit, at: w.Now()})
			if i := len(w.up.Usage) - 1; i >= 0 && w.lostAt.After(w.up.Usage[i].FirstCall) && w.Now().Before(w.up.Usage[i].End) {
				w.reopened++
			}
		}
	case n < 11:
		if f := w.pick(); f != nil {
			w.land(f)
		}
	case n < 15:
		if f := w.pick(); f != nil {
			w.end(f)
		}
	case n < 16:
		w.forget()
		w.lostAt = w.Now()
	case n < 17 && len(w.up.Usage) > 0:
		offset := time.Duration(w.rng.IntN(1250)-50) * time.Millisecond
		w.advance(w.up.Reset(w.Now()).Add(offset).Sub(w.Now()))
	default:
		most := []time.Duration{time.Millisecond, time.Second, 20 * time.Second}[w.rng.IntN(3)]
		w.advance(time.Duration(w.rng.Int64N(int64(most))))
	}
}

// advance passes time; calls under way end in it as soon as they must.
func (w *lossy) advance(d time.Duration) {
	for d > 0 {
		next := min(d, 4*time.Second)
		w.Advance(next)
		d -= next
		for _, f := range slices.Clone(w.flights) {
			if w.Now().Sub(f.at) > 20*time.Second {
				w.end(f)
			}
		}
	}
}

func (w *lossy) pick() *flight {
	if len(w.flights) == 0 {
		return nil
	}
	return w.flights[w.rng.IntN(len(w.flights))]
}

func (w *lossy) land(f *flight) {
	if !f.landed {
		f.landed, f.answer = true, w.up.Count(w.Now(), f.permit.Ask)
	}
}

// end gives a permit back: with the answer, without it, or as never sent.
func (w *lossy) end(f *flight) {
	w.flights = slices.DeleteFunc(w.flights, func(g *flight) bool { return g == f })
	if !f.landed && w.rng.IntN(4) == 0 {
		if err := w.keeper.Refund(w.Context(), f.permit, quota.Response{}); err != nil {
			w.Fatalf("Refund: %v", err)
		}
		return
	}
	w.land(f)
	if w.rng.IntN(8) == 0 {
		f.answer = quota.Response{}
	}
	w.settle(f.permit, f.answer)
}
