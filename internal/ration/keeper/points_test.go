package keeper_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"sluice/internal/ration"
	"sluice/internal/ration/keeper"
	"sluice/internal/testkit"
)

// points is what an endpoint gets a minute.
type points struct {
	*keeper.Count
	terms keeper.Terms
	id    uint64
}

func newPoints(limit int, period time.Duration) *points {
	t := keeper.TermsOf(&keeper.Draw{Ration: &ration.Ration{
		Name: "points", Unit: ration.UnitPoints, Shape: ration.Sliding, Calls: limit, Every: ration.Period{Length: period}, Patient: true, Ahead: 1,
	}})
	return &points{Count: keeper.NewCount(&t, 0, 0), terms: t}
}

// take grants a call, or says after how long to ask again.
func (p *points) take(now time.Duration, n int64) (wait time.Duration, ok bool) {
	p.Advance(&p.terms, now.Microseconds(), 0)
	if wait, why := p.Check(&p.terms, now.Microseconds(), n, false); why != "" {
		return time.Duration(wait) * time.Microsecond, false
	}
	p.id++
	p.Take(p.id, n)
	return 0, true
}

func (p *points) end(now time.Duration, n int64, free bool) {
	p.Advance(&p.terms, now.Microseconds(), 0)
	p.Settle(&p.terms, now.Microseconds(), 0, p.id, n, &keeper.Answer{Free: free})
}

// TestPointsNeverExceedAnySlidingPeriod settles calls at random and lets the
// upstream have counted each at the worst moments: its grant or its answer.
func TestPointsNeverExceedAnySlidingPeriod(t *testing.T) {
	const limit, period = 20, time.Minute
	rng := rand.New(rand.NewPCG(testkit.Seed(t), 0))
	p := newPoints(limit, period)
	now := time.Hour
	var inflight, counted []time.Duration
	for range 20_000 {
		switch {
		case rng.IntN(2) == 0:
			if wait, ok := p.take(now, 1); ok {
				inflight = append(inflight, now)
			} else if wait <= 0 {
				t.Fatalf("to be asked again in %v", wait)
			} else if len(inflight) == 0 && rng.IntN(4) == 0 {
				now += wait
				if _, ok := p.take(now, 1); !ok {
					t.Fatal("refused when it was to be asked again with nothing in flight")
				}
				inflight = append(inflight, now)
			}
		case len(inflight) > 0:
			i := rng.IntN(len(inflight))
			at := now
			if rng.IntN(2) == 0 {
				at = inflight[i]
			}
			counted = append(counted, at)
			inflight = append(inflight[:i], inflight[i+1:]...)
			p.end(now, 1, false)
		}
		now += time.Duration(rng.Int64N(int64(2*time.Second/time.Microsecond))) * time.Microsecond
	}
	checkSliding(t, counted, limit, period)
}

func checkSliding(t *testing.T, counted []time.Duration, limit int, period time.Duration) {
	t.Helper()
	if len(counted) < 100 {
		t.Fatalf("only %d calls were made", len(counted))
	}
	for _, from := range counted {
		n := 0
		for _, at := range counted {
			if at >= from && at < from+period {
				n++
			}
		}
		if n > limit {
			t.Fatalf("%d points within a period from %v", n, from)
		}
	}
}

func TestPointsReleaseCostsNothing(t *testing.T) {
	p := newPoints(2, time.Minute)
	for range 10 {
		if _, ok := p.take(time.Hour, 2); !ok {
			t.Fatal("released points were kept")
		}
		p.end(time.Hour, 2, true)
	}
	if !p.Idle(&p.terms, time.Hour.Microseconds()) {
		t.Fatal("something is still held")
	}
}
