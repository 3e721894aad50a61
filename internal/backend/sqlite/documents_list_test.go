package sqlite_test

import (
	"testing"

	"sluice/internal/document"
	"sluice/internal/document/documenttest"
)

func TestDocumentListsConformance(t *testing.T) {
	suites.after(t)
	documenttest.RunLists(t, documenttest.ListFactory{Open: func(t *testing.T, kinds document.Kinds) documenttest.ListStore {
		return openKinds(t, openIn(t, t.TempDir()), kinds)
	}})
}
