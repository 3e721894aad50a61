package relational_test

import (
	"testing"

	"sluice/internal/backend/relational"
	"sluice/internal/quota/rate"
	"sluice/internal/quota/rate/ratetest"
)

func TestRateDays(t *testing.T) {
	t.Parallel()
	eachServer(t, testRateDays)
}

func testRateDays(t *testing.T, on server) {
	ratetest.RunStore(t, func(t *testing.T) rate.Store {
		db, err := connect(t.Context(), on.fresh(t))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = db.Close() })
		return relational.NewRateDays(db)
	})
}
