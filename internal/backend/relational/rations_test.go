package relational_test

import (
	"testing"
	"time"

	"sluice/internal/backend/relational"
	"sluice/internal/ration/keeper"
	"sluice/internal/ration/rationtest"
)

func TestRations(t *testing.T) {
	t.Parallel()
	eachServer(t, testRations)
}

func testRations(t *testing.T, on server) {
	on.after(t)
	rationtest.RunStore(t, func(t *testing.T) keeper.Store {
		db, err := connect(t.Context(), on.fresh(t))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = db.Close() })
		return relational.NewRations(db)
	})
}

func TestRationsAreMoved(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, on server) {
		// It is not recorded: a migration may read a table through.
		// What a migration has set is known to one connection.
		db, err := on.open(t.Context(), on.bare(t), 1)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = db.Close() })
		exec := func(statement string) error {
			_, err := db.Exec(t.Context(), statement)
			return err
		}
		rationtest.RunMoved(t, "../"+on.name+"/schema", exec, relational.NewState(db, nil, time.Now), relational.NewRations(db))
	})
}
