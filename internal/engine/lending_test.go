package engine_test

import (
	"testing"
	"time"

	"sluice/internal/domain"
	"sluice/internal/engine"
	sim "sluice/internal/simulator/github"
	"sluice/internal/source/github"
	"sluice/internal/wiring"
)

// lending is one account with a lot to collect, in a world where each owner has
// ten calls of each kind, and three accounts with little.
func lending(t *testing.T, pool bool, window time.Duration) (*world, collection) {
	t.Helper()
	limits := github.Describe().Quota(0)
	for name, bucket := range limits.Buckets {
		bucket.Limit = 10
		limits.Buckets[name] = bucket
	}
	w := newWorld(t, sim.Options{
		Seed: 11, Accounts: 4, Shape: &sim.Shape{Repos: sim.Exactly(15), Commits: sim.Exactly(5), Issues: sim.Exactly(3), Pulls: sim.Exactly(2)},
		Limits: sim.Limits{Window: window, CoreLimit: 10, GraphQLLimit: 10},
	}, wiring.Options{Quota: limits, Engine: engine.Config{PoolTokens: pool}})
	for _, login := range w.sim.Logins()[1:] {
		_, err := w.svc.Engine.PutAccount(t.Context(), engine.Signup{Source: "github", Login: login, Token: w.sim.Token(login)})
		if err != nil {
			t.Fatal(err)
		}
	}
	return w, w.signup(w.sim.Logins()[0])
}

func TestOwnersLendCallsForPublicData(t *testing.T) {
	w, c := lending(t, true, 2*time.Second)
	w.wantWhole(c)
	audit := w.sim.Audit()
	if audit.Violations != 0 {
		t.Errorf("%d violations: %+v", audit.Violations, audit)
	}
	owners := map[string]bool{}
	for _, window := range audit.Windows {
		owners[window.Owner] = true
	}
	if len(owners) < 2 {
		t.Errorf("only %d owner was asked", len(owners))
	}
}

func TestNobodyLendsUnasked(t *testing.T) {
	w, c := lending(t, false, time.Hour)
	w.until("the run waits for its own quota", func() bool {
		p, err := w.svc.Engine.Progress(t.Context(), c.run)
		return err == nil && len(p.Waits) > 0 && p.Waits[0].Reason == "primary"
	})
	for _, window := range w.sim.Audit().Windows {
		if window.Used > window.Limit {
			t.Errorf("%+v is overdrawn", window)
		}
	}
}

func TestTheOwnersHoursAreKept(t *testing.T) {
	w := newWorld(t, small(1), wiring.Options{})
	a := w.account(w.sim.Logins()[0])
	if _, err := w.svc.Engine.PutAccount(t.Context(), engine.Signup{Source: "github", Login: a.Login, Token: w.sim.Token(a.Login)}); err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	hours, err := domain.ParseHours(now.Add(-time.Hour).Format("15:04") + "-" + now.Add(time.Hour).Format("15:04"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.svc.Engine.ReserveForOwner(t.Context(), a.ID, 0, hours); err != nil {
		t.Fatal(err)
	}
	run := w.run(a)
	w.until("the run waits for the hours to end", func() bool {
		p, err := w.svc.Engine.Progress(t.Context(), run)
		return err == nil && len(p.Waits) > 0 && p.Waits[0].Reason == "hours"
	})
	if calls := w.sim.Audit().Calls; calls != 0 {
		t.Errorf("%d calls were made in the owner's hours", calls)
	}
	if _, err := w.svc.Engine.ReserveForOwner(t.Context(), a.ID, 0, domain.Hours{}); err != nil {
		t.Fatal(err)
	}
	w.wantCompleted(w.wait(run), 0)
}
