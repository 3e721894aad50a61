package github

import (
	"net/http"
	"testing"
	"time"

	sim "sluice/internal/simulator/github"
)

func TestFirstRunCollectsEverything(t *testing.T) {
	w := newWorld(t, sim.Options{Seed: 7, Accounts: 8})
	for _, login := range w.Logins() {
		t.Run(login, func(t *testing.T) {
			d := w.driver(t, Options{}, login)
			before := w.Audit().GraphQLPoints
			d.run(time.Now())
			d.noFailures()
			d.matches(mustTruth(t, w, login, time.Time{}), true)
			if paid := w.Audit().GraphQLPoints - before; paid != d.asked[BucketGraphQL] {
				t.Errorf("asked for %d points, paid %d", d.asked[BucketGraphQL], paid)
			}
			minimum, err := w.MinimumCalls(login)
			if err != nil {
				t.Fatal(err)
			}
			if float64(d.calls) > 1.05*float64(minimum.Total) {
				t.Errorf("%d calls, the minimum is %d (%+v)", d.calls, minimum.Total, minimum)
			}
		})
	}
	if a := w.Audit(); a.Violations != 0 || a.Repeated != 0 || a.RepeatedQueries != 0 {
		t.Errorf("violations %d, repeated %d and %d", a.Violations, a.Repeated, a.RepeatedQueries)
	}
}

func TestRESTAloneCollectsEverything(t *testing.T) {
	w := newWorld(t, sim.Options{Seed: 3, Accounts: 2, Shape: &sim.Shape{
		Repos: sim.Between(2, 4), Commits: sim.Between(0, 130), Issues: sim.Between(0, 150), Pulls: sim.Between(0, 120), Oddities: true,
	}})
	for _, login := range w.Logins() {
		d := w.driver(t, Options{NoGraphQL: true}, login)
		d.run(time.Now())
		d.noFailures()
		d.matches(mustTruth(t, w, login, time.Time{}), false)
		if n := w.Audit().ByBucket["graphql"]; n != 0 {
			t.Errorf("%d GraphQL calls", n)
		}
	}
}

func TestOnlyOwnCommits(t *testing.T) {
	w := newWorld(t, sim.Options{Seed: 3, Accounts: 1, Shape: &sim.Shape{
		Repos: sim.Exactly(2), Commits: sim.Exactly(150), Issues: sim.Exactly(0), Pulls: sim.Exactly(0)}})
	login := w.Logins()[0]
	own := 0
	for _, r := range mustTruth(t, w, login, time.Time{}).Repositories {
		for _, c := range r.Commits {
			if c.AuthorLogin == login {
				own++
			}
		}
	}
	for _, opt := range []Options{{OnlyOwnCommits: true}, {OnlyOwnCommits: true, NoGraphQL: true}} {
		d := w.driver(t, opt, login)
		d.run(time.Now())
		d.noFailures()
		got := 0
		for key, doc := range d.docs {
			if key.Kind != KindCommit {
				continue
			}
			if got++; doc.Author != login {
				t.Errorf("commit %s is by %q", key.Name, doc.Author)
			}
		}
		if got != own || own == 0 || own == 300 {
			t.Errorf("%d commits, want %d of 300", got, own)
		}
	}
}

func TestRepositoriesOfOthersAreMarked(t *testing.T) {
	w := newWorld(t, sim.Options{Seed: 7, Accounts: 20})
	external := 0
	for _, login := range w.Logins() {
		d := w.driver(t, Options{Contributed: true, Collaborator: true}, login)
		d.run(time.Now())
		d.noFailures()
		for key, doc := range d.docs {
			if key.Kind == KindRepository && doc.External != (doc.Author != login) {
				t.Errorf("%s: external %t for %s", doc.Title, doc.External, login)
			}
			if key.Kind == KindCommit && doc.External {
				external++
			}
		}
	}
	if external == 0 {
		t.Error("nothing of a repository of others was collected")
	}
}

// TestLongListingsArePagedByCursor follows Links that page numbers alone could
// not replace.
func TestLongListingsArePagedByCursor(t *testing.T) {
	w := newWorld(t, sim.Options{Seed: 3, Accounts: 1, LargeIssues: 100, Shape: &sim.Shape{
		Repos: sim.Exactly(1), Commits: sim.Exactly(1), Issues: sim.Exactly(450), Pulls: sim.Exactly(130)}})
	login := w.Logins()[0]
	d := w.driver(t, Options{}, login)
	d.run(time.Now())
	d.noFailures()
	d.matches(mustTruth(t, w, login, time.Time{}), true)
	for ledger, n := range d.pages {
		if known := d.known[ledger]; known > 0 && known != n {
			t.Errorf("%s: %d pages were announced, %d came", ledger, known, n)
		}
	}
}

func TestThousandCommitsTakeFewCalls(t *testing.T) {
	w := newWorld(t, sim.Options{Seed: 3, Accounts: 1, Shape: &sim.Shape{
		Repos: sim.Exactly(1), Commits: sim.Exactly(1000), Issues: sim.Exactly(0), Pulls: sim.Exactly(0)}})
	login := w.Logins()[0]
	d := w.driver(t, Options{}, login)
	d.run(time.Now())
	d.noFailures()
	d.matches(mustTruth(t, w, login, time.Time{}), true)
	if n := d.pages[CursorKey(CommitStats, d.repositoryResource())]; n > 12 {
		t.Errorf("%d calls for 1,000 commits with statistics, want at most 12", n)
	}
}

// TestFaultsPassWithoutHarm lets every kind of passing fault happen in a
// collection that must still be complete.
func TestFaultsPassWithoutHarm(t *testing.T) {
	w := newWorld(t, sim.Options{Seed: 12, Accounts: 1, Shape: smallShape()})
	login := w.Logins()[0]
	faults := []sim.Fault{
		sim.ServerError(500), sim.HTMLErrorPage(), sim.TruncatedBody(), sim.ConnectionReset(), sim.MalformedJSON(),
		sim.SecondaryLimit(time.Second), sim.SecondaryLimit(0), sim.GraphQLErrors("RATE_LIMITED", "API rate limit exceeded"),
	}
	d := w.driver(t, Options{}, login)
	for i, fault := range faults {
		left, at := 1, 2+2*i
		w.OnRequest(func(_ *http.Request, n int) *sim.Fault {
			if n < at || left == 0 {
				return nil
			}
			left--
			return &fault
		})
	}
	d.run(time.Now())
	d.noFailures()
	d.matches(mustTruth(t, w, login, time.Time{}), true)
	if n := w.Audit().Faults; n != len(faults) {
		t.Errorf("%d faults happened, want %d", n, len(faults))
	}
}
