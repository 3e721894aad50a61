package relational_test

import (
	"testing"

	"sluice/internal/backend/relational"
	"sluice/internal/document/wordindex"
	"sluice/internal/document/wordindex/wordindextest"
)

func TestWordsConformance(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, on server) {
		on.after(t)
		wordindextest.Run(t, func(t *testing.T) wordindex.Index { return relational.NewWords(open(t, on.fresh(t))) })
	})
}
