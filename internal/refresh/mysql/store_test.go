package mysql_test

import (
	"testing"

	"sluice/internal/mysqldb"
	"sluice/internal/refresh"
	"sluice/internal/refresh/mysql"
	"sluice/internal/refresh/snapshottest"
	"sluice/internal/testkit"
)

func open(tb testing.TB, url string) *mysqldb.DB {
	tb.Helper()
	db, err := mysqldb.Open(tb.Context(), mysqldb.Options{URL: url})
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

func newStore(tb testing.TB, db *mysqldb.DB) *mysql.Store {
	tb.Helper()
	s, err := mysql.New(db, refresh.TierOptions{})
	if err != nil {
		tb.Fatalf("new: %v", err)
	}
	return s
}

func instance(t *testing.T, url string) *snapshottest.Instance {
	db := open(t, url)
	return &snapshottest.Instance{
		Snapshots: newStore(t, db),
		Reopen: func(t *testing.T) *snapshottest.Instance {
			if err := db.Close(); err != nil {
				t.Fatalf("close: %v", err)
			}
			return instance(t, url)
		},
	}
}

func TestConformance(t *testing.T) {
	snapshottest.Run(t, snapshottest.Factory{
		New: func(t *testing.T) *snapshottest.Instance { return instance(t, testkit.MariaDB(t)) },
	})
}
