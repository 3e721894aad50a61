package github

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"sluice/internal/domain"
	"sluice/internal/source"

	sim "sluice/internal/simulator/github"
)

// organizationWorld has an organisation, with a little of everything.
func organizationWorld(t *testing.T, now func() time.Time) (w *world, login string) {
	t.Helper()
	w = newWorld(t, sim.Options{Seed: 11, Accounts: 6, Organizations: 2, NoPollInterval: true, Now: now, Shape: &sim.Shape{
		Repos: sim.Between(4, 6), Commits: sim.Between(1, 30), Issues: sim.Between(0, 20), Pulls: sim.Between(0, 10), Oddities: true}})
	return w, w.Organizations()[0]
}

func TestAnOrganizationIsCollected(t *testing.T) {
	for name, opt := range map[string]Options{"GraphQL": {}, "REST": {NoGraphQL: true}} {
		t.Run(name, func(t *testing.T) {
			w, login := organizationWorld(t, time.Now)
			d := w.driver(t, opt, login)
			d.run(time.Now())
			d.noFailures()
			d.matches(mustTruth(t, w, login, time.Time{}), !opt.NoGraphQL)
			if d.target != domain.TargetOrganization {
				t.Errorf("it is taken for %q", d.target)
			}
			minimum, err := w.MinimumCalls(login)
			if err != nil {
				t.Fatal(err)
			}
			if !opt.NoGraphQL && d.calls > minimum.Total {
				t.Errorf("%d calls, the minimum is %d (%+v)", d.calls, minimum.Total, minimum)
			}
			d.run(time.Now())
			d.noFailures()
			if charged := d.calls - d.free; !opt.NoGraphQL && charged != 2 {
				t.Errorf("nothing changed, and %d of %d calls were charged", charged, d.calls)
			}
		})
	}
}

func TestMembersAndTeamsComeAndGo(t *testing.T) {
	c := newClock()
	w, login := organizationWorld(t, c.Now)
	truth := mustTruth(t, w, login, time.Time{})
	d := w.driver(t, Options{Now: c.Now}, login)
	d.run(c.Now())
	leaver := truth.Members[len(truth.Members)-1].Login
	if leaver == w.Lead(login) {
		leaver = truth.Members[0].Login
	}
	for _, err := range []error{w.SetMember(login, leaver, false), w.DeleteTeam(login, truth.Teams[0].Slug)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	c.advance(time.Minute)
	d.run(c.Now())
	d.noFailures()
	d.matches(mustTruth(t, w, login, time.Time{}), true)
	if err := w.SetMember(login, leaver, true); err != nil {
		t.Fatal(err)
	}
	c.advance(time.Minute)
	d.run(c.Now())
	d.matches(mustTruth(t, w, login, time.Time{}), true)
}

// An outsider sees who is a member in public, no teams and no private repository; the
// rest is collected.
func TestAnOrganizationInTheEyesOfAnOutsider(t *testing.T) {
	w, login := organizationWorld(t, time.Now)
	truth := mustTruth(t, w, login, time.Time{})
	outsider := ""
	for _, other := range w.Logins() {
		if !slices.Contains(w.Organizations(), other) && !slices.ContainsFunc(truth.Members, func(m sim.TruthMember) bool { return m.Login == other }) {
			outsider = other
		}
	}
	if outsider == "" {
		for _, m := range truth.Members {
			if m.Login != w.Lead(login) {
				outsider = m.Login
			}
		}
		if err := w.SetMember(login, outsider, false); err != nil {
			t.Fatal(err)
		}
	}
	d := newDriver(t, w.source(t, Options{}), login, w.Token(outsider))
	d.run(time.Now())
	d.noFailures()
	count := map[string]int{}
	for key := range d.docs {
		count[string(key.Kind)]++
	}
	public := 0
	for _, r := range truth.Repositories {
		if !r.Private {
			public++
		}
	}
	if count["team"] != 0 || count["member"] == 0 || count["member"] >= len(truth.Members) || count["repository"] != public {
		t.Errorf("an outsider collected %v; there are %d members, %d public repositories", count, len(truth.Members), public)
	}
}

// A member who leaves sees from then on who is a member in public, at another address. The
// others are not said to be gone, and after the member's return what became of them shows.
func TestAMemberWhoLeavesSeesSome(t *testing.T) {
	for _, sentOn := range []bool{true, false} {
		t.Run(fmt.Sprintf("sent on %t", sentOn), func(t *testing.T) { memberWhoLeaves(t, sentOn) })
	}
}

// memberWhoLeaves has a member leave and come back. Outsiders are sent on to the public
// members, or shown these in the place of all.
func memberWhoLeaves(t *testing.T, sentOn bool) {
	c := newClock()
	w, login := organizationWorld(t, c.Now)
	members := mustTruth(t, w, login, time.Time{}).Members
	var others []string
	for _, m := range members {
		if m.Login != w.Lead(login) {
			others = append(others, m.Login)
		}
	}
	if len(others) < 2 {
		t.Fatalf("the members are %v", members)
	}
	who, leaver := others[0], others[1]
	d, b := w.through(t, Options{Now: c.Now}, login)
	d.token = w.Token(who)
	outside := false
	b.answer = func(_ http.ResponseWriter, r *http.Request, _ string) bool {
		if outside && !sentOn {
			r.URL.Path = strings.Replace(r.URL.Path, "/members", "/public_members", 1)
		}
		return false
	}
	c.run(d)
	d.noFailures()
	d.matches(mustTruth(t, w, login, time.Time{}), true)
	for range 2 {
		if err := w.SetMember(login, who, false); err != nil {
			t.Fatal(err)
		}
		outside = true
		c.run(d)
		outside = false
		d.noFailures()
		if left := len(d.ofKind(KindMember)); left != len(members) {
			t.Errorf("%d of %d members are left", left, len(members))
		}
		if err := errors.Join(w.SetMember(login, leaver, false), w.SetMember(login, who, true)); err != nil {
			t.Fatal(err)
		}
		c.run(d)
		d.noFailures()
		d.matches(mustTruth(t, w, login, time.Time{}), true)
		members = mustTruth(t, w, login, time.Time{}).Members
	}
}

// TestTeamsThatTheTokenMayNotSee: a member's token without the scope for it. The rest is
// collected, and what was seen before is not said to be gone.
func TestTeamsThatTheTokenMayNotSee(t *testing.T) {
	c := newClock()
	w, login := organizationWorld(t, c.Now)
	truth := mustTruth(t, w, login, time.Time{})
	token := w.Token(login)
	w.SetScopes(token, "repo", "read:org")
	d := newDriver(t, w.source(t, Options{Now: c.Now}), login, token)
	d.run(c.Now())
	d.noFailures()
	d.matches(truth, true)
	c.advance(time.Hour)
	w.SetScopes(token, "repo")
	d.run(c.Now())
	d.noFailures()
	narrow := newDriver(t, w.source(t, Options{Now: c.Now}), login, token)
	narrow.run(c.Now())
	narrow.noFailures()
	for key, doc := range d.docs {
		if key.Kind == KindTeam && doc.Deleted {
			t.Errorf("%v is said to be gone", key)
		}
	}
	repositories, teams := 0, 0
	for key := range narrow.docs {
		switch key.Kind {
		case KindRepository:
			repositories++
		case KindTeam:
			teams++
		}
	}
	if repositories != len(truth.Repositories) || teams != 0 {
		t.Errorf("%d of %d repositories and %d teams were collected", repositories, len(truth.Repositories), teams)
	}
}

func TestARepositoryIsCollected(t *testing.T) {
	for name, opt := range map[string]Options{"GraphQL": {}, "REST": {NoGraphQL: true}} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, sim.Options{Seed: 4, Accounts: 3, NoPollInterval: true})
			owner := w.Logins()[0]
			repo := w.Repos(owner)[0]
			login := repo.Owner + "/" + repo.Name
			d := newDriver(t, w.source(t, opt), login, w.Token(owner))
			d.run(time.Now())
			d.noFailures()
			d.matches(mustTruth(t, w, login, time.Time{}), !opt.NoGraphQL)
			if d.target != domain.TargetRepository {
				t.Errorf("it is taken for %q", d.target)
			}
			d.run(time.Now())
			if charged := d.calls - d.free; !opt.NoGraphQL && (charged != 1 || d.calls != 1) {
				t.Errorf("nothing changed, and %d calls were made, %d of them charged", d.calls, charged)
			}
		})
	}
}

// What becomes of a repository is a finding, whatever it is.
func TestARepositoryThatMoves(t *testing.T) {
	for name, change := range map[string]func(*world, sim.Repo) error{
		"renamed":     func(w *world, r sim.Repo) error { return w.RenameRepo(r, "elsewhere-0") },
		"transferred": func(w *world, r sim.Repo) error { return w.TransferRepo(r, "departed") },
		"deleted":     func(w *world, r sim.Repo) error { return w.DeleteRepo(r) },
		"out of sight": func(w *world, r sim.Repo) error {
			return w.WithdrawAccess(r)
		},
		"blocked": func(w *world, r sim.Repo) error { return w.BlockRepo(r) },
	} {
		t.Run(name, func(t *testing.T) {
			c := newClock()
			w := newWorld(t, sim.Options{Seed: 4, Accounts: 3, NoPollInterval: true, Now: c.Now, Shape: &sim.Shape{
				Repos: sim.Exactly(2), Commits: sim.Exactly(5), Issues: sim.Exactly(5), Pulls: sim.Exactly(3)}})
			owner := w.Logins()[0]
			repo := w.Repos(owner)[0]
			d := newDriver(t, w.source(t, Options{Now: c.Now}), repo.Owner+"/"+repo.Name, w.Token(owner))
			d.run(c.Now())
			d.noFailures()
			if err := change(w, repo); err != nil {
				t.Fatal(err)
			}
			c.advance(time.Minute)
			d.run(c.Now())
			d.noFailures()
			gone := 0
			for _, doc := range d.docs {
				if doc.Deleted {
					gone++
				}
			}
			if stays := name == "renamed" || name == "transferred"; stays && gone != 0 || !stays && gone != len(d.docs) {
				t.Errorf("%d of %d documents are gone", gone, len(d.docs))
			}
		})
	}
}

func TestUnknownTargets(t *testing.T) {
	w := newWorld(t, sim.Options{Seed: 4, Accounts: 2})
	for _, login := range []string{"nobody", w.Logins()[0] + "/nothing"} {
		for _, opt := range []Options{{}, {NoGraphQL: true}} {
			d := newDriver(t, w.source(t, opt), login, w.Token(w.Logins()[0]))
			d.run(time.Now())
			if d.verdict != source.FailRun || len(d.failures) != 1 || !strings.Contains(d.failures[0], "unknown") {
				t.Errorf("%s: %v, %v", login, d.verdict, d.failures)
			}
		}
	}
}

func TestFiltersChooseRepositories(t *testing.T) {
	w := newWorld(t, sim.Options{Seed: 9, Accounts: 1, Shape: &sim.Shape{
		Repos: sim.Exactly(30), Commits: sim.Exactly(1), Issues: sim.Exactly(1), Pulls: sim.Exactly(1), Oddities: true}})
	login := w.Logins()[0]
	truth := mustTruth(t, w, login, time.Time{})
	names := map[string]sim.TruthRepository{}
	for _, r := range truth.Repositories {
		names[r.FullName] = r
	}
	first := truth.Repositories[0]
	for name, c := range map[string]struct {
		filter Filter
		want   func(sim.TruthRepository) bool
	}{
		"all":      {Filter{}, func(sim.TruthRepository) bool { return true }},
		"no forks": {Filter{NoForks: true}, func(r sim.TruthRepository) bool { return !r.Fork }},
		"public":   {Filter{Visibility: "public"}, func(r sim.TruthRepository) bool { return !r.Private }},
		"private":  {Filter{Visibility: "private"}, func(r sim.TruthRepository) bool { return r.Private }},
		"by name": {Filter{Include: patterns("*-1?")}, func(r sim.TruthRepository) bool {
			return len(r.Name) > 3 && r.Name[len(r.Name)-3:len(r.Name)-1] == "-1"
		}},
		"but one":     {Filter{Exclude: patterns(first.FullName)}, func(r sim.TruthRepository) bool { return r.ID != first.ID }},
		"other owner": {Filter{Include: patterns("somebody/*")}, func(sim.TruthRepository) bool { return false }},
	} {
		t.Run(name, func(t *testing.T) {
			for _, rest := range []bool{false, true} {
				d := w.driver(t, Options{Filter: c.filter, NoGraphQL: rest}, login)
				d.run(time.Now())
				d.noFailures()
				got, want := map[string]bool{}, map[string]bool{}
				for key, doc := range d.docs {
					if key.Kind == KindRepository {
						got[doc.Title] = true
					}
				}
				for full, r := range names {
					if c.want(r) {
						want[full] = true
					}
				}
				if !maps.Equal(got, want) {
					t.Errorf("REST alone %t: %d repositories, want %d", rest, len(got), len(want))
				}
			}
		})
	}
	if _, err := New(Options{Filter: Filter{Include: []string{"[x"}}}); domain.CodeOf(err) != domain.CodeInvalid {
		t.Errorf("a malformed pattern: %v", err)
	}
}

// A list that changes while it is read is read again, and nothing on it is said to
// be gone.
func TestAListingThatShifts(t *testing.T) {
	c := newClock()
	w := newWorld(t, sim.Options{Seed: 2, Accounts: 500, Organizations: 1, Now: c.Now, Shape: &sim.Shape{
		Repos: sim.Exactly(1), Commits: sim.Exactly(1), Issues: sim.Exactly(0), Pulls: sim.Exactly(0)}})
	login := w.Organizations()[0]
	d := w.driver(t, Options{Now: c.Now}, login)
	shifted := false
	members := mustTruth(t, w, login, time.Time{}).Members
	if len(members) < 200 {
		t.Fatalf("only %d members", len(members))
	}
	second := func(r *http.Request) bool {
		return strings.HasSuffix(r.URL.Path, "/members") && r.URL.Query().Get("page") == "2"
	}
	w.Before(second, 1, func() {
		shifted = true
		if err := w.SetMember(login, members[3].Login, false); err != nil {
			t.Error(err)
		}
	})
	c.run(d)
	d.noFailures()
	if !shifted || len(d.gone) != 0 {
		t.Errorf("shifted: %t; gone: %v", shifted, d.gone)
	}
	c.run(d)
	d.noFailures()
	d.matches(mustTruth(t, w, login, time.Time{}), true)
	c.run(d)
	if charged := d.calls - d.free; charged != 2 {
		t.Errorf("nothing changed, and %d of %d calls were charged", charged, d.calls)
	}
}
