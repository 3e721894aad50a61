package sqlite_test

import (
	"os"
	"path/filepath"
	"testing"

	"sluice/internal/backend/sqlite"
	"sluice/internal/document/documenttest"
	"sluice/internal/state/statetest"
)

// openedState is a store with what it stands on.
type openedState struct {
	*sqlite.State
	db   *sqlite.DB
	docs *sqlite.Documents
}

func openState(tb testing.TB, dir string) *openedState {
	tb.Helper()
	db := openIn(tb, dir)
	docs, err := sqlite.NewDocuments(tb.Context(), db, documenttest.Kinds())
	if err != nil {
		tb.Fatalf("open documents: %v", err)
	}
	store, err := sqlite.NewState(tb.Context(), db, docs, nil)
	if err != nil {
		tb.Fatalf("open state: %v", err)
	}
	return &openedState{store, db, docs}
}

func stateInstance(t *testing.T, dir string) *statetest.Instance {
	o := openState(t, dir)
	return &statetest.Instance{
		Store: o.State, Documents: o.docs,
		Reopen: func(t *testing.T) *statetest.Instance {
			if err := o.Close(); err != nil {
				t.Fatalf("close: %v", err)
			}
			return stateInstance(t, dir)
		},
		// A process that dies leaves the files as they are: the write-ahead
		// log is not merged and the lock is not taken over.
		Crash: func(t *testing.T) *statetest.Instance { return stateInstance(t, copyFolder(t, dir)) },
	}
}

func copyFolder(t *testing.T, dir string) string {
	t.Helper()
	to := t.TempDir()
	for _, suffix := range []string{"", "-wal"} {
		data, err := os.ReadFile(filepath.Join(dir, sqlite.FileName+suffix))
		if err != nil {
			t.Fatalf("copy: %v", err)
		}
		if err := os.WriteFile(filepath.Join(to, sqlite.FileName+suffix), data, 0o600); err != nil {
			t.Fatalf("copy: %v", err)
		}
	}
	return to
}

func TestStateConformance(t *testing.T) {
	suites.after(t)
	statetest.Run(t, statetest.Factory{
		New: func(t *testing.T) *statetest.Instance { return stateInstance(t, t.TempDir()) },
	})
}
