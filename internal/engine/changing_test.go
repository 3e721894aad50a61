package engine_test

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"sluice/internal/document"
	"sluice/internal/domain"
	sim "sluice/internal/simulator/github"
	"sluice/internal/testkit"
	"sluice/internal/verify"
	"sluice/internal/wiring"
)

// TestExactWhileTheWorldChanges pushes, edits and opens between any two calls.
// Whatever existed at the anchor is there after the run; the next run picks up
// the rest, and its ledger has no gap.
func TestExactWhileTheWorldChanges(t *testing.T) {
	w := newWorld(t, sim.Options{Seed: testkit.Seed(t), Accounts: 1, Shape: &sim.Shape{
		Repos: sim.Exactly(8), Commits: sim.Between(80, 230), Issues: sim.Between(20, 230), Pulls: sim.Between(5, 120),
	}}, wiring.Options{})
	login := w.sim.Logins()[0]
	var changes atomic.Int64
	w.sim.OnRequest(func(*http.Request, int) *sim.Fault {
		changes.Add(1)
		w.sim.MutateOnce(login)
		return nil
	})
	c := w.signup(login)
	first := w.wait(c.run)
	w.wantCompleted(first, 0)
	stored := map[document.Key]bool{}
	err := w.svc.Documents.Scan(t.Context(), document.Query{Account: c.account.ID}, func(d *document.Document) error {
		stored[d.Key] = true
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	truth, err := w.sim.Truth(login, first.Anchor.Add(-time.Second))
	if err != nil {
		t.Fatal(err)
	}
	truth.Events = nil
	for key := range verify.Expected(c.account.ID, truth) {
		if !stored[key] {
			t.Errorf("%s %s existed at the anchor and was missed", key.Kind, key.Name)
		}
	}

	w.sim.ClearHooks()
	second := w.wait(w.run(c.account))
	w.wantCompleted(second, 0)
	w.verifyButEvents(c.account)
	for _, run := range []domain.Run{first, second} {
		ledger, err := w.raw.Ledger(t.Context(), run.ID)
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range ledger {
			if line.Stored != line.Known || line.Failed != 0 {
				t.Errorf("run %d: %s %s has %d of %d pages, %d failed", run.ID, line.Type, line.Resource, line.Stored, line.Known, line.Failed)
			}
		}
	}
	if broken := w.sim.Audit().Violations; changes.Load() == 0 || broken != 0 {
		t.Errorf("%d changes were made, %d limits broken", changes.Load(), broken)
	}
}

// verifyButEvents leaves out events, whose window slides while the world moves.
func (w *world) verifyButEvents(a domain.Account) {
	w.t.Helper()
	truth, err := w.sim.Truth(a.Login, time.Time{})
	if err != nil {
		w.t.Fatal(err)
	}
	differences, err := verify.Account(w.t.Context(), w.svc.Documents, a.ID, truth)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, d := range differences {
		if !strings.HasPrefix(d, "event ") {
			w.t.Errorf("%s: %s", a.Login, d)
		}
	}
}

// TestSecondRunOfAnUnchangedAccountIsFree counts what the upstream charged.
func TestSecondRunOfAnUnchangedAccountIsFree(t *testing.T) {
	w := newWorld(t, sim.Options{Seed: 21, Accounts: 1}, wiring.Options{})
	c := w.signup(w.sim.Logins()[0])
	w.wantWhole(c)
	before := charged(w.sim.Audit())
	w.wantCompleted(w.wait(w.run(c.account)), 0)
	w.verify(c.account)
	after := charged(w.sim.Audit())
	if core := after["core"] - before["core"]; core != 0 {
		t.Errorf("the second run cost %d REST calls", core)
	}
	if points := after["graphql"] - before["graphql"]; points > 4 {
		t.Errorf("the second run cost %d GraphQL points", points)
	}
}

// charged sums up what was taken from the windows, by bucket.
func charged(a sim.Audit) map[string]int {
	used := map[string]int{}
	for _, w := range a.Windows {
		used[w.Bucket] += w.Used
	}
	return used
}
