package memory_test

import (
	"testing"

	"sluice/internal/backend/memory"
	"sluice/internal/domain"
	"sluice/internal/quota/paced"
	"sluice/internal/quota/rate"
)

func BenchmarkRateReserve(b *testing.B) {
	l := rate.Limits{
		Hard: 1_000_000_000, Rate: 500_000_000, Burst: 500_000_000, LowRate: 500_000_000, LowBurst: 500_000_000,
		Daily: 1 << 50,
	}
	for _, p := range []domain.Priority{domain.PriorityHigh, domain.PriorityLow} {
		b.Run(p.String(), func(b *testing.B) {
			k, err := paced.New(map[string]rate.Limits{"maple": l}, memory.NewRations(memory.RationsOptions{}), paced.Options{})
			if err != nil {
				b.Fatal(err)
			}
			if _, err := rate.Wait(b.Context(), k, "maple", p, 1); err != nil {
				b.Fatal(err)
			}
			b.ResetTimer()
			b.RunParallel(func(each *testing.PB) {
				for each.Next() {
					if g, err := k.Reserve(b.Context(), "maple", p, 1); err != nil || g.Calls != 1 {
						b.Errorf("%+v, %v", g, err)
						return
					}
				}
			})
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "per_second")
		})
	}
}
