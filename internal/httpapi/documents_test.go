package httpapi_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	docs "sluice/internal/document"
	"sluice/internal/document/documenttest"
	"sluice/internal/domain"
	"sluice/internal/httpapi"
	"sluice/internal/httpapi/wire"
	"sluice/internal/source/github"
)

// shelf is a fake with two accounts and documents in memory.
type shelf struct {
	*fake
	*documenttest.Memory
	url string
}

var shelved = []domain.Account{{ID: 1, Source: "github", Login: "ann"}, {ID: 2, Source: "github", Login: "bob"}}

func (s *shelf) Accounts(context.Context) ([]domain.Account, error) { return shelved, nil }

func (s *shelf) Account(_ context.Context, id int64) (domain.Account, error) {
	for _, a := range shelved {
		if a.ID == id {
			return a, nil
		}
	}
	return domain.Account{}, domain.Errorf(domain.CodeNotFound, "no account %d", id)
}

func (s *shelf) AccountByLogin(_ context.Context, source, login string) (domain.Account, error) {
	for _, a := range shelved {
		if a.Source == source && a.Login == login {
			return a, nil
		}
	}
	return domain.Account{}, domain.Errorf(domain.CodeNotFound, "no account %s", login)
}

func newShelf(t *testing.T) *shelf {
	t.Helper()
	s := &shelf{fake: newFake(), Memory: documenttest.NewMemory(github.Kinds())}
	deps := s.deps()
	deps.Reader, deps.Documents, deps.Lister, deps.Finder, deps.Feed = s, s.Memory, s.Memory, s.Memory, s.Memory
	server := httptest.NewServer(httpapi.New(deps, httpapi.Options{}))
	t.Cleanup(server.Close)
	t.Cleanup(s.lifecycle.Stopping)
	s.url = server.URL
	return s
}

func day(n int) time.Time { return time.Date(2026, 1, n, 0, 0, 0, 0, time.UTC) }

func (s *shelf) put(t *testing.T, account int64, kind docs.Kind, name string, version int, f docs.Fields, labels ...string) {
	t.Helper()
	d := docs.Document{Key: docs.Key{Account: account, Kind: kind, Name: name}, Version: day(version), SeenAt: day(version), Fields: f,
		Raw: fmt.Appendf(nil, `{"name":%q}`, name)}
	if labels != nil {
		d.Set("labels", docs.List(labels...))
	}
	if err := s.Upsert(t.Context(), []docs.Document{d}); err != nil {
		t.Fatal(err)
	}
	s.touch()
}

// fill stores a repository of each account, and issues in it.
func (s *shelf) fill(t *testing.T) {
	t.Helper()
	for account := int64(1); account <= 2; account++ {
		s.put(t, account, github.KindRepository, fmt.Sprint(10+account), 1, docs.Fields{Repository: 10 + account, Title: shelved[account-1].Login + "/one", CreatedAt: day(1)})
		for i := range 4 {
			f := docs.Fields{Repository: 10 + account, Number: int64(i), State: "open", Title: "t", Author: "Zoe", CreatedAt: day(1 + i), UpdatedAt: day(20 - i)}
			var labels []string
			if i%2 == 1 {
				f.State, labels = "closed", []string{"bug"}
			}
			s.put(t, account, github.KindIssue, fmt.Sprint(account*100+int64(i)), 2, f, labels...)
		}
	}
	s.put(t, 1, github.KindIssue, "777", 2, docs.Fields{Repository: 11})
	s.put(t, 2, github.KindIssue, "777", 2, docs.Fields{Repository: 12})
}

// ids reads a list to its end.
func (s *shelf) ids(t *testing.T, query string) (ids []string, pages int) {
	t.Helper()
	values, err := url.ParseQuery(query)
	if err != nil {
		t.Fatal(err)
	}
	for {
		var list struct {
			Items []struct{ ID int64 }
			Next  string `json:"next_cursor"`
		}
		res, text, err := fetch(t, s.url+"/api/v1/documents/issues?"+values.Encode())
		if err != nil || res.StatusCode != http.StatusOK || json.Unmarshal(text, &list) != nil {
			t.Fatalf("%s: %s %s, %v", query, res.Status, text, err)
		}
		pages++
		for _, item := range list.Items {
			ids = append(ids, fmt.Sprint(item.ID))
		}
		if list.Next == "" {
			return ids, pages
		}
		values.Set("cursor", list.Next)
	}
}

func TestListDocuments(t *testing.T) {
	s := newShelf(t)
	s.fill(t)
	if err := s.MarkDeleted(t.Context(), []docs.Absence{{Account: 2, Repository: 12, Why: docs.GoneDeleted, Since: day(25)}}); err != nil {
		t.Fatal(err)
	}
	for query, want := range map[string]string{
		"":                                       "100 101 102 103 777 200 201 202 203 777",
		"account=bob":                            "200 201 202 203 777",
		"account=1&sort=-name":                   "777 103 102 101 100",
		"account=1&sort=created":                 "777 100 101 102 103",
		"account=1&sort=-updated&author=zoe":     "100 101 102 103",
		"repository=11&state=open":               "100 102",
		"repository=bob/one&label=bug":           "201 203",
		"repository=Ann/One&account=1&label=bug": "101 103",
		"deleted=true&state=open":                "200 202",
		"deleted=false&state=open":               "100 102",
		"created_from=2026-01-02&created_until=2026-01-04": "101 102 201 202",
		"updated_from=2026-01-19T00:00:00Z&account=1":      "100 101",
		"author=nobody": "",
	} {
		for _, limit := range []int{1, 3, 1000} {
			got, pages := s.ids(t, fmt.Sprintf("%s&limit=%d", query, limit))
			if strings.Join(got, " ") != want {
				t.Errorf("%s by %d: %v, want %s", query, limit, got, want)
			}
			if limit == 1 && len(got) > 1 && pages != len(got) {
				t.Errorf("%s: %d pages of one each have %d rows", query, pages, len(got))
			}
		}
	}
}

func TestDocumentRows(t *testing.T) {
	s := newShelf(t)
	s.fill(t)
	_, text, err := fetch(t, s.url+"/api/v1/documents/issues/101?fields=id,account,repository,labels,closed_at&raw=true")
	want := `{"id":101,"account":"ann","repository":"ann/one","labels":["bug"],"closed_at":null,"raw":{"name":"101"}}`
	if err != nil || strings.TrimSpace(string(text)) != want {
		t.Errorf("got %s, %v, want %s", text, err, want)
	}
	_, one, _ := fetch(t, s.url+"/api/v1/documents/issues/101")
	_, lines, _ := fetch(t, s.url+"/api/v1/export?kind=issues&account=ann")
	if !strings.Contains(string(lines), strings.TrimSpace(string(one))+"\n") {
		t.Errorf("the export has no line %s:\n%s", one, lines)
	}
	_, list, _ := fetch(t, s.url+"/api/v1/documents/issues?account=ann&fields=title&limit=1")
	if got := strings.TrimSpace(string(list)); !strings.HasPrefix(got, `{"items":[{"title":"t"}],"next_cursor":"documents:`) {
		t.Errorf("got %s", got)
	}
}

func TestRefusedDocuments(t *testing.T) {
	s := newShelf(t)
	s.fill(t)
	var first wire.DocumentList
	_, text, _ := fetch(t, s.url+"/api/v1/documents/issues?limit=1&sort=created")
	if json.Unmarshal(text, &first) != nil || first.NextCursor == "" {
		t.Fatalf("got %s", text)
	}
	for path, want := range map[string]string{
		"/documents/issue":                                         "404 issues, pulls",
		"/documents/statistics":                                    "404 issues, pulls",
		"/documents/issues/5":                                      "404 no issue 5",
		"/documents/issues/777":                                    "409 ann, bob",
		"/documents/issues?fields=id,shape":                        "422 closed_at",
		"/documents/issues?created_from=yesterday":                 "422 created_from",
		"/documents/issues?updated_until=12":                       "422 updated_until",
		"/documents/issues?repository=one":                         "422 octocat/hello-world",
		"/documents/issues?repository=zoe/none":                    "404 zoe/none",
		"/documents/issues?account=nobody":                         "404 nobody",
		"/documents/issues?sort=size":                              "422 sort",
		"/documents/commits?sort=-updated":                         "422 name or created",
		"/documents/issues?limit=1001":                             "422 limit",
		"/documents/issues?deleted=maybe":                          "422 deleted",
		"/documents/issues?cursor=documents:AAAA":                  "422 next_cursor",
		"/documents/issues?cursor=runs:12":                         "422 another list",
		"/documents/commits?label=bug":                             "422 no labels",
		"/documents/issues?cursor=" + first.NextCursor:             "422 another order",
		"/documents/pulls?sort=created&cursor=" + first.NextCursor: "422 other documents",
		"/changes?after=soon":                                      "422 after",
		"/changes?after=-1":                                        "422 after",
		"/changes?after=1000":                                      "422 newest",
		"/changes?kind=issue":                                      "422 issues, pulls",
		"/changes?account=nobody":                                  "404 nobody",
		"/changes?feed=another":                                    "409 memory",
		"/export?kind=issues&changed_since=soon":                   "422 changed_since",
		"/export?kind=issues&changed_since=1000":                   "422 newest",
		"/export?kind=statistics&changed_since=0":                  "422 statistics",
	} {
		res, text, err := fetch(t, s.url+"/api/v1"+path)
		status, says, _ := strings.Cut(want, " ")
		if err != nil || fmt.Sprint(res.StatusCode) != status || !strings.Contains(string(text), says) {
			t.Errorf("%s: %s %s, %v, want %s", path, res.Status, text, err, want)
		}
	}
	if _, err := s.TrimChanges(t.Context(), time.Now().AddDate(100, 0, 0), 3); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/changes?after=1", "/export?kind=issues&changed_since=2"} {
		var p wire.Problem
		res, text, err := fetch(t, s.url+"/api/v1"+path)
		if err != nil || res.StatusCode != http.StatusGone || json.Unmarshal(text, &p) != nil || p.Code != domain.CodeGone {
			t.Errorf("%s: %s %s, %v", path, res.Status, text, err)
		}
	}
}

// TestStoreWithoutLists: a store that can neither list nor tell of changes is said to be one.
func TestStoreWithoutLists(t *testing.T) {
	f := newFake()
	for _, path := range []string{"/api/v1/documents/issues", "/api/v1/documents/issues/5", "/api/v1/changes", "/api/v1/export?kind=issues&changed_since=0"} {
		if p := f.get(t, path, http.StatusServiceUnavailable); !strings.Contains(p.Detail, "/api/v1/export") {
			t.Errorf("%s: %s", path, p.Detail)
		}
	}
}

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
