package sqlite_test

import (
	"testing"

	"sluice/internal/backend/sqlite"
	"sluice/internal/document/wordindex"
	"sluice/internal/document/wordindex/wordindextest"
)

func TestWordsConformance(t *testing.T) {
	suites.after(t)
	wordindextest.Run(t, func(t *testing.T) wordindex.Index {
		return sqlite.NewWords(openIn(t, t.TempDir()))
	})
}
