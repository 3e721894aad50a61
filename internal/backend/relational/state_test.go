package relational_test

import (
	"context"
	"testing"

	"sluice/internal/backend/relational"
	"sluice/internal/document/documenttest"
	"sluice/internal/state/statetest"
)

// opened is a store with what it stands on.
type opened struct {
	*relational.State
	db   *relational.DB
	docs *relational.Documents
}

func openState(ctx context.Context, url string) (*opened, error) {
	db, err := connect(ctx, url)
	if err != nil {
		return nil, err
	}
	docs, err := relational.NewDocuments(ctx, db, documenttest.Kinds())
	if err != nil {
		return nil, err
	}
	return &opened{relational.NewState(db, docs, nil), db, docs}, nil
}

func mustOpenState(tb testing.TB, url string) *opened {
	tb.Helper()
	o, err := openState(tb.Context(), url)
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

func stateInstance(t *testing.T, url string) *statetest.Instance {
	o := mustOpenState(t, url)
	return &statetest.Instance{
		Store: o.State, Documents: o.docs,
		Reopen: func(t *testing.T) *statetest.Instance {
			if err := o.Close(); err != nil {
				t.Fatalf("close: %v", err)
			}
			return stateInstance(t, url)
		},
		// A process that dies leaves to others what it has committed.
		Crash: func(t *testing.T) *statetest.Instance { return stateInstance(t, url) },
	}
}

func TestStateConformance(t *testing.T) {
	t.Parallel()
	eachServer(t, testStateConformance)
}

func testStateConformance(t *testing.T, on server) {
	on.after(t)
	statetest.Run(t, statetest.Factory{
		New: func(t *testing.T) *statetest.Instance { return stateInstance(t, on.fresh(t)) },
	})
}
