package quota_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"sluice/internal/quota"
	"sluice/internal/testkit"
)

// TestPointsNeverExceedAnySlidingPeriod settles calls at random and lets the
// upstream have counted each at the worst moments: its grant or its answer.
func TestPointsNeverExceedAnySlidingPeriod(t *testing.T) {
	const limit, period = 20, time.Minute
	rng := rand.New(rand.NewPCG(testkit.Seed(t), 0))
	p := quota.NewPoints(quota.Limits{PointsPerMinute: limit, PointsPeriod: period})
	now := noon
	var inflight, counted []time.Time
	for range 20_000 {
		switch {
		case rng.IntN(2) == 0:
			if retryAt, ok := p.Take(now, 1); ok {
				inflight = append(inflight, now)
			} else if !retryAt.After(now) {
				t.Fatalf("RetryAt %v is not after %v", retryAt, now)
			} else if len(inflight) == 0 && rng.IntN(4) == 0 {
				now = retryAt
				if _, ok := p.Take(now, 1); !ok {
					t.Fatal("refused at RetryAt with nothing in flight")
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
			p.Spend(now, 1)
		}
		now = now.Add(time.Duration(rng.Int64N(int64(2 * time.Second))))
	}
	checkSliding(t, counted, limit, period)
}

func checkSliding(t *testing.T, counted []time.Time, limit int, period time.Duration) {
	t.Helper()
	if len(counted) < 100 {
		t.Fatalf("only %d calls were made", len(counted))
	}
	for _, from := range counted {
		n := 0
		for _, at := range counted {
			if !at.Before(from) && at.Before(from.Add(period)) {
				n++
			}
		}
		if n > limit {
			t.Fatalf("%d points within a period from %v", n, from)
		}
	}
}

func TestPointsReleaseCostsNothing(t *testing.T) {
	p := quota.NewPoints(quota.Limits{PointsPerMinute: 2})
	for range 10 {
		if _, ok := p.Take(noon, 2); !ok {
			t.Fatal("released points were kept")
		}
		p.Release(2)
	}
	if !p.Idle(noon) {
		t.Fatal("something is still held")
	}
}

func TestPointsWithoutLimit(t *testing.T) {
	p := quota.NewPoints(quota.Limits{})
	for range 10 {
		if _, ok := p.Take(noon, 1000); !ok {
			t.Fatal("refused without a limit")
		}
		p.Spend(noon, 1000)
	}
}
