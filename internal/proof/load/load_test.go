package load_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"sluice/internal/load"
	"sluice/internal/testkit"
	"sluice/internal/testkit/sluice"
)

// dependsOnSpeed says whether a figure depends on how fast the machine is: how
// long something took, how much was done in a second or before something else
// was, and how many calls that left in time a simulator that is kept waiting
// finds at once.
func dependsOnSpeed(figure string) bool {
	switch figure {
	case "largest_second", "calls_refused", "low_refusals", "low_waiting_then", "versions", "locks":
		return true
	}
	return strings.HasSuffix(figure, "_ms") || strings.HasSuffix(figure, "_per_second")
}

// loadTime ends runs that hang.
const loadTime = 15 * time.Minute

// startLoad starts a run of scenarios.
func startLoad(t *testing.T, args ...string) *sluice.Program {
	t.Helper()
	common := []string{"load", "--data-dir", filepath.Join(t.TempDir(), "data"), "--seconds", "1", "--body-size", "2000", "--output", "json"}
	return sluice.Start(t, nil, append(common, args...)...)
}

// checkLoad waits for a run's end and checks all that does not depend on the
// machine.
func checkLoad(t *testing.T, p *sluice.Program) map[string]load.Result {
	t.Helper()
	late := time.AfterFunc(loadTime, func() { _ = p.Cmd.Process.Kill() })
	_ = p.Wait() // the code tells
	if !late.Stop() {
		t.Fatalf("sluice %v did not end: %s", p.Cmd.Args[1:], p.Stderr.Text())
	}
	a := p.Ends()
	if a.Code > 1 {
		t.Fatalf("exit code %d: %s", a.Code, a.Err)
	}
	results := map[string]load.Result{}
	missed := 0
	for _, r := range sluice.Decode[[]load.Result](t, a.Out) {
		results[r.Name] = r
		t.Logf("%s %s %v", r.Verdict, r.Name, r.Figures)
		if r.Why != "" && r.Verdict == load.Missed {
			t.Errorf("%s was broken off: %s", r.Name, r.Why)
		}
		for _, figure := range r.Missed {
			if !dependsOnSpeed(figure) {
				t.Errorf("%s: %s is %v and must be %s", r.Name, figure, r.Figures[figure], r.Needed[figure])
			}
		}
		if r.Verdict == load.Missed {
			missed++
		}
		if (len(r.Missed) > 0) != (r.Verdict == load.Missed) && r.Why == "" {
			t.Errorf("%s is %s although it missed %v", r.Name, r.Verdict, r.Missed)
		}
	}
	if (missed > 0) != (a.Code == 1) {
		t.Errorf("exit code %d although %d scenarios missed: %s", a.Code, missed, a.Err)
	}
	return results
}

// checkRan checks that every one of some scenarios ran and did something; only
// what needs a cluster is left out where there is none.
func checkRan(t *testing.T, results map[string]load.Result, names []string, cluster bool) {
	t.Helper()
	for _, name := range names {
		r, ok := results[name]
		skips := name == "cluster-slots" && !cluster
		switch {
		case !ok:
			t.Errorf("%s has no result", name)
		case (r.Verdict == load.Skipped) != skips:
			t.Errorf("%s is %s: %s", name, r.Verdict, r.Why)
		case skips && !strings.Contains(r.Why, "cluster"):
			t.Errorf("%s is skipped: %s", name, r.Why)
		}
		// What nobody asked for proves nothing.
		if figure, told := did[name]; told && r.Figures[figure] == 0 {
			t.Errorf("%s: %s is 0: %v", name, figure, r.Figures)
		}
	}
}

// did names, for scenarios of traffic, what shows that there was any.
var did = map[string]string{
	"normal-load": "calls", "peak-load": "calls", "worker-killed": "requests", "slow-store": "accesses_delayed",
	"slow-log": "publishes_delayed", "redis-down": "reads", "low-cap": "calls", "lane-isolation": "high_stored",
	"thundering-herd": "published", "stale-loop": "touched", "priority-inversion": "upgraded", "atomic-buckets": "low_granted",
	"dedup-race": "published", "version-order": "versions", "release-race": "locks",
}

func TestLoad(t *testing.T) {
	t.Parallel()
	checkRan(t, checkLoad(t, startLoad(t)), load.Names(), false)
}

// TestLoadOnServers runs, on each kind of server, the scenarios that show what is
// different there: what locks and versions must hold on Redis; that every script
// finds its keys on a cluster; what depends on the log on Kafka. Those of traffic
// come afterwards, one after the other.
// make load runs all of them on everything.
func TestLoadOnServers(t *testing.T) {
	t.Parallel()
	redis := []string{"--redis", testkit.Redis(t)}
	on := []struct {
		name              string
		servers           []string
		counting, traffic []string
	}{
		{
			"Redis", redis,
			[]string{"thundering-herd", "stale-loop", "priority-inversion", "atomic-buckets", "dedup-race", "version-order", "release-race"},
			[]string{"peak-load", "slow-store", "redis-down", "low-cap"},
		},
		{
			"Kafka", append(slices.Clone(redis), "--kafka", strings.Join(testkit.KafkaBrokers(testkit.Kafka(t)), ",")),
			[]string{"stale-loop", "priority-inversion", "dedup-race"},
			[]string{"worker-killed", "slow-log", "redis-down", "lane-isolation"},
		},
		{"a Redis cluster", []string{"--redis", testkit.RedisCluster(t)}, []string{"thundering-herd", "priority-inversion", "cluster-slots"}, nil},
	}
	start := func(servers, scenarios []string) *sluice.Program {
		return startLoad(t, slices.Concat([]string{"--state", testkit.SQL(t)}, servers, scenarios)...)
	}
	runs := make([]*sluice.Program, len(on))
	for i, o := range on {
		runs[i] = start(o.servers, o.counting)
	}
	for i, o := range on {
		t.Logf("on %s:", o.name)
		checkRan(t, checkLoad(t, runs[i]), o.counting, slices.Contains(o.counting, "cluster-slots"))
	}
	for _, o := range on {
		if len(o.traffic) > 0 {
			t.Logf("on %s:", o.name)
			checkRan(t, checkLoad(t, start(o.servers, o.traffic)), o.traffic, false)
		}
	}
}

func TestLoadNamesTheScenarioThatWasMeant(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	for arg, says := range map[string]string{
		"peek-load":     "did you mean peak-load?",
		"--seconds=-1":  "--seconds is -1",
		"--body-size=1": "--body-size is 1",
	} {
		sluice.Run(t, nil, "load", "--data-dir", dir, arg).Expect(t, 2, says)
	}
}
