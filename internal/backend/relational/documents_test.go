package relational_test

import (
	"testing"

	"sluice/internal/backend/relational"
	"sluice/internal/document"
	"sluice/internal/document/documenttest"
)

func openDocuments(t *testing.T, on server) (*relational.Documents, *relational.DB) {
	t.Helper()
	db := open(t, on.fresh(t))
	store, err := relational.NewDocuments(t.Context(), db, documenttest.Kinds())
	if err != nil {
		t.Fatalf("new: %v", err)
	}
	return store, db
}

func TestDocumentsConformance(t *testing.T) {
	t.Parallel()
	eachServer(t, testDocumentsConformance)
}

func testDocumentsConformance(t *testing.T, on server) {
	on.after(t)
	documenttest.Run(t, processes(on))
}

func TestFeedConformance(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, on server) {
		on.after(t)
		documenttest.RunFeed(t, processes(on))
	})
}

// processes opens stores as processes of their own do.
func processes(on server) documenttest.Factory {
	return documenttest.Factory{Open: func(t *testing.T) func(document.Kinds) (document.Store, error) {
		url := on.fresh(t)
		return func(kinds document.Kinds) (document.Store, error) {
			db, err := connect(t.Context(), url)
			if err != nil {
				return nil, err
			}
			t.Cleanup(func() { _ = db.Close() }) // it may be called from any goroutine
			return relational.NewDocuments(t.Context(), db, kinds)
		}
	}}
}

func TestFillingsConformance(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, on server) {
		on.after(t)
		documenttest.RunFillings(t, relational.NewFillings(open(t, on.fresh(t))))
	})
}
