package mysql_test

import (
	"context"
	"os"
	"testing"

	documents "sluice/internal/document/mysql"
	"sluice/internal/mysqldb"
	"sluice/internal/state/mysql"
	"sluice/internal/state/statetest"
	"sluice/internal/testkit"
)

func TestMain(m *testing.M) { os.Exit(testkit.Main(m)) }

// opened is a store with what it stands on.
type opened struct {
	*mysql.Store
	db   *mysqldb.DB
	docs *documents.Store
}

func open(ctx context.Context, url string) (*opened, error) {
	db, err := mysqldb.Open(ctx, mysqldb.Options{URL: url})
	if err != nil {
		return nil, err
	}
	docs, err := documents.New(db)
	if err != nil {
		return nil, err
	}
	store, err := mysql.Open(ctx, db, docs, nil)
	if err != nil {
		return nil, err
	}
	return &opened{store, db, docs}, nil
}

func mustOpen(tb testing.TB, url string) *opened {
	tb.Helper()
	o, err := open(tb.Context(), url)
	if err != nil {
		tb.Fatalf("open: %v", err)
	}
	tb.Cleanup(func() {
		if err := o.Close(); err != nil {
			tb.Errorf("close: %v", err)
		}
	})
	return o
}

func instance(t *testing.T, url string) *statetest.Instance {
	o := mustOpen(t, url)
	return &statetest.Instance{
		Store: o.Store, Documents: o.docs,
		Reopen: func(t *testing.T) *statetest.Instance {
			if err := o.Close(); err != nil {
				t.Fatalf("close: %v", err)
			}
			return instance(t, url)
		},
		// A process that dies leaves to others what it has committed.
		Crash: func(t *testing.T) *statetest.Instance { return instance(t, url) },
	}
}

func TestConformance(t *testing.T) {
	statetest.Run(t, statetest.Factory{
		New: func(t *testing.T) *statetest.Instance { return instance(t, testkit.MariaDB(t)) },
	})
}
