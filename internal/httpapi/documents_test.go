package httpapi_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
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
		"/documents/issues/777":                                    "409 github:ann, github:bob",
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
