package sqlite_test

import (
	"testing"

	"sluice/internal/sqlitedb"
	"sluice/internal/timer/sqlite"
	"sluice/internal/timer/storetest"
)

func open(tb testing.TB, dir string) *sqlitedb.DB {
	tb.Helper()
	db, err := sqlitedb.Open(tb.Context(), sqlitedb.Options{Dir: dir, Holder: "a test"})
	if err != nil {
		tb.Fatalf("open: %v", err)
	}
	tb.Cleanup(func() {
		if err := db.Close(); err != nil {
			tb.Errorf("close: %v", err)
		}
	})
	return db
}

func instance(t *testing.T, dir string) *storetest.Instance {
	db := open(t, dir)
	return &storetest.Instance{
		Store: sqlite.New(db),
		Reopen: func(t *testing.T) *storetest.Instance {
			if err := db.Close(); err != nil {
				t.Fatalf("close: %v", err)
			}
			return instance(t, dir)
		},
	}
}

func TestConformance(t *testing.T) {
	storetest.Run(t, storetest.Factory{
		New: func(t *testing.T) *storetest.Instance { return instance(t, t.TempDir()) },
	})
}
