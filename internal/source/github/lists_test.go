package github

import (
	"context"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"sluice/internal/document"
	"sluice/internal/domain"
	"sluice/internal/source"

	sim "sluice/internal/simulator/github"
)

// TestDeletionBetweenPagesSkipsNothing deletes issues of pages that were read
// already, which moves others onto these pages.
func TestDeletionBetweenPagesSkipsNothing(t *testing.T) {
	for name, opt := range bothWays {
		t.Run(name, func(t *testing.T) {
			c := newClock()
			w := newWorld(t, sim.Options{Seed: 5, Accounts: 1, Now: c.Now, Shape: &sim.Shape{
				Repos: sim.Exactly(1), Commits: sim.Exactly(1), Issues: sim.Exactly(280), Pulls: sim.Exactly(220)}})
			login := w.Logins()[0]
			opt.Now = c.Now
			d := w.driver(t, opt, login)
			repo := w.Repos(login)[0]
			victims := map[string][]int{"2": {3, 50}, "4": {5, 120, 133, 260}}
			d.before = func(job domain.JobSpec) {
				if job.Type != RepoIssues && job.Type != RepoPulls {
					return
				}
				for _, number := range victims[job.PageKey] {
					if err := w.DeleteIssue(repo, number); err != nil {
						t.Fatal(err)
					}
				}
				delete(victims, job.PageKey)
			}
			c.run(d)
			d.noFailures()
			got := d.lines()
			for key := range (expect{measured: !opt.NoGraphQL}).lines(mustTruth(t, w, login, time.Time{})) {
				if _, ok := got[key]; !ok {
					t.Errorf("%s was skipped", key)
				}
			}
			if len(victims) != 0 {
				t.Errorf("nothing was deleted before pages %v", victims)
			}
		})
	}
}

// TestRepositoriesDeletedBetweenPagesSkipNothing does the same to the listing
// of repositories in REST.
func TestRepositoriesDeletedBetweenPagesSkipNothing(t *testing.T) {
	c := newClock()
	w := newWorld(t, sim.Options{Seed: 5, Accounts: 1, Now: c.Now, Shape: &sim.Shape{
		Repos: sim.Exactly(210), Commits: sim.Exactly(0), Issues: sim.Exactly(0), Pulls: sim.Exactly(0)}})
	login := w.Logins()[0]
	d := w.driver(t, Options{NoGraphQL: true, Now: c.Now}, login)
	repos := w.Repos(login)
	d.before = func(job domain.JobSpec) {
		if job.Type == DiscoverReposUpdated && job.PageKey == "2" {
			for _, i := range []int{1, 7} {
				if err := w.DeleteRepo(repos[i]); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	c.run(d)
	d.noFailures()
	d.matches(mustTruth(t, w, login, time.Time{}), false)
}

// TestUnchangedListingTakesNoMoreCalls counts the pages of a listing of which
// nothing is deleted, and of one with a gap between two pages.
func TestUnchangedListingTakesNoMoreCalls(t *testing.T) {
	for gap, want := range map[bool]int{false: 3, true: 4} {
		c := newClock()
		w := newWorld(t, sim.Options{Seed: 5, Accounts: 1, Now: c.Now, Shape: &sim.Shape{
			Repos: sim.Exactly(1), Commits: sim.Exactly(1), Issues: sim.Exactly(230), Pulls: sim.Exactly(20)}})
		login := w.Logins()[0]
		if gap {
			if err := w.DeleteIssue(w.Repos(login)[0], 101); err != nil {
				t.Fatal(err)
			}
		}
		d := w.driver(t, Options{Now: c.Now}, login)
		c.run(d)
		d.noFailures()
		if n := d.pages[CursorKey(RepoIssues, d.repositoryResource())]; n != want || d.free != want-3 {
			t.Errorf("gap %t: %d calls, %d of them free; want %d, all beyond 3 free", gap, n, d.free, want)
		}
	}
}

// TestSweepBringsWhatWasMissed forgets an issue and a pull request: no cursor
// would ever ask for them again.
func TestSweepBringsWhatWasMissed(t *testing.T) {
	for name, opt := range bothWays {
		t.Run(name, func(t *testing.T) {
			c := newClock()
			w := newWorld(t, sim.Options{Seed: 5, Accounts: 1, Now: c.Now, Shape: &sim.Shape{
				Repos: sim.Exactly(1), Commits: sim.Exactly(1), Issues: sim.Exactly(130), Pulls: sim.Exactly(120)}})
			login := w.Logins()[0]
			opt.Now, opt.SweepEvery = c.Now, 24*time.Hour
			d := w.driver(t, opt, login)
			c.run(d)
			for _, kind := range []document.Kind{KindIssue, KindPull} {
				for key := range d.docs {
					if key.Kind == kind {
						delete(d.docs, key)
						break
					}
				}
			}
			c.advance(48 * time.Hour)
			c.run(d)
			d.noFailures()
			d.matches(mustTruth(t, w, login, time.Time{}), !opt.NoGraphQL)
		})
	}
}

// TestFullLastPageDoesNotHideWhatFollows fills the last page of a listing to
// the brim, which looks the same when a page follows it.
func TestFullLastPageDoesNotHideWhatFollows(t *testing.T) {
	c := newClock()
	w := newWorld(t, sim.Options{Seed: 5, Accounts: 1, Now: c.Now, Shape: &sim.Shape{
		Repos: sim.Exactly(1), Commits: sim.Exactly(1), Issues: sim.Exactly(0), Pulls: sim.Exactly(200)}})
	login := w.Logins()[0]
	d := w.driver(t, Options{NoGraphQL: true, Now: c.Now}, login)
	c.run(d)
	for range 5 {
		if _, err := w.OpenPull(w.Repos(login)[0]); err != nil {
			t.Fatal(err)
		}
	}
	c.run(d)
	d.noFailures()
	d.matches(mustTruth(t, w, login, time.Time{}), false)
}

// TestWiderQuestionStartsOver asks for the own commits first, and for less
// and more of the rest.
func TestWiderQuestionStartsOver(t *testing.T) {
	for name, opts := range map[string][]Options{
		"own commits, then all":        {{OnlyOwnCommits: true}, {}},
		"own commits by REST":          {{OnlyOwnCommits: true, NoGraphQL: true}, {NoGraphQL: true}},
		"REST, then GraphQL":           {{NoGraphQL: true}, {}},
		"GraphQL, then REST, and back": {{}, {NoGraphQL: true}, {}},
		"all, then own, then all":      {{}, {OnlyOwnCommits: true}, {}},
	} {
		t.Run(name, func(t *testing.T) {
			c := newClock()
			w := newWorld(t, sim.Options{Seed: 11, Accounts: 1, Shape: smallShape(), Now: c.Now})
			login := w.Logins()[0]
			d := w.driver(t, Options{}, login)
			for _, opt := range opts {
				opt.Now = c.Now
				d.src = w.source(t, opt)
				c.run(d)
				d.noFailures()
			}
			last := opts[len(opts)-1]
			d.matches(mustTruth(t, w, login, time.Time{}), !last.NoGraphQL)
		})
	}
}

func TestDefaultOptionsKeepTheirCursors(t *testing.T) {
	opt := Options{Resources: StandardResources()}
	for _, more := range [][]string{{"reactions"}, {"review_requests"}, {"reactions", "review_requests"}} {
		wider := Options{Resources: more}
		for _, typ := range []string{RepoPulls, SweepPulls} {
			if key := wider.cursorKey(typ, BucketGraphQL, "repo:1"); !strings.HasPrefix(key, typ+" repo:1 ") {
				t.Errorf("%v have the cursor %q", more, key)
			}
			if key := wider.cursorKey(typ, BucketCore, "repo:1"); key != opt.cursorKey(typ, BucketCore, "repo:1") {
				t.Errorf("REST, which has them anyway, has the cursor %q", key)
			}
		}
		if wider.cursorKey(RepoIssues, BucketCore, "repo:1") != opt.cursorKey(RepoIssues, BucketCore, "repo:1") {
			t.Errorf("%v change the cursor of issues", more)
		}
	}
	for _, typ := range []string{CommitStats, RepoCommits, RepoIssues, RepoPulls, DiscoverReposPushed, DiscoverReposUpdated, SweepPulls} {
		if key := opt.cursorKey(typ, BucketGraphQL, "repo:1"); key != typ+" repo:1" {
			t.Errorf("%s has the cursor %q", typ, key)
		}
	}
	if key := opt.proofKey("repo:1"); key != CommitStats+" repo:1 " {
		t.Errorf("the proof is kept as %q", key)
	}
}

var firstOf = regexp.MustCompile(`"first":(\d+)`)

// TestHeavyPagesShrinkAndGrow lets GitHub fail on pages above a size.
func TestHeavyPagesShrinkAndGrow(t *testing.T) {
	wrong := `{"data":null,"errors":[{"message":"Something went wrong while executing your query."}]}`
	for name, heavy := range map[string]struct {
		part   string
		status int
		body   string
	}{
		"history, 502":              {"history(", 502, html},
		"history, timeout":          {"history(", 200, wrong},
		"pull requests, 504":        {"pullRequests(first:$first", 504, html},
		"repositories, 502":         {"repositories(first", 502, html},
		"repositories, timeout":     {"repositories(first", 200, wrong},
		"several repositories, 502": {"nodes(ids:$ids){...on Repository", 502, html},
	} {
		t.Run(name, func(t *testing.T) {
			c := newClock()
			w := newWorld(t, sim.Options{Seed: 11, Accounts: 1, Now: c.Now, Shape: &sim.Shape{
				Repos: sim.Exactly(7), Commits: sim.Between(40, 90), Issues: sim.Exactly(3), Pulls: sim.Between(30, 120)}})
			login := w.Logins()[0]
			d, b := w.through(t, Options{Now: c.Now}, login)
			failed := 0
			b.answer = func(rw http.ResponseWriter, _ *http.Request, query string) bool {
				if !strings.Contains(query, heavy.part) {
					return false
				}
				if m := firstOf.FindStringSubmatch(query); m != nil {
					if first, _ := strconv.Atoi(m[1]); first <= 5 {
						return false
					}
				}
				failed++
				rw.WriteHeader(heavy.status)
				_, _ = rw.Write([]byte(heavy.body))
				return true
			}
			c.run(d)
			d.noFailures()
			d.matches(mustTruth(t, w, login, time.Time{}), true)
			if failed == 0 {
				t.Error("nothing was too heavy")
			}
		})
	}
}

// TestHistoryThatGraphQLCannotGiveComesByREST fails every page of a history.
func TestHistoryThatGraphQLCannotGiveComesByREST(t *testing.T) {
	c := newClock()
	w := newWorld(t, sim.Options{Seed: 11, Accounts: 1, Now: c.Now, Shape: &sim.Shape{
		Repos: sim.Exactly(1), Commits: sim.Exactly(130), Issues: sim.Exactly(3), Pulls: sim.Exactly(3)}})
	login := w.Logins()[0]
	d := w.driver(t, Options{Now: c.Now}, login)
	w.OnRequest(func(r *http.Request, _ int) *sim.Fault {
		if !isQuery("history(first:$first")(r) {
			return nil
		}
		f := sim.ServerError(502)
		return &f
	})
	c.run(d)
	d.noFailures()
	d.matches(mustTruth(t, w, login, time.Time{}), true)
}

// TestHeavyListingShrinksWhereItStands changes the size of numbered pages.
func TestHeavyListingShrinksWhereItStands(t *testing.T) {
	c := newClock()
	w := newWorld(t, sim.Options{Seed: 11, Accounts: 1, Now: c.Now, Shape: &sim.Shape{
		Repos: sim.Exactly(1), Commits: sim.Exactly(1), Issues: sim.Exactly(320), Pulls: sim.Exactly(30)}})
	login := w.Logins()[0]
	d, b := w.through(t, Options{Now: c.Now}, login)
	b.answer = func(rw http.ResponseWriter, r *http.Request, _ string) bool {
		q := r.URL.Query()
		size, _ := strconv.Atoi(q.Get("per_page"))
		page, _ := strconv.Atoi(q.Get("page"))
		// What lies between 100 and 200 can only be had in small pages.
		if !strings.Contains(r.URL.Path, "/issues") || size <= 25 || page*size <= 100 || (page-1)*size >= 200 {
			return false
		}
		rw.WriteHeader(http.StatusBadGateway)
		_, _ = rw.Write([]byte(html))
		return true
	}
	c.run(d)
	d.noFailures()
	d.matches(mustTruth(t, w, login, time.Time{}), true)
}

func TestRateHeadersOfA401AreNotTheOwners(t *testing.T) {
	header := map[string]string{"X-RateLimit-Limit": "60", "X-RateLimit-Remaining": "59", "X-RateLimit-Reset": "1900000000", "X-RateLimit-Resource": "core"}
	for status, known := range map[int]bool{200: true, 401: false, 404: true} {
		src := serve(t, reply{status: status, body: `[]`, header: header}, Options{})
		res := src.Call(context.Background(), callOf(jobOf(RepoIssues)))
		if res.Quota.Known != known {
			t.Errorf("%d: %+v", status, res.Quota)
		}
	}
}

// TestFieldThatGitHubDoesNotKnow collects from a server whose GraphQL is older.
func TestFieldThatGitHubDoesNotKnow(t *testing.T) {
	for _, part := range []string{"PUSHED_AT", "UPDATED_AT,direction:ASC", "history(first:$first", "pullRequests(first:"} {
		c := newClock()
		w := newWorld(t, sim.Options{Seed: 11, Accounts: 1, Shape: smallShape(), Now: c.Now})
		login := w.Logins()[0]
		d, b := w.through(t, Options{Now: c.Now}, login)
		refused := 0
		b.answer = func(rw http.ResponseWriter, _ *http.Request, query string) bool {
			if !strings.Contains(query, part) || part == "pullRequests(first:" && !strings.Contains(query, "additions") {
				return false
			}
			refused++
			_, _ = rw.Write([]byte(`{"errors":[{"path":["query","x"],"extensions":{"code":"undefinedField"},"message":"Field 'x' doesn't exist on type 'Repository'"}]}`))
			return true
		}
		c.run(d)
		d.noFailures()
		if refused == 0 {
			t.Errorf("%s: nothing was refused", part)
		}
		got := d.lines()
		for key := range (expect{measured: true}).lines(mustTruth(t, w, login, time.Time{})) {
			if _, ok := got[key]; !ok {
				t.Errorf("%s: %s is missing", part, key)
				break
			}
		}
	}
}

func TestPullRequestsTellWhoseTheyAre(t *testing.T) {
	c := newClock()
	w := newWorld(t, sim.Options{Seed: 11, Accounts: 1, Shape: smallShape(), Now: c.Now})
	d := w.driver(t, Options{Now: c.Now}, w.Logins()[0])
	c.run(d)
	checked := 0
	for key, doc := range d.docs {
		raw := view(doc.Raw)
		switch key.Kind {
		case KindRepository:
			if raw.Get("owner.databaseId").Int() == 0 {
				t.Fatalf("a repository without the id of its owner: %s", doc.Raw)
			}
		case KindPull:
			if checked++; !raw.Get("baseRepository.stargazerCount").Exists() || raw.Get("baseRepository.owner.databaseId").Int() == 0 ||
				raw.Get("headRepository.owner.databaseId").Int() == 0 {
				t.Fatalf("a pull request without stars or owners: %s", doc.Raw)
			}
		}
	}
	if checked == 0 {
		t.Error("no pull request was collected")
	}
}

func TestPagesShrinkStepByStep(t *testing.T) {
	src, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		first, steady, failures int
		size, next, nextSteady  int
		target                  string
	}{
		{0, 0, 0, 100, 0, 0, "/x?page=3&per_page=100"},
		{0, 0, 1, 50, 50, 3, "/x?page=5&per_page=50"},
		{0, 0, 4, 1, 1, 3, "/x?page=201&per_page=1"},
		{50, 3, 0, 50, 50, 2, "/x?page=5&per_page=50"},
		{50, 0, 0, 50, 100, 0, "/x?page=5&per_page=50"},
		{5, 0, 9, 1, 1, 3, "/x?page=201&per_page=1"},
	} {
		call := src.newCall(source.Call{Job: domain.Job{Failures: c.failures}}, params{First: c.first, Steady: c.steady})
		next, steady := call.nextSize()
		if call.size() != c.size || next != c.next || steady != c.nextSteady || call.resize("/x?page=3&per_page=100") != c.target {
			t.Errorf("%+v: size %d, then %d and %d, %s", c, call.size(), next, steady, call.resize("/x?page=3&per_page=100"))
		}
	}
}
