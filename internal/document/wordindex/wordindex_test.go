package wordindex_test

import (
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"sluice/internal/document"
	"sluice/internal/document/documenttest"
	"sluice/internal/document/wordindex"
	"sluice/internal/document/wordindex/wordindextest"
	"sluice/internal/watch"
)

func TestMemoryConformance(t *testing.T) {
	wordindextest.Run(t, func(*testing.T) wordindex.Index { return wordindextest.NewMemory() })
}

// TestRunFollows lets documents come while somebody follows: it waits to be told, and
// reads nothing meanwhile.
func TestRunFollows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		docs := documenttest.NewMemory(wordindextest.Kinds())
		index := wordindextest.NewMemory()
		changed := watch.New(nil, time.Hour)
		steps := 0
		f := &wordindex.Follower{
			Index: index, Feed: docs, Documents: docs, Kinds: wordindextest.Kinds(), Log: slog.New(slog.DiscardHandler),
			Watch: changed.Watch, Tell: func(wordindex.Behind) { steps++ },
		}
		go func() { _ = f.Run(t.Context()) }()
		synctest.Wait()
		before := steps
		time.Sleep(24 * time.Hour)
		synctest.Wait()
		if steps != before {
			t.Errorf("%d steps in a day without changes", steps-before)
		}
		d := document.Document{Key: document.Key{Account: 1, Kind: documenttest.KindIssue, Name: "one"}, Version: time.Now(), SeenAt: time.Now(), Fields: document.Fields{Title: "word"}}
		if err := docs.Upsert(t.Context(), []document.Document{d}); err != nil {
			t.Fatal(err)
		}
		changed.Notify()
		synctest.Wait()
		s := wordindex.Searcher{Index: index, Feed: docs, Documents: docs, Kinds: wordindextest.Kinds()}
		a, err := s.Search(t.Context(), wordindex.Request{Query: "word", Limit: 5})
		if err != nil || len(a.Results) != 1 || a.Behind != (wordindex.Behind{}) || a.Results[0].Column != "title" || a.Results[0].Snippet.Text != "word" {
			t.Errorf("answer %+v, error %v", a, err)
		}
	})
}
