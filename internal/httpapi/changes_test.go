package httpapi_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	docs "sluice/internal/document"
	"sluice/internal/httpapi/wire"
	"sluice/internal/source/github"
)

func changesOf(t *testing.T, s *shelf, query string) wire.ChangePage {
	t.Helper()
	var page wire.ChangePage
	res, text, err := fetch(t, s.url+"/api/v1/changes?"+query)
	if err != nil || res.StatusCode != http.StatusOK || json.Unmarshal(text, &page) != nil {
		t.Fatalf("%s: %s %s, %v", query, res.Status, text, err)
	}
	return page
}

func TestChangePages(t *testing.T) {
	s := newShelf(t)
	if page := changesOf(t, s, ""); len(page.Items) != 0 || page.Position != 0 || page.Oldest != 1 || page.More || page.Feed != "memory" {
		t.Errorf("without changes: %+v", page)
	}
	s.fill(t)
	var all []wire.Change
	for after, more := int64(0), true; more; {
		page := changesOf(t, s, fmt.Sprintf("limit=3&after=%d&feed=memory", after))
		all, after, more = append(all, page.Items...), page.Position, page.More
	}
	if len(all) != 12 || all[0].Kind != "repositories" || all[0].ID != "11" || all[0].Account != "ann" || all[0].What != "created" || all[0].Version == nil {
		t.Errorf("got %+v", all)
	}
	if page := changesOf(t, s, "after=now"); len(page.Items) != 0 || page.Position != 12 || page.Newest != 12 {
		t.Errorf("now: %+v", page)
	}
	if page := changesOf(t, s, "kind=repositories&account=bob"); len(page.Items) != 1 || page.Items[0].ID != "12" || page.Position != 12 || page.More {
		t.Errorf("filtered: %+v", page)
	}
	if one, several := changesOf(t, s, "kind=repositories,issues"), changesOf(t, s, "kind=repositories&kind=issues"); len(one.Items) < 3 || len(one.Items) != len(several.Items) {
		t.Errorf("two kinds: %+v, and said twice: %+v", one, several)
	}
	if _, err := s.Purge(t.Context(), 2, 1000); err != nil {
		t.Fatal(err)
	}
	page := changesOf(t, s, "kind=commits&account=2")
	if len(page.Items) != 1 || page.Items[0].What != "purged" || page.Items[0].Kind != "" || page.Items[0].Version != nil {
		t.Errorf("purged: %+v", page)
	}
}

func TestExportOfChanges(t *testing.T) {
	s := newShelf(t)
	s.fill(t)
	res, text, err := fetch(t, s.url+"/api/v1/export?kind=issues&changed_since=0")
	if err != nil || len(idsOf(t, "jsonl", text)) != 10 || res.Header.Get(wire.HeaderPosition) != "12" || res.Trailer.Get(wire.TrailerRows) != "10" {
		t.Errorf("got %s, %v, %v", text, err, res.Header)
	}
	s.put(t, 2, github.KindIssue, "200", 5, docs.Fields{Repository: 12, Title: "another"})
	res, text, err = fetch(t, s.url+"/api/v1/export?kind=issues&changed_since=12")
	if got := idsOf(t, "jsonl", text); err != nil || !slices.Equal(got, []string{"200"}) || res.Header.Get(wire.HeaderPosition) != "13" {
		t.Errorf("got %s, %v, %v", text, err, res.Header)
	}
	res, text, _ = fetch(t, s.url+"/api/v1/export?kind=issues&changed_since=13&account=ann")
	if len(text) != 0 || res.Header.Get(wire.HeaderPosition) != "13" || res.Trailer.Get(wire.TrailerRows) != "0" {
		t.Errorf("nothing has changed: %q, %v", text, res.Header)
	}
}

// told is an event of a stream.
type told struct{ id, name, data string }

// listen opens a stream of changes.
func (s *shelf) listen(t *testing.T, query, last string) <-chan told {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+"/api/v1/changes?"+query, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Accept", "text/event-stream")
	if last != "" {
		req.Header.Set("Last-Event-ID", last)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil || res.Header.Get("Content-Type") != "text/event-stream" {
		t.Fatalf("got %v, %v", res, err)
	}
	events := make(chan told)
	go func() {
		defer close(events)
		defer res.Body.Close()
		var e told
		for lines := bufio.NewScanner(res.Body); lines.Scan(); {
			name, value, _ := strings.Cut(lines.Text(), ": ")
			switch name {
			case "id":
				e.id = value
			case "event":
				e.name = value
			case "data":
				e.data = value
			case "":
				if e.name != "" {
					events <- e
				}
				e = told{}
			}
		}
	}()
	return events
}

func expect(t *testing.T, events <-chan told, want ...string) {
	t.Helper()
	for _, w := range want {
		select {
		case e := <-events:
			if got := e.id + " " + e.name; got != w {
				t.Fatalf("got %q (%s), want %q", got, e.data, w)
			}
		case <-time.After(3 * time.Minute):
			t.Fatalf("nothing came, want %q", w)
		}
	}
}

func TestFollowChanges(t *testing.T) {
	s := newShelf(t)
	s.put(t, 1, github.KindIssue, "1", 1, docs.Fields{Repository: 11})
	s.put(t, 2, github.KindIssue, "2", 1, docs.Fields{Repository: 12})
	events := s.listen(t, "after=0", "")
	expect(t, events, "0 snapshot", "1 change", "2 change")
	s.put(t, 1, github.KindCommit, "11:aa", 1, docs.Fields{Repository: 11})
	expect(t, events, "3 change")
	// Who comes back goes on where it was, whatever the address says.
	expect(t, s.listen(t, "after=0", "2"), "2 snapshot", "3 change")
	s.lifecycle.Stopping()
	if _, open := <-events; open {
		t.Error("the stream goes on though the service stops")
	}
}

// TestFollowSomeChanges: a reader also learns of positions that it did not ask for.
func TestFollowSomeChanges(t *testing.T) {
	s := newShelf(t)
	events := s.listen(t, "after=now&kind=issues&account=ann", "")
	expect(t, events, "0 snapshot")
	s.put(t, 2, github.KindIssue, "2", 1, docs.Fields{Repository: 12})
	expect(t, events, "1 position")
	s.put(t, 1, github.KindIssue, "3", 1, docs.Fields{Repository: 11})
	expect(t, events, "2 change")
	s.put(t, 1, github.KindCommit, "11:aa", 1, docs.Fields{Repository: 11})
	expect(t, events, "3 position")
}

func TestRefusedStreams(t *testing.T) {
	s := newShelf(t)
	for last, want := range map[string]int{"soon": http.StatusUnprocessableEntity, "now": http.StatusUnprocessableEntity, "5": http.StatusUnprocessableEntity} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+"/api/v1/changes", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Accept", "text/event-stream")
		req.Header.Set("Last-Event-ID", last)
		res, err := http.DefaultClient.Do(req)
		if err != nil || res.StatusCode != want {
			t.Errorf("%s: %v, %v", last, res, err)
			continue
		}
		_ = res.Body.Close()
	}
}
