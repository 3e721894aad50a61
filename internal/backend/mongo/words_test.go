package mongo_test

import (
	"testing"

	"sluice/internal/backend/mongo"
	"sluice/internal/document/wordindex"
	"sluice/internal/document/wordindex/wordindextest"
	"sluice/internal/testkit"
)

func TestWordsConformance(t *testing.T) {
	wordindextest.Run(t, func(t *testing.T) wordindex.Index {
		index, err := mongo.NewWords(t.Context(), open(t, testkit.Mongo(t)))
		if err != nil {
			t.Fatal(err)
		}
		return index
	})
}
