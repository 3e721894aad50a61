package main_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sluice/internal/load"
	"sluice/internal/testkit"
)

// exact are the scenarios whose verdict depends on nothing but counts.
var exact = []string{
	"thundering-herd", "stale-loop", "priority-inversion", "atomic-buckets", "dedup-race", "version-order", "release-race",
}

// dependsOnSpeed says whether a figure depends on how fast the machine is: how
// long something took, how much was done in a second, and how late calls that
// were granted in time arrive.
func dependsOnSpeed(figure string) bool {
	return strings.HasSuffix(figure, "_ms") || strings.HasSuffix(figure, "_per_second") ||
		figure == "largest_second" || figure == "calls_refused"
}

// checkLoad runs scenarios and checks all that does not depend on the machine.
func checkLoad(t *testing.T, args ...string) map[string]load.Result {
	t.Helper()
	common := []string{"load", "--data-dir", filepath.Join(t.TempDir(), "data"), "--seconds", "1", "--body-size", "2000", "--output", "json"}
	a := sluice(t, nil, append(common, args...)...)
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

func TestLoad(t *testing.T) {
	t.Parallel()
	results := checkLoad(t)
	if len(results) != len(load.Names()) {
		t.Errorf("%d results of %d scenarios", len(results), len(load.Names()))
	}
	if r := results["cluster-slots"]; r.Verdict != load.Skipped || !strings.Contains(r.Why, "cluster") {
		t.Errorf("without a cluster, cluster-slots is %s: %s", r.Verdict, r.Why)
	}
	// What nobody asked for proves nothing.
	for name, figure := range map[string]string{
		"normal-load": "calls", "peak-load": "calls", "worker-killed": "requests", "slow-store": "accesses_delayed",
		"slow-log": "publishes_delayed", "redis-down": "reads", "low-cap": "calls", "lane-isolation": "high_stored",
	} {
		if results[name].Figures[figure] == 0 {
			t.Errorf("%s: %s is 0: %v", name, figure, results[name].Figures)
		}
	}
}

func TestLoadOnServers(t *testing.T) {
	t.Parallel()
	servers := []string{"--state", testkit.MariaDB(t), "--redis", testkit.RedisCluster(t)}
	chosen := append(slices.Clone(exact), "cluster-slots", "worker-killed", "redis-down")
	results := checkLoad(t, append(servers, chosen...)...)
	for _, name := range chosen {
		if v := results[name].Verdict; v == load.Skipped || v == "" {
			t.Errorf("%s: %q, %s", name, v, results[name].Why)
		}
	}
}

func TestLoadSkipsWhatASingleRedisCannotDo(t *testing.T) {
	results := checkLoad(t, "--state", testkit.MariaDB(t), "--redis", testkit.Redis(t), "cluster-slots", "release-race")
	if v := results["cluster-slots"].Verdict; v != load.Skipped {
		t.Errorf("cluster-slots on one node is %s", v)
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
