package relational_test

import (
	"testing"

	"sluice/internal/backend/relational"
	"sluice/internal/sink/hook"
	"sluice/internal/sink/hook/hooktest"
)

func TestSinks(t *testing.T) {
	t.Parallel()
	eachServer(t, testSinks)
}

func testSinks(t *testing.T, on server) {
	hooktest.Run(t, func(t *testing.T) hook.Store {
		db, err := connect(t.Context(), on.fresh(t))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = db.Close() })
		return relational.NewSinks(db)
	})
}
