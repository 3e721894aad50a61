package main_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"sluice/internal/load"
	"sluice/internal/testkit"
)

// exact are the scenarios whose verdict depends on nothing but counts.
var exact = []string{
	"thundering-herd", "stale-loop", "priority-inversion", "atomic-buckets", "dedup-race", "version-order", "release-race",
}

// dependsOnSpeed says whether a figure depends on how fast the machine is: how
// long something took, how much was done in a second, and how many calls that
// left in time a simulator that is kept waiting finds at once.
func dependsOnSpeed(figure string) bool {
	return strings.HasSuffix(figure, "_ms") || strings.HasSuffix(figure, "_per_second") ||
		figure == "largest_second" || figure == "calls_refused"
}

// loadTime is how long scenarios may take that run together.
const loadTime = 2 * time.Minute

// startLoad starts a run of scenarios.
func startLoad(t *testing.T, args ...string) *program {
	t.Helper()
	common := []string{"load", "--data-dir", filepath.Join(t.TempDir(), "data"), "--seconds", "1", "--body-size", "2000", "--output", "json"}
	return start(t, nil, append(common, args...)...)
}

// checkLoad waits for a run's end and checks all that does not depend on the
// machine.
func checkLoad(t *testing.T, p *program) map[string]load.Result {
	t.Helper()
	late := time.AfterFunc(loadTime, func() { _ = p.cmd.Process.Kill() })
	_ = p.wait() // the code tells
	if !late.Stop() {
		t.Fatalf("sluice %v did not end: %s", p.cmd.Args[1:], p.err.text())
	}
	a := p.ends()
	if a.code > 1 {
		t.Fatalf("exit code %d: %s", a.code, a.errOut)
	}
	results := map[string]load.Result{}
	missed := 0
	for _, r := range decode[[]load.Result](t, a.out) {
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
		if slices.Contains(exact, r.Name) && r.Verdict != load.Passed {
			t.Errorf("%s: %s", r.Name, r.Verdict)
		}
		if (len(r.Missed) > 0) != (r.Verdict == load.Missed) {
			t.Errorf("%s is %s although it missed %v", r.Name, r.Verdict, r.Missed)
		}
	}
	if (missed > 0) != (a.code == 1) {
		t.Errorf("exit code %d although %d scenarios missed: %s", a.code, missed, a.errOut)
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
}

func TestLoad(t *testing.T) {
	checkRan(t, checkLoad(t, startLoad(t)), load.Names(), false)
}

// TestLoadOnServers runs the scenarios of locks and versions on Redis, on Kafka
// and on a cluster, all at once; those of traffic, whose seconds would be others'
// as well, one after the other and beside nothing else, half of them on Redis
// and half on Kafka. make load runs all of them on everything.
func TestLoadOnServers(t *testing.T) {
	redis := []string{"--redis", testkit.Redis(t)}
	on := []struct {
		name    string
		servers []string
		cluster bool
	}{
		{"Redis", redis, false},
		{"Kafka", append(slices.Clone(redis), "--kafka", strings.Join(testkit.KafkaBrokers(testkit.Kafka(t)), ",")), false},
		{"a Redis cluster", []string{"--redis", testkit.RedisCluster(t)}, true},
	}
	counting := append(slices.Clone(exact), "cluster-slots")
	runs := make([]*program, len(on))
	for i, o := range on {
		runs[i] = startLoad(t, slices.Concat([]string{"--state", testkit.MariaDB(t)}, o.servers, counting)...)
	}
	for i, o := range on {
		t.Logf("on %s:", o.name)
		checkRan(t, checkLoad(t, runs[i]), counting, o.cluster)
	}
	all := slices.DeleteFunc(load.Names(), func(name string) bool { return slices.Contains(counting, name) })
	for i, o := range on[:2] {
		t.Logf("on %s:", o.name)
		var traffic []string
		for j, name := range all {
			if j%2 == i {
				traffic = append(traffic, name)
			}
		}
		args := slices.Concat([]string{"--state", testkit.MariaDB(t)}, o.servers, traffic)
		checkRan(t, checkLoad(t, startLoad(t, args...)), traffic, false)
	}
}

func TestLoadNamesTheScenarioThatWasMeant(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	for arg, says := range map[string]string{
		"peek-load":     "did you mean peak-load?",
		"--seconds=-1":  "--seconds is -1",
		"--body-size=1": "--body-size is 1",
	} {
		sluice(t, nil, "load", "--data-dir", dir, arg).expect(t, 2, says)
	}
}
