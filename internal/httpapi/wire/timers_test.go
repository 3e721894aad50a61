package wire_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"sluice/internal/httpapi/wire"
	"sluice/internal/timer"
)

// TestSharesAreNearTheTruth compares what is estimated with what was measured.
func TestSharesAreNearTheTruth(t *testing.T) {
	dice := rand.New(rand.NewPCG(7, 11)) //nolint:gosec // a test needs no secret
	for name, draw := range map[string]func() time.Duration{
		"all the same":       func() time.Duration { return 1489 * time.Millisecond },
		"around a second":    func() time.Duration { return time.Duration((1 + dice.Float64()) * float64(time.Second)) },
		"a few milliseconds": func() time.Duration { return time.Duration(dice.ExpFloat64() * float64(3*time.Millisecond)) },
		"some very late": func() time.Duration {
			if dice.IntN(20) == 0 {
				return time.Duration(dice.Float64() * float64(3*time.Hour))
			}
			return time.Duration(dice.Float64() * float64(2*time.Millisecond))
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := timer.Stats{Buckets: make([]int64, len(timer.LatenessBounds)+1)}
			all := make([]time.Duration, 10_000)
			for i := range all {
				late := draw().Truncate(time.Microsecond)
				all[i] = late
				bucket, _ := slices.BinarySearch(timer.LatenessBounds, late)
				s.Buckets[bucket]++
				s.Completed++
				s.Max = max(s.Max, late)
			}
			slices.Sort(all)
			got := wire.CompletionStatsOf(s).Lateness
			for what, pair := range map[string][2]float64{"p50": {got.P50, ms(all[4999])}, "p99": {got.P99, ms(all[9899])}} {
				if said, real := pair[0], pair[1]; math.Abs(said-real) > 0.1*real+0.05 {
					t.Errorf("%s: %g ms said, %g real", what, said, real)
				}
			}
		})
	}
	if got := wire.CompletionStatsOf(timer.Stats{Buckets: make([]int64, len(timer.LatenessBounds)+1)}).Lateness; got != (wire.Lateness{}) {
		t.Errorf("of nothing: %+v", got)
	}
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
