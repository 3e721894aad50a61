package redis_test

import (
	"testing"

	"sluice/internal/quota/rate"
	"sluice/internal/quota/rate/ratetest"
	"sluice/internal/testkit"
)

func TestRateConformance(t *testing.T) {
	db := connectOwn(t, testkit.Redis(t))
	ratetest.Run(t, func(t testing.TB, l rate.Limits, clock *ratetest.Clock, store *ratetest.Store) ratetest.Bench {
		return newRateStand(t, db, l, clock, store)
	})
}
