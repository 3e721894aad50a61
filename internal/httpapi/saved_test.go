package httpapi_test

import (
	"net/http"
	"slices"
	"testing"

	"sluice/internal/access"
	docs "sluice/internal/document"
	"sluice/internal/domain"
	"sluice/internal/httpapi/wire"
	"sluice/internal/query"
	"sluice/internal/source/github"
)

func TestSavedQueries(t *testing.T) {
	g := newGuests(t)
	const path = "/api/v1/queries"
	var list wire.QueryList
	g.as(g.secrets[access.Read])
	g.do(http.MethodGet, path, "", http.StatusOK, &list)
	if list.Items == nil || len(list.Items) != 0 {
		t.Errorf("there are %+v", list)
	}
	g.refused(http.MethodPut, path+"/one", `{"query":"SELECT 1"}`, http.StatusForbidden, domain.CodeUnauthorized)
	g.as(g.secrets[access.Operate])
	var saved, got query.SavedQuery
	g.do(http.MethodPut, path+"/one", `{"query":"SELECT 1","about":"a number"}`, http.StatusOK, &saved)
	g.as(g.secrets[access.Read])
	g.do(http.MethodGet, path+"/one", "", http.StatusOK, &got)
	if got != saved || got.SQL != "SELECT 1" || got.About != "a number" || got.SavedAt.IsZero() {
		t.Errorf("saved was %+v, and there is %+v", saved, got)
	}
	g.do(http.MethodGet, path, "", http.StatusOK, &list)
	if len(list.Items) != 1 || list.Items[0] != saved {
		t.Errorf("there are %+v", list)
	}
	g.as(g.secrets[access.Operate])
	g.refused(http.MethodPut, path+"/a%20b", `{"query":"SELECT 1"}`, http.StatusUnprocessableEntity, domain.CodeInvalid)
	g.refused(http.MethodPut, path+"/two", `{"query":""}`, http.StatusUnprocessableEntity, domain.CodeInvalid)
	g.do(http.MethodDelete, path+"/one", "", http.StatusNoContent, nil)
	g.refused(http.MethodDelete, path+"/one", "", http.StatusNotFound, domain.CodeNotFound)
	g.refused(http.MethodGet, path+"/one", "", http.StatusNotFound, domain.CodeNotFound)
}

func TestExportOfASelection(t *testing.T) {
	s := newShelf(t)
	s.fill(t)
	for query, want := range map[string][]string{
		"state=open&account=ann":                               {"100", "102"},
		"repository=bob/one&label=bug":                         {"201", "203"},
		"author=zoe&since=2026-01-02&until=2026-01-03":         {"101", "201"},
		"state=open&account=ann&account=bob&since=2026-01-03":  {"102", "202"},
		"author=nobody":                                        {},
		"deleted=false&account=bob&state=closed":               {"201", "203"},
		"repository=12&state=open&format=csv&until=2026-01-02": {"200"},
	} {
		res, text, err := fetch(t, s.url+"/api/v1/export?kind=issues&"+query)
		format := "jsonl"
		if res.Header.Get("Content-Type") != "application/x-ndjson" && res.Header.Get("Content-Disposition") == `attachment; filename="issues.csv"` {
			format = "csv"
		}
		if got := idsOf(t, format, text); err != nil || res.StatusCode != http.StatusOK || !slices.Equal(got, want) {
			t.Errorf("%s: %s %v, %v, want %v", query, res.Status, got, err, want)
		}
	}
	for query, status := range map[string]int{
		"kind=commits&label=x": http.StatusUnprocessableEntity, "kind=issues&state=open&changed_since=0": http.StatusUnprocessableEntity,
		"kind=issues&repository=nobody/nothing": http.StatusNotFound,
	} {
		if res, text, err := fetch(t, s.url+"/api/v1/export?"+query); err != nil || res.StatusCode != status {
			t.Errorf("%s: %s %s, %v", query, res.Status, text, err)
		}
	}
}

// TestChangesOfOneDocument are told, and that its account is gone.
func TestChangesOfOneDocument(t *testing.T) {
	s := newShelf(t)
	s.fill(t)
	s.put(t, 1, github.KindIssue, "100", 5, docs.Fields{Repository: 11, Title: "another"})
	page := changesOf(t, s, "kind=issues&id=100&account=ann&limit=1000")
	if len(page.Items) != 2 || page.Items[0].What != "created" || page.Items[1].What != "updated" || page.More {
		t.Errorf("got %+v", page)
	}
	if page := changesOf(t, s, "id=777"); len(page.Items) != 2 {
		t.Errorf("of two accounts: %+v", page)
	}
	if _, err := s.Purge(t.Context(), 1, 1000); err != nil {
		t.Fatal(err)
	}
	if page := changesOf(t, s, "id=100"); len(page.Items) != 1 || page.Items[0].What != "purged" {
		t.Errorf("purged: %+v", page)
	}
}
