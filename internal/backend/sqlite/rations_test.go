package sqlite_test

import (
	"testing"
	"time"

	driver "zombiezen.com/go/sqlite"

	"sluice/internal/backend/sqlite"
	"sluice/internal/quota/bucketed"
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

// TestWaitsForItsQuota: the view of jobs knows of rations.
func TestWaitsForItsQuota(t *testing.T) {
	t.Parallel()
	db := openIn(t, t.TempDir())
	jobs, err := sqlite.NewState(t.Context(), db, nil, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	rationtest.RunWaits(t, jobs, sqlite.NewRations(db), bucketed.Group, func(query string) (text string) {
		t.Helper()
		err := db.Read(t.Context(), func(c *driver.Conn) error {
			return sqlite.Exec(c, query, func(s *driver.Stmt) { text = s.ColumnText(0) })
		})
		if err != nil {
			t.Fatal(err)
		}
		return text
	})
}
