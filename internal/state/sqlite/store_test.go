package sqlite_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	documents "sluice/internal/document/sqlite"
	"sluice/internal/sqlitedb"
	"sluice/internal/state/sqlite"
	"sluice/internal/state/statetest"
)

// opened is a store with what it stands on.
type opened struct {
	*sqlite.Store
	db   *sqlitedb.DB
	docs *documents.Store
}

func open(ctx context.Context, dir string) (*opened, error) {
	db, err := sqlitedb.Open(ctx, sqlitedb.Options{Dir: dir, Holder: "a test"})
	if err != nil {
		return nil, err
	}
	docs, err := documents.New(db)
	if err != nil {
		return nil, err
	}
	store, err := sqlite.Open(ctx, db, docs, nil)
	if err != nil {
		return nil, err
	}
	return &opened{store, db, docs}, nil
}

func mustOpen(tb testing.TB, dir string) *opened {
	tb.Helper()
	o, err := open(tb.Context(), dir)
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

func instance(t *testing.T, dir string) *statetest.Instance {
	o := mustOpen(t, dir)
	return &statetest.Instance{
		Store: o.Store, Documents: o.docs,
		Reopen: func(t *testing.T) *statetest.Instance {
			if err := o.Close(); err != nil {
				t.Fatalf("close: %v", err)
			}
			return instance(t, dir)
		},
		// A process that dies leaves the files as they are: the write-ahead
		// log is not merged and the lock is not taken over.
		Crash: func(t *testing.T) *statetest.Instance { return instance(t, copyFolder(t, dir)) },
	}
}

func copyFolder(t *testing.T, dir string) string {
	t.Helper()
	to := t.TempDir()
	for _, suffix := range []string{"", "-wal"} {
		data, err := os.ReadFile(filepath.Join(dir, sqlitedb.FileName+suffix))
		if err != nil {
			t.Fatalf("copy: %v", err)
		}
		if err := os.WriteFile(filepath.Join(to, sqlitedb.FileName+suffix), data, 0o600); err != nil {
			t.Fatalf("copy: %v", err)
		}
	}
	return to
}

func TestConformance(t *testing.T) {
	statetest.Run(t, statetest.Factory{
		New: func(t *testing.T) *statetest.Instance { return instance(t, t.TempDir()) },
	})
}
