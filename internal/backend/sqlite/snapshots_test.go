package sqlite_test

import (
	"testing"

	"sluice/internal/backend/sqlite"
	"sluice/internal/refresh/refreshtest"
)

func newSnapshots(tb testing.TB, db *sqlite.DB) *sqlite.Snapshots {
	tb.Helper()
	s, err := sqlite.NewSnapshots(db, refreshtest.Tiers())
	if err != nil {
		tb.Fatalf("new: %v", err)
	}
	return s
}

func snapshotsInstance(t *testing.T, dir string) *refreshtest.SnapshotsInstance {
	db := openIn(t, dir)
	return &refreshtest.SnapshotsInstance{
		Snapshots: newSnapshots(t, db),
		Reopen: func(t *testing.T) *refreshtest.SnapshotsInstance {
			if err := db.Close(); err != nil {
				t.Fatalf("close: %v", err)
			}
			return snapshotsInstance(t, dir)
		},
	}
}

func TestSnapshotsConformance(t *testing.T) {
	suites.after(t)
	refreshtest.RunSnapshots(t, refreshtest.SnapshotsFactory{
		New: func(t *testing.T) *refreshtest.SnapshotsInstance { return snapshotsInstance(t, t.TempDir()) },
	})
}
