package sluice

import (
	"testing"
	"time"

	"sluice/internal/config"
	"sluice/internal/document"
	"sluice/internal/domain"
	sim "sluice/internal/simulator/github"
	"sluice/internal/source"
	"sluice/internal/source/github"
	"sluice/internal/state"
	"sluice/internal/verify"
	"sluice/internal/wiring"
)

// NoSources are sources for a service that only reads.
func NoSources(t *testing.T) []source.Source {
	t.Helper()
	src, err := github.New(github.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return []source.Source{src}
}

// NoResources stands for what was collected with --resources none.
const NoResources document.Kind = "none"

// CheckComplete opens the data folder and compares every account with the
// truth, and every first run's ledger with its documents. It returns how many
// later runs there were.
func CheckComplete(t *testing.T, u *Upstream, dir string) (later int) {
	t.Helper()
	ctx := t.Context()
	svc, err := wiring.Open(ctx, wiring.Options{Config: config.Embedded(dir), Sources: NoSources(t), Quota: wiring.NoQuota()})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = svc.State.Close() }()
	for _, login := range u.Logins() {
		account, err := svc.State.AccountByLogin(ctx, "github", login)
		if err != nil {
			t.Fatal(err)
		}
		truth, err := u.Truth(login, time.Time{})
		if err != nil {
			t.Fatal(err)
		}
		differences, err := verify.Account(ctx, svc.Documents, account.ID, truth, verify.Standard()...)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range differences {
			t.Errorf("%s: %s", login, d)
		}
		runs, err := svc.State.Runs(ctx, state.RunQuery{AccountID: account.ID})
		if err != nil {
			t.Fatal(err)
		}
		later += len(runs) - 1
		CheckRun(t, svc, runs[len(runs)-1], truth)
	}
	return later
}

// CheckEqual opens the data folder and compares every account with the truth;
// resources are the kinds that were asked for beside what is always collected, if not
// the standard ones.
func CheckEqual(t *testing.T, u *Upstream, dir string, resources ...document.Kind) {
	t.Helper()
	CheckTargets(t, u, dir, u.Logins(), resources...)
}

// CheckTargets is CheckEqual for some targets, which may be repositories.
func CheckTargets(t *testing.T, u *Upstream, dir string, logins []string, resources ...document.Kind) {
	t.Helper()
	svc, err := wiring.Open(t.Context(), wiring.Options{Config: config.Embedded(dir), Sources: NoSources(t), Quota: wiring.NoQuota()})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = svc.State.Close() }()
	equalTruth(t, svc, u, logins, resources)
}

// EqualsTruth compares every account with the truth.
func EqualsTruth(t *testing.T, svc *wiring.Service, u *Upstream, resources ...document.Kind) {
	t.Helper()
	equalTruth(t, svc, u, u.Logins(), resources)
}

// EqualsTruthOf is EqualsTruth for some targets, which may be repositories.
func EqualsTruthOf(t *testing.T, svc *wiring.Service, u *Upstream, logins []string, resources ...document.Kind) {
	t.Helper()
	equalTruth(t, svc, u, logins, resources)
}

func equalTruth(t *testing.T, svc *wiring.Service, u *Upstream, logins []string, resources []document.Kind) {
	t.Helper()
	if len(resources) == 0 {
		resources = verify.Standard()
	}
	for _, login := range logins {
		account, err := svc.State.AccountByLogin(t.Context(), "github", login)
		if err != nil {
			t.Fatal(err)
		}
		truth, err := u.Truth(login, time.Time{})
		if err != nil {
			t.Fatal(err)
		}
		differences, err := verify.Account(t.Context(), svc.Documents, account.ID, truth, resources...)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range differences {
			t.Errorf("%s: %s", login, d)
		}
		if len(differences) > 0 {
			cursors, err := svc.State.Cursors(t.Context(), account.ID)
			t.Logf("%s: cursors %v, %v", login, cursors, err)
		}
	}
}

// CheckRun proves that the first run stored every page once: each resource's
// pages hold exactly as many items as there are.
func CheckRun(t *testing.T, svc *wiring.Service, run domain.Run, truth sim.Truth) {
	t.Helper()
	if run.Status != domain.RunCompleted || run.Failed != 0 || run.Canceled != 0 || run.Pending != 0 {
		t.Errorf("%s: run %d is %s with %+v", run.Login, run.ID, run.Status, run.RunCounts)
	}
	ledger, err := svc.State.Ledger(t.Context(), run.ID)
	if err != nil {
		t.Fatal(err)
	}
	items := map[string]int{}
	for _, line := range ledger {
		if line.Stored != line.Known {
			t.Errorf("%s: %s %s has %d of %d pages", run.Login, line.Type, line.Resource, line.Stored, line.Known)
		}
		items[line.Type] += line.Items
	}
	commits, pulls := 0, 0
	for _, r := range truth.Repositories {
		commits += len(r.Commits)
		pulls += len(r.Pulls)
	}
	if items["COMMIT_STATS"] != commits || items["REPO_PULLS"] != pulls {
		t.Errorf("%s: pages held %d commits and %d pulls; there are %d and %d", run.Login, items["COMMIT_STATS"], items["REPO_PULLS"], commits, pulls)
	}
}
