package tables

import (
	"context"
	"fmt"
	"testing"
	"time"

	"sluice/internal/document"
)

// shelf has entries of one account, in order, of which the last is selected.
type shelf struct {
	entries, at, looks int
}

func (s *shelf) list(t *testing.T, now func() time.Time) document.Page {
	t.Helper()
	kinds := document.Kinds{{Kind: "issue"}}
	l := NewLister(kinds, ListRows{
		Entries: func(_ context.Context, q *SQL, each func(Entry)) error {
			limit, ok := q.Parts[len(q.Parts)-1].Value.(int64)
			if !ok {
				t.Fatalf("%v does not end with its limit", q.Parts)
			}
			for ; limit > 0 && s.at < s.entries; limit-- {
				s.at++
				s.looks++
				each(Entry{Account: 1, Name: fmt.Sprint(s.at), Selected: s.at == s.entries})
			}
			return nil
		},
		Numbers: func(context.Context, *SQL, func(a, b int64)) error { return nil },
		Find: func(_ context.Context, keys []document.Key, _ bool) (docs []document.Document, _ error) {
			for _, key := range keys {
				docs = append(docs, document.Document{Key: key, Fields: document.Fields{State: "open"}})
			}
			return docs, nil
		},
	})
	l.now = now
	page, err := l.List(t.Context(), document.Selection{Kind: "issue", Account: 1, State: "open", Limit: 100})
	if err != nil {
		t.Fatal(err)
	}
	return page
}

// TestLooksGoOnInTime: a page that is not full goes on until its time is up, and says
// where the next begins.
func TestLooksGoOnInTime(t *testing.T) {
	instant := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	t.Run("there is time", func(t *testing.T) {
		s := shelf{entries: 20_000}
		page := s.list(t, func() time.Time { return instant })
		if len(page.Documents) != 1 || page.Next != nil {
			t.Errorf("%d documents, and the next page from %v; want the one there is, and no further page", len(page.Documents), page.Next)
		}
	})
	t.Run("time is up at once", func(t *testing.T) {
		s, now := shelf{entries: 20_000}, instant
		page := s.list(t, func() time.Time { now = now.Add(lookTime); return now })
		if s.looks != maxLooks || len(page.Documents) != 0 || page.Next == nil || page.Next.Name != fmt.Sprint(maxLooks) {
			t.Errorf("%d looks, %d documents, the next page from %+v; want %d, none, and the last that was looked at", s.looks, len(page.Documents), page.Next, maxLooks)
		}
	})
	t.Run("time is up later", func(t *testing.T) {
		s, now := shelf{entries: 20_000}, instant
		page := s.list(t, func() time.Time { now = now.Add(lookTime / 4); return now })
		if s.looks != maxLooks+3*moreLooks || page.Next == nil {
			t.Errorf("%d looks, the next page from %+v; want %d, and a place", s.looks, page.Next, maxLooks+3*moreLooks)
		}
	})
}
