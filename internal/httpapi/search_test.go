package httpapi_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	documents "sluice/internal/document"
	"sluice/internal/document/documenttest"
	"sluice/internal/document/wordindex"
	"sluice/internal/document/wordindex/wordindextest"
	"sluice/internal/domain"
	"sluice/internal/httpapi"
	"sluice/internal/httpapi/wire"
	"sluice/internal/source/github"
)

// searched is a service whose documents are in the memory of the test.
type searched struct {
	*fake
	docs     *documenttest.Memory
	follower *wordindex.Follower
	api      http.Handler
}

// Account implements httpapi.AccountReader.
func (s *searched) Account(_ context.Context, id int64) (domain.Account, error) {
	if id != 1 {
		return domain.Account{}, domain.Errorf(domain.CodeNotFound, "no account %d", id)
	}
	return domain.Account{ID: 1, Source: "github", Login: "octocat"}, nil
}

// AccountByLogin implements httpapi.AccountReader.
func (s *searched) AccountByLogin(ctx context.Context, _, login string) (domain.Account, error) {
	if login != "octocat" {
		return domain.Account{}, domain.Errorf(domain.CodeNotFound, "no account %s", login)
	}
	return s.Account(ctx, 1)
}

func newSearched(t *testing.T) *searched {
	kinds := github.Describe().Kinds
	docs, index := documenttest.NewMemory(kinds), wordindextest.NewMemory()
	s := &searched{fake: newFake(), docs: docs}
	s.follower = &wordindex.Follower{Index: index, Feed: docs, Documents: docs, Kinds: kinds, Log: slog.New(slog.DiscardHandler)}
	deps := s.deps()
	deps.Reader, deps.Search = s, &wordindex.Searcher{Index: index, Feed: docs, Documents: docs, Kinds: kinds}
	s.api = httpapi.New(deps, httpapi.Options{})
	for i, d := range []documents.Document{
		{Key: documents.Key{Kind: "issue", Name: "11"}, Fields: documents.Fields{Title: "Crash in the parser"}},
		{Key: documents.Key{Kind: "pull", Name: "12"}, Fields: documents.Fields{Title: "Fix a crash"}},
		{Key: documents.Key{Kind: "issue", Name: "13"}, Fields: documents.Fields{Title: "Übersicht"}},
	} {
		d.Account, d.Version, d.SeenAt = 1, time.Date(2026, 3, 1+i, 0, 0, 0, 0, time.UTC), time.Date(2026, 3, 9, 0, 0, 0, 0, time.UTC)
		d.Repository, d.UpdatedAt = 7, d.Version
		if d.Name == "11" {
			d.Set("body", documents.Text("It says: the\nÜbersicht crashed in a crash"))
			d.Set("url", documents.Text("https://example.com/11"))
		}
		if err := docs.Upsert(t.Context(), []documents.Document{d}); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func (s *searched) catchUp(t *testing.T) {
	t.Helper()
	for idle := false; !idle; {
		var err error
		if idle, err = s.follower.Step(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

func (s *searched) ask(t *testing.T, query string, status int, into any) {
	t.Helper()
	w := httptest.NewRecorder()
	s.api.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "http://localhost/api/v1/search?"+query, nil))
	if w.Code != status {
		t.Fatalf("%s: got %d %s, want %d", query, w.Code, w.Body, status)
	}
	if err := json.Unmarshal(w.Body.Bytes(), into); err != nil {
		t.Fatal(err)
	}
}

func TestSearch(t *testing.T) {
	s := newSearched(t)
	var a wire.SearchAnswer
	s.ask(t, "q=crash", http.StatusOK, &a)
	if len(a.Items) != 0 || !a.Behind.Building || a.Behind.Changes != 3 {
		t.Errorf("before anything is indexed: %+v", a)
	}
	s.catchUp(t)
	s.ask(t, "q=crash&kind=issues&account=octocat", http.StatusOK, &a)
	want := wire.SearchHit{
		Kind: "issues", ID: "11", Account: "octocat", Source: "github", Title: "Crash in the parser", URL: "https://example.com/11",
		UpdatedAt: time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC),
		Snippet:   wire.SearchSnippet{Column: "body", Text: "says: the\nÜbersicht crashed in a crash", Marks: [][2]int{{33, 38}}},
	}
	if a.Behind.Building || a.Behind.Changes != 0 || len(a.Items) != 1 || !reflect.DeepEqual(a.Items[0], want) {
		t.Errorf("the answer is %+v, want %+v", a, want)
	}
	for query, ids := range map[string][]string{
		"crash": {"12", "11"}, "ubersicht": {"13", "11"}, `"fix a crash"`: {"12"}, "cra* -fix": {"11"}, "nothing": nil,
	} {
		var got []string
		for cursor := ""; ; {
			a = wire.SearchAnswer{}
			s.ask(t, "limit=1&q="+url.QueryEscape(query)+"&cursor="+url.QueryEscape(cursor), http.StatusOK, &a)
			for _, hit := range a.Items {
				got = append(got, hit.ID)
			}
			if cursor = a.NextCursor; cursor == "" {
				break
			}
		}
		if !slices.Equal(got, ids) {
			t.Errorf("%s finds %v, want %v", query, got, ids)
		}
	}
}

func TestSearchesThatAreRefused(t *testing.T) {
	s := newSearched(t)
	for query, says := range map[string]string{
		"":                    "q",
		"q=":                  "q",
		"q=-x":                "to be found",
		"q=%22x":              "not closed",
		"q=x&kind=events":     "events cannot be searched",
		"q=x&kind=no":         "issues",
		"q=x&limit=201":       "limit",
		"q=x&cursor=runs:1":   "cursor",
		"q=x&deleted=perhaps": "deleted",
	} {
		var p wire.Problem
		s.ask(t, query, http.StatusUnprocessableEntity, &p)
		said := p.Detail
		for _, e := range p.Errors {
			said += " " + e.Location + " " + e.Message
		}
		if !strings.Contains(said, says) {
			t.Errorf("%s: %q, want something of %q", query, said, says)
		}
	}
	var p wire.Problem
	s.ask(t, "q=x&account=nobody", http.StatusNotFound, &p)
	newFake().get(t, "/api/v1/search?q=x", http.StatusServiceUnavailable)
}
