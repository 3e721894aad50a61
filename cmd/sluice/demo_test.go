package main_test

import (
	"maps"
	"strings"
	"syscall"
	"testing"
)

// demo is the command line of a demo that takes a moment, on a port of its own.
func demo(dir string, more ...string) []string {
	return append([]string{
		"demo", "--accounts", "4", "--seed", "7", "--exit-when-done", "--output", "json", "--data-dir", dir,
		"--addr", "127.0.0.1:0", "--limit", "500", "--window", "2s", "--latency", "1ms",
	}, more...)
}

func checkVerdict(t *testing.T, a answer) summaryJSON {
	t.Helper()
	v := decode[summaryJSON](t, a.out)
	if v.Accounts != 4 || !maps.Equal(v.Runs, map[string]int{"COMPLETED": 4}) || v.Calls == 0 || len(v.Results) != 4 {
		t.Errorf("got %+v", v)
	}
	if v.TruthMatch == nil || !*v.TruthMatch {
		t.Error("the copy is not the truth")
	}
	if v.Violations == nil || *v.Violations != 0 {
		t.Error("the simulator counted violations")
	}
	return v
}

func TestDemo(t *testing.T) {
	dir := t.TempDir()
	first := sluice(t, nil, demo(dir)...).expect(t, 0, "simulated GitHub at", "COMPLETED")
	all := checkVerdict(t, first)

	// On complete data the same command collects what has changed: nothing.
	again := checkVerdict(t, sluice(t, nil, demo(dir)...).expect(t, 0))
	if again.Calls >= all.Calls/2 || again.Results[0].Run <= 4 {
		t.Errorf("the second run made %d calls in run %d; the first made %d", again.Calls, again.Results[0].Run, all.Calls)
	}

	a := sluice(t, nil, demo(dir, "--seed", "8")...).expect(t, 2, "--seed 7", "--data-dir")
	if a.out != "" {
		t.Errorf("a refusal wrote to stdout: %s", a.out)
	}
}

func TestDemoGoesOnAfterAKill(t *testing.T) {
	whole := checkVerdict(t, sluice(t, nil, demo(t.TempDir())...))

	dir := t.TempDir()
	p := start(t, nil, demo(dir, "--latency", "40ms", "--workers", "2")...)
	p.says("COMPLETED")
	p.signal(syscall.SIGKILL)
	if a := p.ends(); a.out != "" {
		t.Fatalf("it was done before it was killed: %s", a.out)
	}

	a := sluice(t, nil, demo(dir)...).expect(t, 0)
	resumed := 0
	for _, r := range checkVerdict(t, a).Results {
		if r.Run <= 4 {
			resumed++
		}
	}
	if resumed == 0 || resumed == 4 {
		t.Errorf("%d of 4 runs went on; the others had ended before the kill", resumed)
	}
	runs := decode[struct{ Runs []struct{ Calls int } }](t, sluice(t, nil, "run", "list", "--data-dir", dir, "--output", "json").out)
	calls := 0
	for _, r := range runs.Runs {
		calls += r.Calls
	}
	if calls >= 2*whole.Calls {
		t.Errorf("%d calls in two lives; one life takes %d", calls, whole.Calls)
	}
}

func TestDemoThatStaysUpEndsWithASignal(t *testing.T) {
	dir := t.TempDir()
	args := []string{"demo", "--accounts", "2", "--data-dir", dir, "--addr", "127.0.0.1:0", "--limit", "500", "--latency", "1ms"}
	p := start(t, nil, args...)
	p.says("run 2 COMPLETED")
	p.signal(syscall.SIGINT)
	p.ends().expect(t, 0, "finishing")

	// In the middle of the collection a signal is no failure either.
	dir = t.TempDir()
	args[4] = dir
	p = start(t, nil, append(args, "--latency", "100ms", "--workers", "1")...)
	p.says("run 1 RUNNING")
	p.signal(syscall.SIGINT)
	p.ends().expect(t, 0, "the same command goes on")

	p = start(t, nil, append(args, "--latency", "100ms", "--workers", "1", "--exit-when-done")...)
	p.says("run 1 RUNNING")
	p.signal(syscall.SIGTERM)
	p.ends().expect(t, 1, "the same command goes on")
}

// TestDemoOfAChangingWorld collects what changes meanwhile: the copy may lag
// behind, which is no failure, but no limit may be broken.
func TestDemoOfAChangingWorld(t *testing.T) {
	a := sluice(t, nil, demo(t.TempDir(), "--mutate=5")...).expect(t, 0)
	if v := decode[summaryJSON](t, a.out); v.Runs["COMPLETED"] != 4 || *v.Violations != 0 || *v.TruthMatch {
		t.Errorf("got %+v", v)
	}
	a = sluice(t, nil, demo(t.TempDir(), "--mutate=5", "--output", "text")...).expect(t, 0)
	if !strings.Contains(a.out, "the world changed while it was collected") {
		t.Errorf("got %s", a.out)
	}
}

func TestDemoWithABusyAddress(t *testing.T) {
	p := start(t, nil, "demo", "--accounts", "1", "--data-dir", t.TempDir(), "--addr", "127.0.0.1:0", "--limit", "500")
	url := addressIn(t, p.says("API at http://"))
	sluice(t, nil, demo(t.TempDir(), "--addr", url[len("http://"):])...).expect(t, 1, "listens on", "--addr")
}
