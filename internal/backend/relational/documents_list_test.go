package relational_test

import (
	"testing"

	"sluice/internal/backend/relational"
	"sluice/internal/document"
	"sluice/internal/document/documenttest"
)

func TestDocumentListsConformance(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, on server) {
		on.after(t)
		documenttest.RunLists(t, documenttest.ListFactory{Authors: true, Open: func(t *testing.T, kinds document.Kinds) documenttest.ListStore {
			store, err := relational.NewDocuments(t.Context(), open(t, on.fresh(t)), kinds)
			if err != nil {
				t.Fatalf("new: %v", err)
			}
			return store
		}})
	})
}
