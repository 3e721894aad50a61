package collection_test

import (
	"bytes"
	"flag"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	sim "sluice/internal/simulator/github"
	"sluice/internal/source/github"
	"sluice/internal/testkit/sluice"
)

var nastyLives = flag.Int("nasty-lives", 8, "how often the program is killed while everything goes wrong")

// tooPatient are the faults that nobody can wait for in a test: they ask to
// stay away for minutes or years.
var tooPatient = []string{
	sim.FaultAbsurdWait, sim.FaultSecondarySilent, sim.FaultSecondary, sim.FaultResetFar,
}

// TestChaosNastyWorld lets everything go wrong that goes wrong at GitHub, in a
// world that changes, while the program is killed again and again. When that is
// over, one quiet run brings the copy to the truth: nothing is missing, nothing
// that is there is said to be gone, and what is gone is flagged.
func TestChaosNastyWorld(t *testing.T) {
	random := sluice.Seeded(t)
	const window = 3 * time.Second
	u := sluice.NewUpstream(t, sim.Options{
		Seed: random.Uint64(), Accounts: 5, Organizations: 1, NoPollInterval: true,
		Shape: &sim.Shape{
			Repos: sim.Between(5, 12), Commits: sim.Between(0, 130), Issues: sim.Between(0, 130), Pulls: sim.Between(0, 40), Parts: sim.Between(0, 120), Oddities: true,
		},
		Latency: sim.Latency{Fixed: 2 * time.Millisecond},
		Limits:  sim.Limits{Window: window, CoreLimit: 600, GraphQLLimit: 600},
		Nasty: &sim.Nasty{
			Seed: random.Uint64(), Rate: 0.12, Changes: 0.06, Except: tooPatient,
			Slow: sim.Duration(300 * time.Millisecond), Huge: 1 << 20,
		},
	})
	dir := t.TempDir()
	args := u.Collect(dir, "--workers", "6", "--assume-limit", "600", "--assume-window", window.String(), "--sweep-every", "1s", "--resources", "all")
	for range *nastyLives {
		suffer(t, args, time.Duration(300+random.IntN(2500))*time.Millisecond)
	}
	injected := u.Audit().Injected
	u.SetNasty(sim.Nasty{})
	t.Logf("%d kinds of faults and changes: %v", len(injected), injected)
	var lacking []string
	for _, kind := range append(sim.FaultKinds(), sim.ChangeKinds()...) {
		if injected[kind] == 0 && !slices.Contains(tooPatient, kind) {
			lacking = append(lacking, kind)
		}
	}
	// What needs the right instant, such as a deletion between two pages, may not come.
	if *nastyLives >= 100 && len(lacking) > 3 {
		t.Errorf("these did not happen: %v", lacking)
	}
	// The run that was under way goes on, and may lack what went wrong before.
	suffer(t, args, 0)
	a := sluice.Run(t, nil, args...).Expect(t, 0)
	if strings.Contains(a.Err, "INCOMPLETE") {
		t.Errorf("the quiet run says %s", a.Err)
	}
	sluice.CheckEqual(t, u, dir, github.ResourceKinds()...)
}

// suffer runs the program for a while and then kills it; with zero it runs to
// its end, however it ends: an upstream that fails for good makes a run that
// lacks something.
func suffer(t *testing.T, args []string, life time.Duration) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), sluice.Binary, args...)
	cmd.Env = sluice.Environment()
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	end, with := life, syscall.SIGKILL
	if life == 0 {
		end, with = chaosEnd, syscall.SIGQUIT
	}
	killer := time.AfterFunc(end, func() { _ = cmd.Process.Signal(with) })
	err := cmd.Wait()
	killer.Stop()
	text := out.String()
	sluice.CheckNoSecret(t, "output", text)
	if strings.Contains(text, "goroutine ") || strings.Contains(text, "panic:") {
		t.Fatalf("the program broke or hung: %v\n%s", err, text[max(0, len(text)-20000):])
	}
	if code := cmd.ProcessState.ExitCode(); life > 0 && code >= 0 {
		t.Log("ended by itself with code " + strconv.Itoa(code))
	}
}
