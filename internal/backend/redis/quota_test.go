package redis_test

import (
	"testing"
	"time"

	"sluice/internal/backoff"
	"sluice/internal/quota"
	"sluice/internal/quota/quotatest"
	"sluice/internal/testkit"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 123456000, time.UTC)

func TestQuotaConformance(t *testing.T) {
	for name, url := range map[string]func(testing.TB) string{"single": testkit.Redis, "cluster": testkit.RedisCluster} {
		t.Run(name, func(t *testing.T) {
			db := connectOwn(t, url(t))
			quotatest.Run(t, quotatest.Factory{
				Features: quotatest.Features{FakeClock: true, CasesAlone: name == "cluster"},
				New: func(t testing.TB, cfg quota.Config) quotatest.Bench {
					s := newQuotaStand(t, db, cfg, noon)
					s.forget()
					return s
				},
			})
		})
	}
}

// TestQuotaByTheServersClock: without a clock of a test Redis decides, and a ration
// comes back when its period has passed, not before.
func TestQuotaByTheServersClock(t *testing.T) {
	const period = 300 * time.Millisecond
	core := quota.Limits{Limit: 100, Window: time.Hour, PointsPerMinute: 2, PointsPeriod: period}
	s := newQuotaStand(t, connectOwn(t, testkit.Redis(t)), quota.Config{Buckets: map[string]quota.Limits{"core": core}}, time.Time{})
	granted := s.Now()
	for _, p := range s.grant(2) {
		s.settle(p, quota.Response{})
	}
	refused := 0
	for d := s.decide(quotaAsk()); !d.Granted; d = s.decide(quotaAsk()) {
		refused++
		backoff.Sleep(t.Context(), time.Until(d.RetryAt))
	}
	if passed := s.Now().Sub(granted); passed < period {
		t.Errorf("a third call was granted %v after the first two, refused %d times", passed, refused)
	}
}
