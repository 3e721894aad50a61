package main_test

import (
	"bytes"
	"flag"
	"os/exec"
	"strconv"
	"syscall"
	"testing"
	"time"

	"sluice/internal/domain"
	sim "sluice/internal/simulator/github"
	"sluice/internal/state"
	"sluice/internal/verify"
	"sluice/internal/wiring"
)

var kills = flag.Int("kills", 50, "how often the chaos test kills the program")

const (
	chaosWorkers = 4
	chaosLimit   = 12
	chaosWindow  = 3 * time.Second
	// chaosEnd is how long the last life may take to finish the collection.
	chaosEnd = 4 * time.Minute
)

// TestChaosKilledAgainAndAgain kills the real program with SIGKILL at random
// instants while it collects. In the end everything is there once, and the
// upstream saw no call too many and few calls twice.
func TestChaosKilledAgainAndAgain(t *testing.T) {
	random := seeded(t)
	u := newUpstream(t, sim.Options{
		Seed: random.Uint64(),
		// Twenty accounts at such a pace last for fifty kills.
		Accounts: max(20, *kills*2/5), Latency: sim.Latency{Fixed: 80 * time.Millisecond, Jitter: 60 * time.Millisecond},
		Limits: sim.Limits{Window: chaosWindow, CoreLimit: chaosLimit, GraphQLLimit: chaosLimit},
	})
	dir := t.TempDir()
	// The ration is what the operator knows it to be. A life may be too short to
	// be told: what it reserved without an answer counts as spent until an
	// assumed window is over, which by default would be an hour.
	args := u.collect(dir, "--workers", strconv.Itoa(chaosWorkers),
		"--assume-limit", strconv.Itoa(chaosLimit), "--assume-window", chaosWindow.String())
	killed := 0
	for done := false; !done; {
		// A life is long enough to start and to get some work done.
		life := time.Duration(120+random.IntN(350)) * time.Millisecond
		if killed >= *kills {
			life = 0
		}
		if done = live(t, args, life); !done {
			killed++
		}
	}
	t.Logf("killed %d times", killed)
	if killed < *kills {
		t.Errorf("the collection ended after %d kills; it must last for %d", killed, *kills)
	}
	later := checkComplete(t, u, dir)
	audit := u.Audit()
	if audit.Violations != 0 {
		t.Errorf("the upstream counted violations: %+v", audit)
	}
	// An account that is complete before the last kill is collected again by the
	// next life: that run asks its few discovery questions anew, as it should.
	const askedAnew = 4
	most := killed*chaosWorkers + later*askedAnew
	if repeated := audit.Repeated + audit.RepeatedQueries; repeated > most {
		t.Errorf("%d calls were repeated; at most %d may be (one per worker and kill)", repeated, most)
	} else {
		t.Logf("%d calls, %d of them repeated (at most %d allowed), %d later runs", audit.Calls, repeated, most, later)
	}
}

// live runs the program for a while and then kills it, or to its end if life
// is zero. It reports whether the program ended by itself.
func live(t *testing.T, args []string, life time.Duration) (done bool) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), binary, args...)
	cmd.Env = cleanEnv()
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	end, with := life, syscall.SIGKILL
	if life == 0 {
		// A program that hangs says where: this signal prints its goroutines.
		end, with = chaosEnd, syscall.SIGQUIT
	}
	killer := time.AfterFunc(end, func() { _ = cmd.Process.Signal(with) })
	err := cmd.Wait()
	killer.Stop()
	if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() && status.Signal() == syscall.SIGKILL {
		return false
	}
	if err != nil {
		t.Fatalf("the program failed by itself: %v\n%s\n%s", err, out.String(), errOut.String())
	}
	return true
}

// checkComplete opens the data folder and compares every account with the
// truth, and every first run's ledger with its documents. It returns how many
// later runs there were.
func checkComplete(t *testing.T, u *upstream, dir string) (later int) {
	t.Helper()
	ctx := t.Context()
	svc, err := wiring.Open(ctx, wiring.Options{DataDir: dir, Sources: noSources(t), Quota: wiring.NoQuota()})
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
		differences, err := verify.Account(ctx, svc.Documents, account.ID, truth)
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
		checkRun(t, svc, runs[len(runs)-1], truth)
	}
	return later
}

// checkRun proves that the first run stored every page once: each resource's
// pages hold exactly as many items as there are.
func checkRun(t *testing.T, svc *wiring.Service, run domain.Run, truth sim.Truth) {
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
