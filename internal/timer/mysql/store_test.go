package mysql_test

import (
	"os"
	"testing"

	"sluice/internal/mysqldb"
	"sluice/internal/testkit"
	"sluice/internal/timer/mysql"
	"sluice/internal/timer/storetest"
)

func TestMain(m *testing.M) { os.Exit(testkit.Main(m)) }

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

func instance(t *testing.T, url string) *storetest.Instance {
	db := open(t, url)
	return &storetest.Instance{
		Store: mysql.New(db),
		Reopen: func(t *testing.T) *storetest.Instance {
			if err := db.Close(); err != nil {
				t.Fatalf("close: %v", err)
			}
			return instance(t, url)
		},
	}
}

func TestConformance(t *testing.T) {
	storetest.Run(t, storetest.Factory{
		New: func(t *testing.T) *storetest.Instance { return instance(t, testkit.MariaDB(t)) },
	})
}
