package relational_test

import (
	"testing"

	"sluice/internal/backend/relational"
	"sluice/internal/ration/keeper"
	"sluice/internal/ration/rationtest"
)

func TestRations(t *testing.T) {
	t.Parallel()
	eachServer(t, testRations)
}

func testRations(t *testing.T, on server) {
	rationtest.RunStore(t, func(t *testing.T) keeper.Store {
		db, err := connect(t.Context(), on.fresh(t))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = db.Close() })
		return relational.NewRations(db)
	})
}
