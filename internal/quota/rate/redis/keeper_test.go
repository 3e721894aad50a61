package redis_test

import (
	"testing"

	"sluice/internal/quota/rate"
	"sluice/internal/quota/rate/ratetest"
	"sluice/internal/testkit"
)

func TestConformance(t *testing.T) {
	db := connect(t, testkit.Redis(t))
	ratetest.Run(t, func(t testing.TB, l rate.Limits, clock *ratetest.Clock, store *ratetest.Store) ratetest.Bench {
		return newStand(t, db, l, clock, store)
	})
}
