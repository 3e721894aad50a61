package relational_test

import (
	"testing"

	"sluice/internal/backend/relational"
	"sluice/internal/refresh/refreshtest"
)

func newSnapshots(tb testing.TB, db *relational.DB) *relational.Snapshots {
	tb.Helper()
	s, err := relational.NewSnapshots(db, refreshtest.Tiers())
	if err != nil {
		tb.Fatalf("new: %v", err)
	}
	return s
}

func snapshotsInstance(t *testing.T, url string) *refreshtest.SnapshotsInstance {
	db := open(t, url)
	return &refreshtest.SnapshotsInstance{
		Snapshots: newSnapshots(t, db),
		Reopen: func(t *testing.T) *refreshtest.SnapshotsInstance {
			if err := db.Close(); err != nil {
				t.Fatalf("close: %v", err)
			}
			return snapshotsInstance(t, url)
		},
	}
}

func TestSnapshotsConformance(t *testing.T) {
	t.Parallel()
	eachServer(t, testSnapshotsConformance)
}

func testSnapshotsConformance(t *testing.T, on server) {
	on.after(t)
	refreshtest.RunSnapshots(t, refreshtest.SnapshotsFactory{
		New: func(t *testing.T) *refreshtest.SnapshotsInstance { return snapshotsInstance(t, on.fresh(t)) },
	})
}
