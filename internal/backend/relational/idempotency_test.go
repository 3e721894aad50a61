package relational_test

import (
	"testing"

	"sluice/internal/backend/relational"
	"sluice/internal/idempotency"
	"sluice/internal/idempotency/idempotencytest"
)

func TestIdempotency(t *testing.T) {
	t.Parallel()
	eachServer(t, testIdempotency)
}

func testIdempotency(t *testing.T, on server) {
	idempotencytest.Run(t, func(t *testing.T) idempotency.Store {
		db, err := connect(t.Context(), on.fresh(t))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = db.Close() })
		return relational.NewIdempotency(db)
	})
}
