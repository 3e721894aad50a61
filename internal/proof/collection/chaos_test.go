package collection_test

import (
	"bytes"
	"flag"
	"os/exec"
	"strconv"
	"syscall"
	"testing"
	"time"

	sim "sluice/internal/simulator/github"
	"sluice/internal/testkit/sluice"
)

var kills = flag.Int("kills", 20, "how often the chaos test kills the program")

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
	t.Parallel()
	random := sluice.Seeded(t)
	u := sluice.NewUpstream(t, sim.Options{
		Seed: random.Uint64(),
		// Twenty accounts at such a pace last for fifty kills.
		Accounts: max(10, *kills*2/5), Latency: sim.Latency{Fixed: 80 * time.Millisecond, Jitter: 60 * time.Millisecond},
		Limits: sim.Limits{Window: chaosWindow, CoreLimit: chaosLimit, GraphQLLimit: chaosLimit},
	})
	dir := t.TempDir()
	// The ration is what the operator knows it to be. A life may be too short to
	// be told: what it reserved without an answer counts as spent until an
	// assumed window is over, which by default would be an hour.
	args := u.Collect(dir, "--workers", strconv.Itoa(chaosWorkers),
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
	later := sluice.CheckComplete(t, u, dir)
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
	cmd := exec.CommandContext(t.Context(), sluice.Binary, args...)
	cmd.Env = sluice.Environment()
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
