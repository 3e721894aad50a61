package machines_test

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"sluice/internal/domain"
	sim "sluice/internal/simulator/github"
	"sluice/internal/state"
	"sluice/internal/testkit"
	"sluice/internal/testkit/sluice"
	"sluice/internal/verify"
	"sluice/internal/wiring"
)

var (
	faultCount   = flag.Int("faults", 0, "how many faults the chaos test of several machines injects; 0 for each kind once")
	accountCount = flag.Int("accounts", 5, "how many accounts the chaos test of several machines collects")
	longSleep    = flag.Duration("long-sleep", 8*time.Second, "how long the longest sleep of a process is")
)

// TestChaosManyMachines collects with three workers and two schedulers while
// everything that can go wrong does. In the end every account is complete, the
// upstream saw no call too many, and every run was completed once.
func TestChaosManyMachines(t *testing.T) {
	random := sluice.Seeded(t)
	// The stand-in for MongoDB searches everything it has for each document: more
	// accounts than these keep theirs beside the state.
	mongo := *accountCount <= 15 || testkit.HasMongod()
	// Few accounts take longer, so that they are not complete before the last fault.
	limit := testkit.Effort(6, 12)
	m := newMachines(t, sim.Options{
		Seed: random.Uint64(), Accounts: *accountCount,
		// Many calls that bring few documents, for the same reason.
		Shape: &sim.Shape{
			Repos: sim.Between(20, 40), Commits: sim.Between(0, 2), Issues: sim.Between(0, 1), Pulls: sim.Between(0, 1), Oddities: true,
		},
		Latency: sim.Latency{Fixed: 40 * time.Millisecond, Jitter: 40 * time.Millisecond},
		Limits:  sim.Limits{Window: machineWindow, Minute: machineWindow, CoreLimit: limit, GraphQLLimit: limit},
	}, mongo, 3, 2)
	runs := m.signup()
	m.suffer(cmp.Or(*faultCount, len(faults)), random, func() {})
	svc := m.Look()
	// The stand-in for MongoDB takes many seconds for the statistics of each
	// account when there are many.
	under, cancel := context.WithTimeout(t.Context(), 2*time.Minute+time.Duration(*accountCount)*30*time.Second)
	defer cancel()
	for _, id := range runs {
		run, err := svc.WaitRun(under, id)
		if err != nil {
			t.Fatalf("run %d has not ended: %v\n%s\n%s", id, err, m.whatIsLeft(svc), m.LastWords())
		}
		if run.Status != domain.RunCompleted || run.Failed+run.Canceled+run.Pending != 0 {
			t.Errorf("run %d is %s with %+v: %s", id, run.Status, run.RunCounts, run.Reason)
		}
	}
	m.checkComplete(svc)
	m.checkOnce(runs)
	if audit := m.upstream.Audit(); audit.Violations != 0 {
		t.Errorf("the upstream counted violations: %+v", audit)
	} else {
		t.Logf("%d calls, %d of them repeated", audit.Calls, audit.Repeated+audit.RepeatedQueries)
	}
}

// checkComplete compares every account with the truth, and checks that it was
// collected by one run.
func (m *machines) checkComplete(svc *wiring.Service) {
	t := m.T
	t.Helper()
	for _, login := range m.upstream.Logins() {
		account, err := svc.State.AccountByLogin(t.Context(), "github", login)
		if err != nil {
			t.Fatal(err)
		}
		truth, err := m.upstream.Truth(login, time.Time{})
		if err != nil {
			t.Fatal(err)
		}
		differences, err := verify.Account(t.Context(), svc.Documents, account.ID, truth)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range differences {
			t.Errorf("%s: %s", login, d)
		}
		runs, err := svc.State.Runs(t.Context(), state.RunQuery{AccountID: account.ID})
		if err != nil || len(runs) != 1 {
			t.Fatalf("%s has %d runs, %v", login, len(runs), err)
		}
		sluice.CheckRun(t, svc, runs[0], truth)
		if _, ok, err := svc.State.AccountStatistics(t.Context(), account.ID); err != nil || !ok {
			t.Errorf("%s has no statistics: %v", login, err)
		}
	}
}

var endedLine = regexp.MustCompile(`msg="run ended" run=(\d+)`)

// checkOnce reads in the logs that runs were completed once. The row is moved
// once whatever happens; but when a fault takes a lease from a process that is
// about to complete a run, another may be about to as well, and both say so.
// That happens less often than faults do.
func (m *machines) checkOnce(runs []int64) {
	m.T.Helper()
	ended := map[int64]int{}
	for _, one := range m.Members {
		for _, life := range one.Lives {
			sluice.CheckNoSecret(m.T, "log", life.Stderr.Text())
			for _, found := range endedLine.FindAllStringSubmatch(life.Stderr.Text(), -1) {
				id, _ := strconv.ParseInt(found[1], 10, 64)
				ended[id]++
			}
		}
	}
	said, doubled := 0, 0
	for _, id := range runs {
		if ended[id] > 1 {
			m.T.Logf("%d processes say that they completed run %d", ended[id], id)
			doubled += ended[id] - 1
		}
		said += ended[id]
	}
	if doubled > cmp.Or(*faultCount, len(faults)) {
		m.T.Errorf("%d completions were said twice", doubled)
	}
	if said == 0 {
		m.T.Error("no process ever said that it completed a run")
	}
}

// whatIsLeft describes the runs that have not ended and what dispatch knows.
func (m *machines) whatIsLeft(svc *wiring.Service) string {
	var all strings.Builder
	active, err := svc.State.Runs(m.T.Context(), state.RunQuery{ActiveOnly: true, Limit: 100})
	fmt.Fprintf(&all, "%d active runs, %v\n", len(active), err)
	for _, run := range active {
		fmt.Fprintf(&all, "run %d is %s %+v\n", run.ID, run.Status, run.RunCounts)
		jobs, err := svc.State.Jobs(m.T.Context(), state.JobQuery{RunID: run.ID, Statuses: state.Unfinished()})
		if err != nil {
			fmt.Fprintln(&all, err)
		}
		for _, j := range jobs[:min(2, len(jobs))] {
			fmt.Fprintf(&all, "  job %d %s %s is %s, attempt %d, lost %d, not before %s, %s\n", j.ID, j.Type, j.Resource, j.Status, j.Attempt, j.Lost, j.NotBefore, j.Error)
		}
	}
	stats, err := svc.Dispatch.Stats(m.T.Context())
	fmt.Fprintf(&all, "dispatch: %+v, %v\n", stats, err)
	windows, err := svc.State.QuotaWindows(m.T.Context(), "")
	fmt.Fprintf(&all, "windows as stored: %+v, %v\n", windows, err)
	return all.String()
}
