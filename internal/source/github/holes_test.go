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

// unsaid is an answer that does not say what it lacks, to a job that asks for changes unless
// it sweeps. Alone says that a repository is then asked for by itself.
type unsaid struct {
	job, body string
	alone     bool
}

func unsaidAnswers() map[string]unsaid {
	repo := `{"id":"R_42","databaseId":42,"nameWithOwner":"octo/thing","isFork":false,"isPrivate":false,"isEmpty":false,"isArchived":false,` +
		`"hasIssuesEnabled":true,"stargazerCount":1,"createdAt":"2026-01-01T00:00:00Z","updatedAt":"2026-01-01T00:00:00Z","defaultBranchRef":{"name":"main"},` +
		`"issues":ISSUES,"pullRequests":{"totalCount":0,"nodes":[]}}`
	page := `{"user":{"id":"U_1","repositories":{"totalCount":1,"pageInfo":{"hasNextPage":false},"nodes":[` + repo + `]}}}`
	some := `{"totalCount":1,"nodes":[{"updatedAt":"2026-01-01T00:00:00Z"}]}`
	pulls := func(node string) string {
		return `{"data":{"node":{"pullRequests":{"totalCount":9,"pageInfo":{"hasNextPage":true,"endCursor":"C"},"nodes":[` + node + `]}}}}`
	}
	none := `{"totalCount":0,"pageInfo":{"hasNextPage":false},"nodes":[]}`
	timeless := `{"id":"PR_1","number":1,"updatedAt":null,"reviews":` + none + `,"commits":` + none + `,"files":` + none + `}`
	nameless := strings.NewReplacer(`"PR_1"`, "null", `"updatedAt":null`, `"updatedAt":"2020-01-01T00:00:00Z"`).Replace(timeless)
	numberless := strings.NewReplacer(`"number":1`, `"number":null`, `"updatedAt":null`, `"updatedAt":"2020-01-01T00:00:00Z"`).Replace(timeless)
	return map[string]unsaid{
		"error without a path":  {DiscoverReposUpdated, `{"data":` + strings.ReplaceAll(page, "ISSUES", some) + `,"errors":[{"message":"timeout"}]}`, false},
		"null without an error": {DiscoverReposUpdated, `{"data":` + strings.ReplaceAll(page, "ISSUES", "null") + `}`, true},
		"count without newest":  {DiscoverReposUpdated, `{"data":` + strings.ReplaceAll(page, "ISSUES", `{"totalCount":3,"nodes":[]}`) + `}`, true},
		"a null repository":     {DiscoverReposUpdated, `{"data":{"user":{"id":"U_1","repositories":{"totalCount":1,"pageInfo":{"hasNextPage":false},"nodes":[null]}}}}`, false},
		"no total":              {DiscoverReposUpdated, `{"data":{"user":{"id":"U_1","repositories":{"totalCount":null,"pageInfo":{"hasNextPage":false},"nodes":[]}}}}`, false},
		"sweep, null in a list": {SweepPulls, `{"data":{"node":{"pullRequests":{"totalCount":1,"pageInfo":{"hasNextPage":false},"nodes":[null]}}},"errors":[{"message":"timeout","path":["node","pullRequests","nodes",0]}]}`, false},
		"sweep, no page info":   {SweepPulls, `{"data":{"node":{"pullRequests":{"totalCount":0,"pageInfo":null,"nodes":[]}}},"errors":[{"message":"timeout","path":["node","pullRequests","pageInfo"]}]}`, false},
		"history, null commit":  {CommitStats, `{"data":{"node":{"defaultBranchRef":{"target":{"history":{"totalCount":1,"pageInfo":{"hasNextPage":false},"nodes":[null]}}}}}}`, false},

		"reviews, null pull request":       {RepoReviews, pulls("null"), false},
		"reviews, null time":               {RepoReviews, pulls(timeless), false},
		"reviews, null id":                 {RepoReviews, pulls(nameless), false},
		"reviews, null number":             {RepoReviews, pulls(numberless), false},
		"sweep of reviews, null time":      {SweepReviews, pulls(timeless), false},
		"pull commits, null pull request":  {RepoPullCommits, pulls("null"), false},
		"pull commits, null time":          {RepoPullCommits, pulls(timeless), false},
		"pull files, null pull request":    {RepoPullFiles, pulls("null"), false},
		"pull files, null time":            {RepoPullFiles, pulls(timeless), false},
		"changed pulls, null pull request": {RepoPulls, pulls("null"), false},
		"changed pulls, null time":         {RepoPulls, pulls(`{"id":"PR_1","databaseId":"1","number":1,"updatedAt":null}`), false},
		"changed pulls, null number":       {RepoPulls, pulls(`{"id":"PR_1","databaseId":"1","number":null,"updatedAt":"2026-09-01T12:00:00Z"}`), false},
		"discussions, null node":           {RepoDiscussions, strings.ReplaceAll(pulls("null"), "pullRequests", "discussions"), false},
		"discussions, null time":           {RepoDiscussions, strings.ReplaceAll(pulls(`{"databaseId":1,"updatedAt":null}`), "pullRequests", "discussions"), false},
		"issues, null time":                {RepoIssues, `[{"id":1,"number":1,"node_id":"I_1","updated_at":null}]`, false},
		"comments, null time":              {RepoComments, `[{"id":1,"updated_at":null}]`, false},
		"workflow runs, null time":         {RepoRuns, `{"total_count":1,"workflow_runs":[{"id":1,"updated_at":null}]}`, false},
	}
}

// TestNothingIsReadFromAnAnswerThatDoesNotSayWhatItLacks: an error without a
// path, a null without an error.
func TestNothingIsReadFromAnAnswerThatDoesNotSayWhatItLacks(t *testing.T) {
	for name, c := range unsaidAnswers() {
		t.Run(name, func(t *testing.T) {
			src := serve(t, reply{status: 200, body: c.body}, Options{Resources: ResourceNames()})
			call := callOf(jobOf(c.job))
			if call.Job.Resource == "repo:42" && !strings.HasPrefix(name, "sweep") && c.job != CommitStats {
				call.Since = testNow.Add(-time.Hour) // it asks for what changed since
				call.Cursors = map[string]time.Time{src.opt.cursorKey(c.job, call.Job.Bucket, "repo:42"): call.Since}
			}
			res := src.Call(context.Background(), call)
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

// A page of a feed with something on it that has no time does not end a walk for changes:
// that may be new. A list that does not say how long it is does not prove that anything is
// gone.
func TestFeedsThatDoNotSayWhen(t *testing.T) {
	header := map[string]string{"Link": `</repositories/42/issues/events?page=2&per_page=100>; rel="next"`}
	for times, goesOn := range map[string]bool{`"2020-01-01T00:00:00Z","2020-01-02T00:00:00Z"`: false, `"2020-01-01T00:00:00Z",null`: true, `null,null`: true} {
		at := strings.Split(times, ",")
		body := `[{"id":1,"created_at":` + at[0] + `},{"id":2,"created_at":` + at[1] + `}]`
		src := serve(t, reply{status: 200, body: body, header: header}, Options{Resources: ResourceNames()})
		call := callOf(jobOf(RepoIssueEvents))
		call.Since = testNow.Add(-time.Hour)
		res := src.Call(t.Context(), call)
		if going := len(res.Next) == 1 && len(res.Cursors) == 0; going != goesOn || len(res.Documents) != 2 {
			t.Errorf("%s: %d documents, next %v, cursors %v", times, len(res.Documents), res.Next, res.Cursors)
		}
	}
	for total, gone := range map[string]int{"0": 2, "null": 0, "1": 0} {
		src := serve(t, reply{status: 200, body: `{"total_count":` + total + `,"workflow_runs":[]}`}, Options{Resources: ResourceNames()})
		if res := src.Call(t.Context(), callOf(jobOf(SweepRuns))); len(res.Absences) != gone || len(res.Cursors) == 0 {
			t.Errorf("of %s: %+v, cursors %v, %v", total, res.Absences, res.Cursors, res.Failure)
		}
	}
}

// What discovery does not say of a list is not taken for that nothing changed in it, but
// for labels, which have no time until they change.
func TestListsOfWhichDiscoveryDoesNotTellAll(t *testing.T) {
	for told, all := range map[string]bool{
		`"releases":{"totalCount":1,"nodes":[{"updatedAt":"2026-01-01T00:00:00Z"}]}`:                        true,
		`"releases":{"totalCount":2,"nodes":[{"updatedAt":"2026-01-01T00:00:00Z"},null]}`:                   false,
		`"releases":{"totalCount":2,"nodes":[{"updatedAt":"2026-01-01T00:00:00Z"},{"updatedAt":null}]}`:     false,
		`"milestones":{"totalCount":9,"nodes":[{"updatedAt":"2026-01-01T00:00:00Z"}]}`:                      true,
		`"milestones":{"totalCount":9,"nodes":[{"updatedAt":null}]}`:                                        false,
		`"labels":{"totalCount":2,"nodes":[{"updatedAt":null},{"updatedAt":"2026-01-01T00:00:00Z"}]}`:       true,
		`"labels":{"totalCount":2,"nodes":[{"updatedAt":"2026-01-01T00:00:00Z"},null]}`:                     false,
		`"labels":{"totalCount":101,"nodes":[{"updatedAt":null},{"updatedAt":"2026-01-01T00:00:00Z"}]}`:     false,
		`"releases":{"totalCount":null,"nodes":[]},"milestones":{"totalCount":0,"nodes":[]}`:                true,
		`"releases":{"totalCount":0,"nodes":[{"updatedAt":null}]},"milestones":{"totalCount":0,"nodes":[]}`: true,
	} {
		r, end := readRepository([]byte(`{`+told+`}`), 0)
		name, _, _ := strings.Cut(strings.Trim(told, `"`), `"`)
		if strings.Contains(told, `"milestones":{"totalCount":0`) {
			name = "milestones"
		}
		if end < 0 || r.lists[name].all != all {
			t.Errorf("%s is known to be told as a whole: %t", told, r.lists[name].all)
		}
	}
	r, _ := readRepository([]byte(`{"labels":{"totalCount":1,"nodes":[{"updatedAt":null}]},"releases":{"totalCount":0,"nodes":[]}}`), 0)
	left := holes{{path: []string{"labels", "nodes", "0", "updatedAt"}}, {path: []string{"issues"}}}.withoutTold(&r)
	if _, known := r.lists["labels"]; known || len(left) != 1 || len(r.lists) != 1 {
		t.Errorf("an error about labels leaves %v, and the errors %v", r.lists, left)
	}
}

// A pull request that a sweep met and whose contents the token may not see is there.
func TestWhatIsForbiddenIsNotGone(t *testing.T) {
	for kind, gone := range map[string]bool{"NOT_FOUND": true, "FORBIDDEN": false} {
		src := serve(t, reply{status: 200, body: `{"data":{"nodes":[null]},"errors":[{"type":"` + kind + `","path":["nodes",0],"message":"no"}]}`}, Options{})
		p := params{Repo: &testRepo, IDs: []string{"PR_1"}, Of: SweepPulls, At: testNow.Unix(), Start: testNow.Unix(), Page: 2}
		res := src.Call(t.Context(), callOf(p.spec(RepoPulls, "repo:42", "ids:SWEEP_PULLS:PR_1", BucketGraphQL)))
		if (len(res.Absences) > 0) != gone || len(res.Cursors) == 0 {
			t.Errorf("%s: %+v, cursors %v, %v", kind, res.Absences, res.Cursors, res.Failure)
		}
	}
}

// A repository that has commits and does not say when it was pushed to is asked for new
// ones; an empty one is not.
func TestRepositoryThatDoesNotSayWhenItWasPushedTo(t *testing.T) {
	src, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range []repository{{repoRef: testRepo}, {repoRef: testRepo, empty: true}, {repoRef: testRepo, pushed: testNow.Add(-time.Hour)}} {
		d := src.discovery(src.newCall(source.Call{}, params{}), &answer{date: testNow})
		d.c.Cursors = map[string]time.Time{CursorKey(CommitStats, "repo:42"): testNow}
		d.commits(r)
		if asks := !r.empty && r.pushed.IsZero(); asks != (len(d.res.Next) == 1) {
			t.Errorf("empty %t, pushed to at %v: planned %v", r.empty, r.pushed, d.res.Next)
		}
	}
}
