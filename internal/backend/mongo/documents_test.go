package mongo_test

import (
	"testing"

	"sluice/internal/backend/mongo"
	"sluice/internal/document"
	"sluice/internal/document/documenttest"
	"sluice/internal/testkit"
)

func openDocuments(tb testing.TB, url string) *mongo.Documents {
	tb.Helper()
	return documentsOf(tb, open(tb, url))
}

func documentsOf(tb testing.TB, db *mongo.DB) *mongo.Documents {
	tb.Helper()
	store, err := mongo.NewDocuments(tb.Context(), db, documenttest.Kinds())
	if err != nil {
		tb.Fatalf("open: %v", err)
	}
	return store
}

func TestDocumentsConformance(t *testing.T) {
	documenttest.Run(t, documenttest.Factory{Open: func(t *testing.T) func(document.Kinds) (document.Store, error) {
		url := testkit.Mongo(t)
		return func(kinds document.Kinds) (document.Store, error) {
			return mongo.NewDocuments(t.Context(), open(t, url), kinds)
		}
	}})
}

func TestDocumentFeedConformance(t *testing.T) {
	documenttest.RunFeed(t, documenttest.Factory{Gathers: true, Few: !testkit.HasMongod(), Open: func(t *testing.T) func(document.Kinds) (document.Store, error) {
		url := testkit.Mongo(t)
		return func(kinds document.Kinds) (document.Store, error) {
			return mongo.NewDocuments(t.Context(), open(t, url), kinds)
		}
	}})
}

func TestDocumentListsConformance(t *testing.T) {
	documenttest.RunLists(t, documenttest.ListFactory{Few: true, Open: func(t *testing.T, kinds document.Kinds) documenttest.ListStore {
		store, err := mongo.NewDocuments(t.Context(), open(t, testkit.Mongo(t)), kinds)
		if err != nil {
			t.Fatalf("open: %v", err)
		}
		return store
	}})
}
