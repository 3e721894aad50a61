package documenttest

import (
	"testing"

	"sluice/internal/document"
)

func TestMemoryListsConformance(t *testing.T) {
	RunLists(t, ListFactory{Open: func(_ *testing.T, kinds document.Kinds) ListStore { return NewMemory(kinds) }})
}
