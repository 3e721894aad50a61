package main_test

import (
	"maps"
	"strings"
	"syscall"
	"testing"

	"sluice/internal/testkit/sluice"
)

// demo is the command line of a demo that takes a moment, on a port of its own.
func demo(dir string, more ...string) []string {
	return append([]string{
		"demo", "--accounts", "4", "--seed", "7", "--exit-when-done", "--output", "json", "--data-dir", dir,
		"--addr", "127.0.0.1:0", "--limit", "500", "--window", "2s", "--latency", "1ms",
	}, more...)
}

func checkVerdict(t *testing.T, a sluice.Answer) sluice.Summary {
	t.Helper()
	v := sluice.Decode[sluice.Summary](t, a.Out)
	if v.Accounts != 4 || !maps.Equal(v.Runs, map[string]int{"COMPLETED": 4}) || v.Calls == 0 || len(v.Results) != 4 {
		t.Errorf("got %+v", v)
	}
	if v.TruthMatch == nil || !*v.TruthMatch {
		t.Error("the copy is not the truth")
	}
	if v.Violations == nil || *v.Violations != 0 {
		t.Error("the simulator counted violations")
	}
	for _, r := range v.Results {
		if l := r.Ledger; l.Known == 0 || l.Stored != l.Known || l.Gaps != 0 {
			t.Errorf("the ledger of %s says %+v", r.Login, l)
		}
	}
	return v
}

func TestDemo(t *testing.T) {
	dir := t.TempDir()
	first := sluice.Run(t, nil, demo(dir)...).Expect(t, 0, "simulated GitHub at", "COMPLETED")
	all := checkVerdict(t, first)

	// On complete data the same command collects what has changed: nothing.
	again := checkVerdict(t, sluice.Run(t, nil, demo(dir)...).Expect(t, 0))
	if again.Calls >= all.Calls/2 || again.Results[0].Run <= 4 {
		t.Errorf("the second run made %d calls in run %d; the first made %d", again.Calls, again.Results[0].Run, all.Calls)
	}

	a := sluice.Run(t, nil, demo(dir, "--seed", "8")...).Expect(t, 2, "--seed 7", "--data-dir")
	if a.Out != "" {
		t.Errorf("a refusal wrote to stdout: %s", a.Out)
	}
}

func TestDemoGoesOnAfterAKill(t *testing.T) {
	whole := checkVerdict(t, sluice.Run(t, nil, demo(t.TempDir())...))

	dir := t.TempDir()
	// One worker takes seconds from the first account's end to the last one's.
	p := sluice.Start(t, nil, demo(dir, "--latency", "60ms", "--workers", "1")...)
	p.Says("COMPLETED")
	p.Signal(syscall.SIGKILL)
	if a := p.Ends(); a.Out != "" {
		t.Fatalf("it was done before it was killed: %s", a.Out)
	}

	a := sluice.Run(t, nil, demo(dir)...).Expect(t, 0)
	resumed := 0
	for _, r := range checkVerdict(t, a).Results {
		if r.Run <= 4 {
			resumed++
		}
	}
	if resumed == 0 || resumed == 4 {
		t.Errorf("%d of 4 runs went on; the others had ended before the kill", resumed)
	}
	runs := sluice.Decode[struct{ Runs []struct{ Calls int } }](t, sluice.Run(t, nil, "run", "list", "--data-dir", dir, "--output", "json").Out)
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
	p := sluice.Start(t, nil, args...)
	p.Says("the API stays up")
	p.Signal(syscall.SIGINT)
	p.Ends().Expect(t, 0, "finishing")

	// In the middle of the collection a signal leaves something undone.
	dir = t.TempDir()
	args[4] = dir
	p = sluice.Start(t, nil, append(args, "--latency", "100ms", "--workers", "1")...)
	p.Says("run 1 RUNNING")
	p.Signal(syscall.SIGINT)
	p.Ends().Expect(t, 130, "the same command resumes")

	p = sluice.Start(t, nil, append(args, "--latency", "100ms", "--workers", "1", "--exit-when-done")...)
	p.Says("run 1 RUNNING")
	p.Signal(syscall.SIGTERM)
	p.Ends().Expect(t, 130, "the same command resumes")
}

// TestDemoOfAChangingWorld collects what changes meanwhile: the copy may lag
// behind, which is no failure, but no limit may be broken.
func TestDemoOfAChangingWorld(t *testing.T) {
	a := sluice.Run(t, nil, demo(t.TempDir(), "--mutate=5")...).Expect(t, 0)
	if v := sluice.Decode[sluice.Summary](t, a.Out); v.Runs["COMPLETED"] != 4 || *v.Violations != 0 || *v.TruthMatch {
		t.Errorf("got %+v", v)
	}
	a = sluice.Run(t, nil, demo(t.TempDir(), "--mutate=5", "--output", "text")...).Expect(t, 0)
	if !strings.Contains(a.Out, "the world changed while it was collected") {
		t.Errorf("got %s", a.Out)
	}
}

func TestDemoWithABusyAddress(t *testing.T) {
	p := sluice.Start(t, nil, "demo", "--accounts", "1", "--data-dir", t.TempDir(), "--addr", "127.0.0.1:0", "--limit", "500")
	url := sluice.AddressIn(t, p.Says("API at http://"))
	sluice.Run(t, nil, demo(t.TempDir(), "--addr", url[len("http://"):])...).Expect(t, 1, "is in use", "--addr")
}
