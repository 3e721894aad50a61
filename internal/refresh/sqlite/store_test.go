package sqlite_test

import (
	"testing"

	"sluice/internal/refresh"
	"sluice/internal/refresh/snapshottest"
	"sluice/internal/refresh/sqlite"
	"sluice/internal/sqlitedb"
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

func newStore(tb testing.TB, db *sqlitedb.DB) *sqlite.Store {
	tb.Helper()
	s, err := sqlite.New(db, refresh.TierOptions{})
	if err != nil {
		tb.Fatalf("new: %v", err)
	}
	return s
}

func instance(t *testing.T, dir string) *snapshottest.Instance {
	db := open(t, dir)
	return &snapshottest.Instance{
		Snapshots: newStore(t, db),
		Reopen: func(t *testing.T) *snapshottest.Instance {
			if err := db.Close(); err != nil {
				t.Fatalf("close: %v", err)
			}
			return instance(t, dir)
		},
	}
}

func TestConformance(t *testing.T) {
	snapshottest.Run(t, snapshottest.Factory{
		New: func(t *testing.T) *snapshottest.Instance { return instance(t, t.TempDir()) },
	})
}
