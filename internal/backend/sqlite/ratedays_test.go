package sqlite_test

import (
	"testing"

	"sluice/internal/backend/sqlite"
	"sluice/internal/quota/rate"
	"sluice/internal/quota/rate/ratetest"
)

func TestRateDays(t *testing.T) {
	ratetest.RunStore(t, func(t *testing.T) rate.Store {
		return sqlite.NewRateDays(openIn(t, t.TempDir()))
	})
}
