package redis_test

import (
	"testing"
	"time"

	"sluice/internal/quota"
	"sluice/internal/quota/quotatest"
	"sluice/internal/testkit"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 123456000, time.UTC)

func TestConformanceByTheServersClock(t *testing.T) {
	for name, url := range map[string]func(testing.TB) string{"single": testkit.Redis, "cluster": testkit.RedisCluster} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // the cases mostly wait
			address := url(t)
			quotatest.Run(t, quotatest.Factory{
				New: func(t testing.TB, cfg quota.Config) quotatest.Bench {
					return newStand(t, connect(t, address), cfg, time.Time{})
				},
			})
		})
	}
}

func TestConformanceByAFakeClock(t *testing.T) {
	db := connect(t, testkit.Redis(t))
	quotatest.Run(t, quotatest.Factory{
		Features: quotatest.Features{FakeClock: true},
		New: func(t testing.TB, cfg quota.Config) quotatest.Bench {
			s := newStand(t, db, cfg, noon)
			s.forget()
			return s
		},
	})
}
