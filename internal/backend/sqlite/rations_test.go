package sqlite_test

import (
	"testing"
	"time"

	driver "zombiezen.com/go/sqlite"

	"sluice/internal/backend/sqlite"
	"sluice/internal/ration/keeper"
	"sluice/internal/ration/rationtest"
)

func TestRations(t *testing.T) {
	suites.after(t)
	rationtest.RunStore(t, func(t *testing.T) keeper.Store {
		return sqlite.NewRations(openIn(t, t.TempDir()))
	})
}

func TestRationsAreMoved(t *testing.T) {
	// It is not recorded: a migration may read a table through.
	db, err := sqlite.Open(t.Context(), sqlite.Options{Dir: t.TempDir(), Holder: "a test"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	exec := func(statement string) error {
		return db.Write(t.Context(), func(c *driver.Conn) error { return sqlite.Exec(c, statement, nil) })
	}
	windows, err := sqlite.NewState(t.Context(), db, nil, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	rationtest.RunMoved(t, "schema", exec, windows, sqlite.NewRations(db))
}
