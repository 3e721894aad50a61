package engine_test

import (
	"testing"
	"time"

	"sluice/internal/dispatch"
	"sluice/internal/engine"
	sim "sluice/internal/simulator/github"
	"sluice/internal/source/github"
	"sluice/internal/wiring"
)

func (w *world) dryRun(login, token string) engine.DryRun {
	w.t.Helper()
	d, err := w.svc.Engine.DryRun(w.t.Context(), engine.Signup{Source: "github", Login: login, Token: token})
	if err != nil {
		w.t.Fatal(err)
	}
	return d
}

// TestDryRunOfACollectedAccount prices what the next run will really take, and
// counts each repository once.
func TestDryRunOfACollectedAccount(t *testing.T) {
	const repos = 26
	w := newWorld(t, sim.Options{Seed: 3, Accounts: 1, Shape: &sim.Shape{
		Repos: sim.Exactly(repos), Commits: sim.Exactly(5), Issues: sim.Exactly(3), Pulls: sim.Exactly(2),
	}}, wiring.Options{})
	login := w.sim.Logins()[0]
	first := w.dryRun(login, w.sim.Token(login))
	if first.Repositories != repos || first.Wait != nil || first.Failure != "" || first.Forecast.Discovering {
		t.Errorf("before the first run: %+v", first)
	}
	if accounts, err := w.svc.Engine.State.Accounts.Accounts(t.Context()); err != nil || len(accounts) != 0 {
		t.Errorf("the dry run left %+v, %v", accounts, err)
	}
	c := w.signup(login)
	made := w.wait(c.run).Calls
	if diff := first.Calls - made; diff < -made/10 || diff > made/10 {
		t.Errorf("the first run was priced at %d calls and took %d", first.Calls, made)
	}
	again := w.dryRun(login, "")
	next := w.wait(w.run(c.account)).Calls
	if again.Calls != next || next > made/4 {
		t.Errorf("the next run was priced at %d calls and took %d; the first took %d", again.Calls, next, made)
	}
}

// TestDryRunKeepsToTheRation of the owner, whoever spent it, and says until when
// it would have to wait.
func TestDryRunKeepsToTheRation(t *testing.T) {
	limits := github.Describe().Quota(0)
	for name, bucket := range limits.Buckets {
		bucket.Limit = 5
		limits.Buckets[name] = bucket
	}
	w := newWorld(t, sim.Options{
		Seed: 11, Accounts: 2, Shape: &sim.Shape{Repos: sim.Exactly(15), Commits: sim.Exactly(5), Issues: sim.Exactly(3), Pulls: sim.Exactly(2)},
		Limits: sim.Limits{Window: time.Hour, CoreLimit: 5, GraphQLLimit: 5},
	}, wiring.Options{Quota: limits})
	login, other := w.sim.Logins()[0], w.sim.Logins()[1]
	c := w.signup(login)
	w.until("the graphql ration is spent", func() bool {
		p, err := w.svc.Engine.Progress(t.Context(), c.run)
		if err != nil {
			t.Fatal(err)
		}
		for _, wait := range p.Waits {
			if wait.Lane == dispatch.Lane(w.reread(c.account).Owner, "graphql") {
				return true
			}
		}
		return false
	})
	for _, who := range []string{login, other} { // with the same token
		d := w.dryRun(who, w.sim.Token(login))
		if d.Wait == nil || d.Wait.Reason != "primary" || time.Until(d.Wait.Until) < 50*time.Minute || !d.Forecast.Discovering {
			t.Errorf("%s: %+v, want to be told to wait for the next window", who, d)
		}
	}
	if audit := w.sim.Audit(); audit.Violations != 0 {
		t.Errorf("%d calls were made although nothing was left: %+v", audit.Violations, audit)
	}
}
