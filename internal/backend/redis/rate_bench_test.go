package redis_test

import (
	"sync"
	"sync/atomic"
	"testing"

	"sluice/internal/domain"
	"sluice/internal/quota/rate"
	"sluice/internal/quota/rate/ratetest"
	"sluice/internal/testkit"
)

func BenchmarkRateReserve(b *testing.B) {
	l := rate.Limits{
		Hard: 1_000_000_000, Rate: 500_000_000, Burst: 500_000_000, LowRate: 500_000_000, LowBurst: 500_000_000,
		Daily: 1 << 50,
	}
	for name, url := range map[string]func(testing.TB) string{"single": testkit.Redis, "cluster": testkit.RedisCluster} {
		b.Run(name, func(b *testing.B) {
			s := newRateStand(b, connectOwn(b, url(b)), l, nil, nil)
			k := s.keepers[0]
			if _, err := rate.Wait(b.Context(), k, ratetest.Upstream, domain.PriorityHigh, 1); err != nil {
				b.Fatal(err)
			}
			var next atomic.Int64
			var all sync.WaitGroup
			b.ResetTimer()
			for range 50 {
				all.Go(func() {
					for next.Add(1) <= int64(b.N) {
						if g, err := k.Reserve(b.Context(), ratetest.Upstream, domain.PriorityLow, 1); err != nil || g.Calls != 1 {
							b.Errorf("%+v, %v", g, err)
							return
						}
					}
				})
			}
			all.Wait()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "per_second")
		})
	}
}
