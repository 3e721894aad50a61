package sqlite_test

import (
	"log/slog"
	"testing"
	"time"

	"sluice/internal/backend/sqlite"
	"sluice/internal/document"
	"sluice/internal/document/documenttest"
	"sluice/internal/document/wordindex"
	"sluice/internal/document/wordindex/wordindextest"
)

func TestWordsConformance(t *testing.T) {
	suites.after(t)
	wordindextest.Run(t, func(t *testing.T) wordindex.Index { return sqlite.NewWords(openIn(t, t.TempDir())) })
}

// TestWordsFollowTheFeed has documents, their feed and the index in one database, as a
// service has them.
func TestWordsFollowTheFeed(t *testing.T) {
	db := openIn(t, t.TempDir())
	docs, err := sqlite.NewDocuments(t.Context(), db, wordindextest.Kinds())
	if err != nil {
		t.Fatal(err)
	}
	index := sqlite.NewWords(db)
	follower := wordindex.Follower{Index: index, Feed: docs, Documents: docs, Kinds: wordindextest.Kinds(), Log: slog.New(slog.DiscardHandler)}
	searcher := wordindex.Searcher{Index: index, Feed: docs, Documents: docs, Kinds: wordindextest.Kinds()}
	finds := func(query string, want int) {
		t.Helper()
		for idle := false; !idle; {
			if idle, err = follower.Step(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		a, err := searcher.Search(t.Context(), wordindex.Request{Query: query, Limit: 10})
		if err != nil || len(a.Results) != want || a.Behind != (wordindex.Behind{}) {
			t.Errorf("%s finds %+v (%v), want %d", query, a, err, want)
		}
	}
	put := func(account int64, title, body string) {
		t.Helper()
		d := document.Document{Key: document.Key{Account: account, Kind: documenttest.KindIssue, Name: "one"}, Version: time.Now(), SeenAt: time.Now(), Fields: document.Fields{Title: title}}
		d.Set("body", document.Text(body))
		if err := docs.Upsert(t.Context(), []document.Document{d}); err != nil {
			t.Fatal(err)
		}
	}
	put(1, "Crash", "in the parser")
	finds("crash parser", 1)
	put(2, "Another crash", "")
	finds("crash", 2)
	put(1, "Fixed", "the parser")
	finds("crash", 1)
	finds("fixed parser", 1)
	if _, err := docs.Purge(t.Context(), 1, 100); err != nil {
		t.Fatal(err)
	}
	finds("parser", 0)
	finds("crash", 1)
}
