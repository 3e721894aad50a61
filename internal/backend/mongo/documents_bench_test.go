package mongo_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"sluice/internal/document"
	"sluice/internal/testkit"
)

const (
	pageSize    = 100
	payloadSize = 2 << 10
)

// benchPage is a page of documents with payloads of 2 KB that compress as JSON
// does, to about a third.
func benchPage(n int) []document.Document {
	dice := rand.New(rand.NewPCG(uint64(n), 0))
	page := make([]document.Document, pageSize)
	for i := range page {
		page[i] = pull(fmt.Sprintf("%d-%d", n, i), 1)
		raw := []byte(`{"items":[`)
		for len(raw) < payloadSize {
			raw = fmt.Appendf(raw, `{"id":%d,"state":"closed","user":{"login":"octocat"}},`, dice.Uint32())
		}
		page[i].Raw = raw
	}
	return page
}

// BenchmarkDocumentsUpsert stores pages of new documents, and one page again and again.
func BenchmarkDocumentsUpsert(b *testing.B) {
	b.Run("new", func(b *testing.B) {
		store, stored := openDocuments(b, testkit.Mongo(b)), 0
		for b.Loop() {
			b.StopTimer()
			page := benchPage(stored)
			stored++
			b.StartTimer()
			if err := store.Upsert(b.Context(), page); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(b.N*pageSize)/b.Elapsed().Seconds(), "documents/s")
	})
	b.Run("again", func(b *testing.B) {
		store, page := openDocuments(b, testkit.Mongo(b)), benchPage(0)
		for b.Loop() {
			if err := store.Upsert(b.Context(), page); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(b.N*pageSize)/b.Elapsed().Seconds(), "documents/s")
	})
}

// BenchmarkFeed stores pages of new documents while somebody follows the feed: the
// difference to BenchmarkDocumentsUpsert/new is what telling of them costs.
func BenchmarkFeed(b *testing.B) {
	store, stored, after := openDocuments(b, testkit.Mongo(b)), 0, int64(0)
	for b.Loop() {
		b.StopTimer()
		page := benchPage(stored)
		stored++
		b.StartTimer()
		if err := store.Upsert(b.Context(), page); err != nil {
			b.Fatal(err)
		}
		changes, err := store.Changes(b.Context(), after, pageSize)
		if err != nil || len(changes) != pageSize {
			b.Fatalf("%d changes, %v", len(changes), err)
		}
		after = changes[len(changes)-1].Position
	}
	b.ReportMetric(float64(b.N*pageSize)/b.Elapsed().Seconds(), "documents/s")
}
