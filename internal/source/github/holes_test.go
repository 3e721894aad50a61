package github

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"sluice/internal/domain"
	"sluice/internal/source"

	sim "sluice/internal/simulator/github"
)

// between stands between the source and the simulator and may change an answer.
type between struct {
	w  *world
	mu sync.Mutex
	// alter may return another body for the answer to a request.
	alter func(query string, body []byte) []byte
	// answer, if it reports true, has answered itself.
	answer func(rw http.ResponseWriter, r *http.Request, query string) bool
}

func (b *between) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	asked, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(strings.NewReader(string(asked)))
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.answer != nil && b.answer(rw, r, string(asked)) {
		return
	}
	recorded := httptest.NewRecorder()
	b.w.ServeHTTP(recorded, r)
	body := recorded.Body.Bytes()
	if b.alter != nil {
		body = b.alter(string(asked), body)
	}
	for name, values := range recorded.Header() {
		if name != "Content-Length" {
			rw.Header()[name] = values
		}
	}
	rw.WriteHeader(recorded.Code)
	_, _ = rw.Write(body)
}

// through makes a driver whose source speaks to the world through between.
func (w *world) through(t *testing.T, opt Options, login string) (*driver, *between) {
	t.Helper()
	b := &between{w: w}
	server := httptest.NewServer(b)
	t.Cleanup(server.Close)
	opt.BaseURL = server.URL
	src, err := New(opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { src.opt.Transport.(*http.Transport).CloseIdleConnections() })
	return newDriver(t, src, login, w.Token(login)), b
}

// without makes one place of a GraphQL answer null and says so in its errors.
func without(t *testing.T, body []byte, kind string, path ...any) []byte {
	t.Helper()
	var answer map[string]any
	if err := json.Unmarshal(body, &answer); err != nil {
		t.Fatal(err)
	}
	at := answer["data"]
	for i, step := range path {
		last := i == len(path)-1
		switch key := step.(type) {
		case string:
			object, ok := at.(map[string]any)
			if !ok {
				return body
			}
			if at = object[key]; last {
				object[key] = nil
			}
		case int:
			list, ok := at.([]any)
			if !ok || key >= len(list) {
				return body
			}
			if at = list[key]; last {
				list[key] = nil
			}
		}
	}
	failed := map[string]any{"message": "Something went wrong while executing your query.", "path": path}
	if kind != "" {
		failed["type"] = kind
	}
	answer["errors"] = []any{failed}
	out, err := json.Marshal(answer)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// partialPlaces are places that GitHub may leave out of the answers to a first
// and to a later run, by a part of the query they belong to.
var partialPlaces = map[string]struct {
	query string
	path  []any
}{
	"issues of a repository":        {"UPDATED_AT", []any{"user", "repositories", "nodes", 1, "issues"}},
	"pull requests of a repository": {"UPDATED_AT", []any{"user", "repositories", "nodes", 2, "pullRequests"}},
	"the newest issue":              {"UPDATED_AT", []any{"user", "repositories", "nodes", 1, "issues", "nodes", 0, "updatedAt"}},
	"a whole repository":            {"UPDATED_AT", []any{"user", "repositories", "nodes", 3}},
	"a repository's id":             {"UPDATED_AT", []any{"user", "repositories", "nodes", 3, "databaseId"}},
	"the default branch":            {"PUSHED_AT", []any{"user", "repositories", "nodes", 0, "defaultBranchRef"}},
	"the language":                  {"PUSHED_AT", []any{"user", "repositories", "nodes", 0, "primaryLanguage"}},
	"the list of repositories":      {"PUSHED_AT", []any{"user", "repositories"}},
	"whose token it is":             {"PUSHED_AT", []any{"viewer"}},
	"a history":                     {"history(first:$first", []any{"node", "defaultBranchRef", "target", "history"}},
	"the branch of a history":       {"history(first:$first", []any{"node", "defaultBranchRef"}},
	"a commit's author":             {"history(first:$first", []any{"node", "defaultBranchRef", "target", "history", "nodes", 0, "author"}},
	"the old part of a history":     {"past:history", []any{"node", "defaultBranchRef", "target", "past"}},
	"the whole history":             {"whole:history", []any{"node", "defaultBranchRef", "target", "whole"}},
	"a pack's repository":           {"nodes(ids:$ids){...on Repository", []any{"nodes", 0}},
	"a pack's pull requests":        {"nodes(ids:$ids){...on Repository", []any{"nodes", 1, "pullRequests"}},
	"an author in a pack":           {"nodes(ids:$ids){...on Repository", []any{"nodes", 1, "pullRequests", "nodes", 0, "author"}},
	"a pull request of a batch":     {"PullRequest{", []any{"nodes", 0}},
	"a field of a batch":            {"PullRequest{", []any{"nodes", 0, "additions"}},
}

// TestPartialAnswersLoseNothing leaves a place out of the first answer that has
// it. What was left out is asked for again: the collection is complete, now and
// after another run in which nothing has changed.
func TestPartialAnswersLoseNothing(t *testing.T) {
	for name, place := range partialPlaces {
		t.Run(name, func(t *testing.T) {
			c := newClock()
			w := newWorld(t, sim.Options{Seed: 11, Accounts: 1, Shape: smallShape(), Now: c.Now})
			login := w.Logins()[0]
			d, b := w.through(t, Options{Now: c.Now}, login)
			left := 1
			b.alter = func(query string, body []byte) []byte {
				if left == 0 || !strings.Contains(query, place.query) {
					return body
				}
				partial := without(t, body, "", place.path...)
				if string(partial) != string(body) {
					left--
				}
				return partial
			}
			c.run(d)
			d.noFailures()
			changeALittle(t, w, login)
			c.run(d)
			d.noFailures()
			if left != 0 {
				t.Fatal("no answer had the place")
			}
			d.matches(mustTruth(t, w, login, time.Time{}), true)
			c.run(d)
			d.matches(mustTruth(t, w, login, time.Time{}), true)
		})
	}
}

// TestWhatNeverComesIsAFailure leaves the issues of one repository out for ever:
// a job of its own fails and says why, everything else is collected, and no
// cursor claims otherwise.
func TestWhatNeverComesIsAFailure(t *testing.T) {
	c := newClock()
	w := newWorld(t, sim.Options{Seed: 11, Accounts: 1, Shape: smallShape(), Now: c.Now})
	login := w.Logins()[0]
	d, b := w.through(t, Options{Now: c.Now}, login)
	node := ""
	b.alter = func(query string, body []byte) []byte {
		switch {
		case strings.Contains(query, "UPDATED_AT,direction:ASC"):
			node = view(body).Get("data.user.repositories.nodes.1.id").String()
			return without(t, body, "", "user", "repositories", "nodes", 1, "issues")
		case node != "" && strings.Contains(query, node) && strings.Contains(query, "issues(first:1"):
			return without(t, body, "", "node", "issues")
		}
		return body
	}
	c.run(d)
	if len(d.failures) != 1 || !strings.Contains(d.failures[0], "DISCOVER_REPO ") || !strings.Contains(d.failures[0], "Something went wrong") {
		t.Fatalf("failures %q, want that of the part alone", d.failures)
	}
	commits := 0
	for key, doc := range d.docs {
		if key.Kind == KindCommit && doc.Repository != 0 {
			commits++
		}
	}
	want := 0
	for _, r := range mustTruth(t, w, login, time.Time{}).Repositories {
		want += len(r.Commits)
	}
	if commits != want {
		t.Errorf("%d commits, want all %d", commits, want)
	}
	b.mu.Lock()
	b.alter = nil
	b.mu.Unlock()
	c.run(d)
	d.noFailures()
	d.matches(mustTruth(t, w, login, time.Time{}), true)
}

// TestNothingIsReadFromAnAnswerThatDoesNotSayWhatItLacks: an error without a
// path, a null without an error.
func TestNothingIsReadFromAnAnswerThatDoesNotSayWhatItLacks(t *testing.T) {
	repo := `{"id":"R_42","databaseId":42,"nameWithOwner":"octo/thing","isFork":false,"isPrivate":false,"isEmpty":false,"isArchived":false,` +
		`"hasIssuesEnabled":true,"stargazerCount":1,"createdAt":"2026-01-01T00:00:00Z","updatedAt":"2026-01-01T00:00:00Z","defaultBranchRef":{"name":"main"},` +
		`"issues":ISSUES,"pullRequests":{"totalCount":0,"nodes":[]}}`
	page := `{"user":{"id":"U_1","repositories":{"totalCount":1,"pageInfo":{"hasNextPage":false},"nodes":[` + repo + `]}}}`
	some := `{"totalCount":1,"nodes":[{"updatedAt":"2026-01-01T00:00:00Z"}]}`
	for name, c := range map[string]struct {
		job, body string
		alone     bool
	}{
		"error without a path":  {DiscoverReposUpdated, `{"data":` + strings.ReplaceAll(page, "ISSUES", some) + `,"errors":[{"message":"timeout"}]}`, false},
		"null without an error": {DiscoverReposUpdated, `{"data":` + strings.ReplaceAll(page, "ISSUES", "null") + `}`, true},
		"count without newest":  {DiscoverReposUpdated, `{"data":` + strings.ReplaceAll(page, "ISSUES", `{"totalCount":3,"nodes":[]}`) + `}`, true},
		"a null repository":     {DiscoverReposUpdated, `{"data":{"user":{"id":"U_1","repositories":{"totalCount":1,"pageInfo":{"hasNextPage":false},"nodes":[null]}}}}`, false},
		"no total":              {DiscoverReposUpdated, `{"data":{"user":{"id":"U_1","repositories":{"totalCount":null,"pageInfo":{"hasNextPage":false},"nodes":[]}}}}`, false},
		"sweep, null in a list": {SweepPulls, `{"data":{"node":{"pullRequests":{"totalCount":1,"pageInfo":{"hasNextPage":false},"nodes":[null]}}},"errors":[{"message":"timeout","path":["node","pullRequests","nodes",0]}]}`, false},
		"sweep, no page info":   {SweepPulls, `{"data":{"node":{"pullRequests":{"totalCount":0,"pageInfo":null,"nodes":[]}}},"errors":[{"message":"timeout","path":["node","pullRequests","pageInfo"]}]}`, false},
		"history, null commit":  {CommitStats, `{"data":{"node":{"defaultBranchRef":{"target":{"history":{"totalCount":1,"pageInfo":{"hasNextPage":false},"nodes":[null]}}}}}}`, false},
	} {
		t.Run(name, func(t *testing.T) {
			src := serve(t, reply{status: 200, body: c.body}, Options{})
			res := src.Call(context.Background(), callOf(jobOf(c.job)))
			if len(res.Absences)+len(res.Documents) != 0 {
				t.Errorf("absences %v, documents %v", res.Absences, res.Documents)
			}
			alone := res.Verdict == source.Done && slices.ContainsFunc(res.Next, func(s domain.JobSpec) bool { return s.Type == DiscoverRepo && s.Resource == "repo:42" })
			if alone != c.alone || !c.alone && res.Verdict != source.Retry {
				t.Errorf("verdict %d (%v), next %+v; asked for alone: %t, want %t", res.Verdict, res.Failure, res.Next, alone, c.alone)
			}
			for _, cursor := range res.Cursors {
				if strings.Contains(cursor.Resource, "repo:42") {
					t.Errorf("cursor %+v moved", cursor)
				}
			}
		})
	}
}
