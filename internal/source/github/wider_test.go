package github

import (
	"fmt"
	"testing"
	"time"

	"sluice/internal/document"

	sim "sluice/internal/simulator/github"
)

// Columns of pull requests that are asked for later are filled for those, too, that did not
// change since, and for once.
func TestColumnsThatAreAskedForLater(t *testing.T) {
	c := newClock()
	w := newWorld(t, sim.Options{Seed: 6, Accounts: 1, NoPollInterval: true, Now: c.Now, Shape: &sim.Shape{
		Repos: sim.Exactly(2), Commits: sim.Exactly(3), Issues: sim.Exactly(20), Pulls: sim.Exactly(10)}})
	d := w.driver(t, Options{Now: c.Now}, w.Logins()[0])
	c.run(d)
	d.noFailures()
	for _, names := range [][]string{{"reactions"}, {"review_requests", "reactions"}} {
		d.src = w.source(t, Options{Now: c.Now, Resources: names})
		c.run(d)
		d.noFailures()
		for _, doc := range d.ofKind(KindPull) {
			raw := view(doc.Raw)
			if !raw.Get("reactions").Exists() || raw.Get("reviewRequests").Exists() != (len(names) == 2) {
				t.Errorf("%v: pull request %d has no such columns", names, doc.Number)
			}
		}
		c.run(d)
		if d.pages[CursorKey(RepoPulls, d.repositoryResource())] != 0 || d.calls > 4 {
			t.Errorf("%v: nothing changed, and %d calls were made", names, d.calls)
		}
	}
	if n := len(d.ofKind(KindPull)); n != 20 {
		t.Errorf("%d pull requests", n)
	}
}

// Resources that are asked for later are collected of everything.
func TestResourcesThatAreAskedForLater(t *testing.T) {
	c := newClock()
	w := newWorld(t, sim.Options{Seed: 6, Accounts: 1, NoPollInterval: true, Now: c.Now, Shape: &sim.Shape{
		Repos: sim.Exactly(2), Commits: sim.Exactly(3), Issues: sim.Exactly(20), Pulls: sim.Exactly(10), Parts: sim.Exactly(130)}})
	login := w.Logins()[0]
	d := w.driver(t, Options{Now: c.Now}, login)
	c.run(d)
	d.src = w.source(t, Options{Now: c.Now, Resources: ResourceNames()})
	c.run(d)
	d.noFailures()
	d.matches(mustTruth(t, w, login, time.Time{}), true)
}

// A filter that lets more repositories in has these collected, and no other.
func TestWiderFilterCollectsTheRest(t *testing.T) {
	for _, f := range []Filter{{Include: patterns("*-1?")}, {NoForks: true}, {Visibility: "private"}, {Exclude: patterns("*a*")}} {
		for _, rest := range []bool{false, true} {
			t.Run(fmt.Sprintf("%+v, REST alone %t", f, rest), func(t *testing.T) {
				c := newClock()
				w := newWorld(t, sim.Options{Seed: 9, Accounts: 1, Now: c.Now, Shape: &sim.Shape{
					Repos: sim.Exactly(20), Commits: sim.Exactly(2), Issues: sim.Exactly(1), Pulls: sim.Exactly(1), Oddities: true}})
				login := w.Logins()[0]
				d := w.driver(t, Options{Filter: f, NoGraphQL: rest, Now: c.Now}, login)
				c.run(d)
				some := len(d.ofKind(KindRepository))
				d.src = w.source(t, Options{NoGraphQL: rest, Now: c.Now})
				c.run(d)
				d.noFailures()
				d.matches(mustTruth(t, w, login, time.Time{}), !rest)
				if all := len(d.ofKind(KindRepository)); some >= all {
					t.Errorf("the filter let %d of %d repositories in", some, all)
				}
			})
		}
	}
}

// A list that fills its only page to the brim looks, to a call for what changed, as it does
// when a page follows: what is added at its end is found.
func TestWhatIsAddedBehindAFullPage(t *testing.T) {
	for name, opt := range bothWays {
		t.Run(name, func(t *testing.T) {
			c := newClock()
			w := newWorld(t, sim.Options{Seed: 6, Accounts: 1, NoPollInterval: true, Now: c.Now, Shape: &sim.Shape{
				Repos: sim.Exactly(1), Commits: sim.Exactly(3), Issues: sim.Exactly(20), Pulls: sim.Exactly(10), Parts: sim.Exactly(100)}})
			login := w.Logins()[0]
			opt.Now, opt.Resources = c.Now, ResourceNames()
			d := w.driver(t, opt, login)
			c.run(d)
			number := pullOf(t, w, login)
			kinds := []string{sim.PartLabel, sim.PartRelease, sim.PartMilestone, sim.PartBranch, sim.PartTag, sim.PartContributor, sim.PartDeployment,
				sim.PartDependabot, sim.PartRun, sim.PartIssueEvent}
			for _, kind := range kinds {
				if err := w.AddPart(w.Repos(login)[0], kind, number); err != nil {
					t.Fatal(err)
				}
			}
			c.run(d)
			d.noFailures()
			d.matches(mustTruth(t, w, login, time.Time{}), !opt.NoGraphQL)
			for _, kind := range kinds {
				want := len(mustTruth(t, w, login, time.Time{}).Repositories[0].Parts[kind])
				if got := len(d.ofKind(document.Kind(kind))); got < want || want <= 100 {
					t.Errorf("%d of %d %ss", got, want, kind)
				}
			}
		})
	}
}

// One 404 to a call for any of the resources, while the repository is there, flags nothing
// and loses nothing.
func TestOne404ToAResourceFlagsNothing(t *testing.T) {
	c := newClock()
	w := newWorld(t, sim.Options{Seed: 6, Accounts: 1, NoPollInterval: true, Now: c.Now, Shape: &sim.Shape{
		Repos: sim.Exactly(1), Commits: sim.Exactly(2), Issues: sim.Exactly(8), Pulls: sim.Exactly(4), Parts: sim.Exactly(12)}})
	d := w.driver(t, Options{Resources: ResourceNames(), Now: c.Now, SweepEvery: 24 * time.Hour}, w.Logins()[0])
	c.run(d)
	for _, path := range []string{"/issues/comments", "/pulls/comments", "/releases", "/labels", "/milestones", "/branches", "/tags", "/contributors",
		"/actions/runs", "/deployments", "/issues/events", "/dependabot", "/code-scanning"} {
		c.advance(48 * time.Hour)
		w.FailNext(sim.PathContains(path), 1, notFoundFault())
		c.run(d)
		d.noFailures()
		if len(d.gone)+len(d.vanished) > 0 {
			t.Fatalf("%s: one 404 flags %v and %v", path, d.gone, d.vanished)
		}
		d.matches(mustTruth(t, w, d.login, time.Time{}), true)
	}
}
