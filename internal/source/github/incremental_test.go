package github

import (
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"sluice/internal/domain"

	sim "sluice/internal/simulator/github"
	"sluice/internal/testkit"
)

// clock is a time that moves only when told to.
type clock struct{ now atomic.Int64 }

func newClock() *clock {
	c := &clock{}
	c.now.Store(time.Date(2026, 9, 1, 12, 0, 0, 0, time.UTC).UnixNano())
	return c
}

func (c *clock) Now() time.Time          { return time.Unix(0, c.now.Load()).UTC() }
func (c *clock) advance(d time.Duration) { c.now.Add(int64(d)) }
func (c *clock) run(d *driver)           { c.advance(time.Hour); d.run(c.Now()); c.advance(time.Hour) }
func isQuery(part string) sim.Match {
	return func(r *http.Request) bool {
		if r.Body == nil {
			return false
		}
		body, _ := io.ReadAll(r.Body)
		return strings.Contains(string(body), part)
	}
}

func smallShape() *sim.Shape {
	return &sim.Shape{Repos: sim.Exactly(6), Commits: sim.Between(1, 130), Issues: sim.Between(1, 130), Pulls: sim.Between(1, 60)}
}

func TestUnchangedAccountCostsNoRESTQuota(t *testing.T) {
	c := newClock()
	w := newWorld(t, sim.Options{Seed: 5, Accounts: 3, Now: c.Now})
	for _, base := range []string{"", "/api/v3"} {
		login := w.Logins()[1]
		d := w.driver(t, Options{BaseURL: base, Now: c.Now}, login)
		c.run(d)
		d.noFailures()
		w.ResetAudit()
		c.run(d)
		d.noFailures()
		a := w.Audit()
		if rest := a.ByBucket["core"] - a.NotModified; rest != 0 {
			t.Errorf("base %q: %d REST calls were paid for", base, rest)
		}
		if d.free != a.NotModified {
			t.Errorf("base %q: %d calls called free, %d were", base, d.free, a.NotModified)
		}
		if a.GraphQLPoints > 4 {
			t.Errorf("base %q: %d GraphQL points", base, a.GraphQLPoints)
		}
		d.matches(mustTruth(t, w, login, time.Time{}), true)
	}
}

// changeALittle makes one change of each kind.
func changeALittle(t *testing.T, w *world, login string) {
	t.Helper()
	repos := w.Repos(login)
	must := func(err error) {
		if err != nil {
			t.Helper()
			t.Fatal(err)
		}
	}
	must(w.Push(repos[0], 3))
	_, err := w.OpenIssue(repos[1])
	must(err)
	pull, err := w.OpenPull(repos[2])
	must(err)
	must(w.MergePull(repos[2], pull))
	must(w.EditIssue(repos[3], 1))
	must(w.Star(repos[4], 2))
	must(w.RenameRepo(repos[5], "another-name"))
	must(w.EditIssue(sim.Repo{Owner: login, Name: "another-name"}, 2))
}

func TestLaterRunCollectsWhatChanged(t *testing.T) {
	for name, opt := range map[string]Options{"GraphQL": {}, "REST": {NoGraphQL: true}, "without own cursors": {}} {
		t.Run(name, func(t *testing.T) {
			c := newClock()
			w := newWorld(t, sim.Options{Seed: 11, Accounts: 1, Shape: smallShape(), Now: c.Now})
			login := w.Logins()[0]
			opt.Now = c.Now
			d := w.driver(t, opt, login)
			if name == "without own cursors" {
				d.src = w.source(t, opt)
			}
			c.run(d)
			first := d.calls
			changeALittle(t, w, login)
			c.run(d)
			d.noFailures()
			d.matches(mustTruth(t, w, login, time.Time{}), !opt.NoGraphQL)
			if !opt.NoGraphQL && d.calls > 15 {
				t.Errorf("%d calls for eight changes (first run: %d)", d.calls, first)
			}
			c.run(d)
			d.noFailures()
			if d.calls > 4 && !opt.NoGraphQL {
				t.Errorf("%d calls when nothing changed", d.calls)
			}
		})
	}
}

func TestManyChangedPullsComeInBatches(t *testing.T) {
	c := newClock()
	w := newWorld(t, sim.Options{Seed: 2, Accounts: 1, Now: c.Now,
		Shape: &sim.Shape{Repos: sim.Exactly(1), Commits: sim.Exactly(1), Issues: sim.Exactly(60), Pulls: sim.Exactly(250)}})
	login := w.Logins()[0]
	d := w.driver(t, Options{Now: c.Now}, login)
	c.run(d)
	repo := w.Repos(login)[0]
	for number := 1; number <= 310; number++ {
		if err := w.EditIssue(repo, number); err != nil {
			t.Fatal(err)
		}
	}
	c.run(d)
	d.noFailures()
	d.matches(mustTruth(t, w, login, time.Time{}), true)
	resource := d.repositoryResource()
	if issues, pulls := d.pages[CursorKey(RepoIssues, resource)], d.pages[CursorKey(RepoPulls, resource)]; issues != 4 || pulls != 3 {
		t.Errorf("%d pages of issues and %d batches of pull requests, want 4 and 3", issues, pulls)
	}
}

func TestFailedBatchHoldsTheCursorBack(t *testing.T) {
	c := newClock()
	w := newWorld(t, sim.Options{Seed: 2, Accounts: 1, Now: c.Now,
		Shape: &sim.Shape{Repos: sim.Exactly(1), Commits: sim.Exactly(1), Issues: sim.Exactly(5), Pulls: sim.Exactly(5)}})
	login := w.Logins()[0]
	d := w.driver(t, Options{Now: c.Now}, login)
	c.run(d)
	for number := 1; number <= 10; number++ {
		if err := w.EditIssue(w.Repos(login)[0], number); err != nil {
			t.Fatal(err)
		}
	}
	w.OnRequest(func(r *http.Request, _ int) *sim.Fault {
		if !isQuery("PullRequest{")(r) {
			return nil
		}
		f := sim.ServerError(502)
		return &f
	})
	c.run(d)
	if len(d.failures) != 1 {
		t.Fatalf("failures %q, want one", d.failures)
	}
	w.ClearHooks()
	c.run(d)
	d.noFailures()
	d.matches(mustTruth(t, w, login, time.Time{}), true)
}

func TestWorkThatFailedComesBackWithoutAChange(t *testing.T) {
	for _, part := range []string{"history(", "nodes(ids:"} {
		c := newClock()
		w := newWorld(t, sim.Options{Seed: 4, Accounts: 1, Shape: smallShape(), Now: c.Now})
		login := w.Logins()[0]
		d := w.driver(t, Options{Now: c.Now}, login)
		w.FailNext(isQuery(part), 5, sim.ServerError(500))
		c.run(d)
		if len(d.failures) != 1 {
			t.Fatalf("failures %q, want one", d.failures)
		}
		c.run(d)
		d.noFailures()
		d.matches(mustTruth(t, w, login, time.Time{}), true)
	}
}

func TestRewrittenHistoryIsWalkedAgain(t *testing.T) {
	c := newClock()
	w := newWorld(t, sim.Options{Seed: 6, Accounts: 1, Now: c.Now,
		Shape: &sim.Shape{Repos: sim.Exactly(1), Commits: sim.Exactly(230), Issues: sim.Exactly(0), Pulls: sim.Exactly(0)}})
	login := w.Logins()[0]
	d := w.driver(t, Options{Now: c.Now}, login)
	c.run(d)
	if err := w.Push(w.Repos(login)[0], 1); err != nil {
		t.Fatal(err)
	}
	// As if an older history had been collected: one commit fewer.
	for key, page := range d.stored {
		if strings.HasPrefix(key, CommitStats) {
			page.Items--
			d.stored[key] = page
		}
	}
	for key := range d.docs {
		if key.Kind == KindCommit {
			delete(d.docs, key)
		}
	}
	c.run(d)
	d.noFailures()
	d.matches(mustTruth(t, w, login, time.Time{}), true)
	c.run(d)
	if d.calls != 4 {
		t.Errorf("%d calls after the history was walked again, want 4", d.calls)
	}
}

func TestChangedPullsWithoutIssuesListing(t *testing.T) {
	c := newClock()
	w := newWorld(t, sim.Options{Seed: 21, Accounts: 30, Now: c.Now})
	for _, login := range w.Logins() {
		d := w.driver(t, Options{Now: c.Now}, login)
		for _, r := range mustTruth(t, w, login, time.Time{}).Repositories {
			if !r.IssuesDisabled || len(r.Pulls) == 0 {
				continue
			}
			c.run(d)
			repo := sim.Repo{Owner: login, Name: r.Name}
			if err := w.EditIssue(repo, r.Pulls[0].Number); err != nil {
				t.Fatal(err)
			}
			if _, err := w.OpenPull(repo); err != nil {
				t.Fatal(err)
			}
			c.run(d)
			d.noFailures()
			d.matches(mustTruth(t, w, login, time.Time{}), true)
			return
		}
	}
	t.Fatal("no repository has its issues disabled and pull requests")
}

// TestExactWhileTheWorldChanges changes the world before every call.
func TestExactWhileTheWorldChanges(t *testing.T) {
	t.Run("many repositories", func(t *testing.T) {
		exactWhileChanging(t, &sim.Shape{Repos: sim.Exactly(130), Commits: sim.Between(1, 9), Issues: sim.Between(0, 9), Pulls: sim.Between(0, 9)})
	})
	t.Run("long lists", func(t *testing.T) {
		exactWhileChanging(t, &sim.Shape{Repos: sim.Exactly(3), Commits: sim.Between(200, 420), Issues: sim.Between(100, 420), Pulls: sim.Between(50, 320)})
	})
}

func exactWhileChanging(t *testing.T, shape *sim.Shape) {
	c := newClock()
	w := newWorld(t, sim.Options{Seed: testkit.Seed(t), Accounts: 1, Now: c.Now, Shape: shape})
	login := w.Logins()[0]
	d := w.driver(t, Options{Now: c.Now}, login)
	d.before = func(domain.JobSpec) {
		c.advance(time.Second)
		w.MutateOnce(login)
	}
	for range 2 {
		c.advance(time.Hour)
		anchor := c.Now()
		d.run(anchor)
		d.noFailures()
		got := d.lines()
		for key := range (expect{measured: true}).lines(mustTruth(t, w, login, anchor)) {
			if _, ok := got[key]; !ok && !strings.HasPrefix(key, "event ") {
				t.Errorf("%s existed at the anchor and was missed", key)
			}
		}
	}
	d.before = nil
	c.run(d)
	d.noFailures()
	want := mustTruth(t, w, login, time.Time{})
	want.Events = nil
	for key := range d.docs {
		if key.Kind == KindEvent {
			delete(d.docs, key)
		}
	}
	d.matches(want, true)
}

func TestDeletedRepositoryIsMarked(t *testing.T) {
	c := newClock()
	w := newWorld(t, sim.Options{Seed: 8, Accounts: 1, Shape: smallShape(), Now: c.Now})
	login := w.Logins()[0]
	d := w.driver(t, Options{Now: c.Now}, login)
	gone := w.Repos(login)[0]
	d.before = func(job domain.JobSpec) {
		if strings.HasPrefix(job.Resource, "repo:") {
			d.before = nil
			if err := w.DeleteRepo(gone); err != nil {
				t.Fatal(err)
			}
		}
	}
	c.run(d)
	d.noFailures()
	marked := 0
	for key, doc := range d.docs {
		if key.Kind == KindRepository && doc.Deleted {
			marked++
			if doc.Title != gone.Owner+"/"+gone.Name {
				t.Errorf("marked %s, deleted was %v", doc.Title, gone)
			}
		}
	}
	if marked != 1 {
		t.Errorf("%d repositories are marked as deleted, want 1", marked)
	}
	d.matches(mustTruth(t, w, login, time.Time{}), true)
}

func TestClockAheadLosesNothing(t *testing.T) {
	c := newClock()
	w := newWorld(t, sim.Options{Seed: 9, Accounts: 1, Shape: smallShape(), Now: c.Now})
	login := w.Logins()[0]
	ahead := func() time.Time { return c.Now().Add(time.Hour) }
	d := w.driver(t, Options{Now: ahead}, login)
	d.run(ahead())
	c.advance(time.Minute)
	changeALittle(t, w, login)
	c.advance(time.Minute)
	d.run(ahead())
	d.noFailures()
	d.matches(mustTruth(t, w, login, time.Time{}), true)
}
