package collection_test

import (
	"bytes"
	"flag"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"testing"
	"time"

	sim "sluice/internal/simulator/github"
	"sluice/internal/testkit/sluice"
)

var kills = flag.Int("kills", 14, "how often the chaos test kills the program")

const (
	chaosWorkers = 4
	chaosLimit   = 12
	chaosWindow  = 3 * time.Second
	// chaosEnd is when a last life that does not finish the collection hangs.
	chaosEnd = 20 * time.Minute
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
	calls := make(chan struct{}, 1)
	u.OnRequest(func(*http.Request, int) *sim.Fault {
		select {
		case calls <- struct{}{}:
		default:
		}
		return nil
	})
	killed := 0
	for done := false; !done; {
		// A life begins with its first call, however long a busy machine takes to get
		// there; some end before.
		life, begins := time.Duration(20+random.IntN(350))*time.Millisecond, calls
		if random.IntN(5) == 0 {
			begins = nil
		}
		if killed >= *kills {
			life = 0
		}
		if done = live(t, args, life, begins); !done {
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
// is zero. The while begins when something comes from begins, if that is not nil.
// It reports whether the program ended by itself.
func live(t *testing.T, args []string, life time.Duration, begins <-chan struct{}) (done bool) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), sluice.Binary, args...)
	cmd.Env = sluice.Environment()
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	select {
	case <-begins: // of an earlier life
	default:
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	err := endLife(cmd.Process, life, begins, ended)
	if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() && status.Signal() == syscall.SIGKILL {
		return false
	}
	if err != nil {
		t.Fatalf("the program failed by itself: %v\n%s\n%s", err, out.String(), errOut.String())
	}
	return true
}

// endLife kills a process when its life is over and waits for its end.
func endLife(p *os.Process, life time.Duration, begins <-chan struct{}, ended <-chan error) error {
	end, with := life, syscall.SIGKILL
	if life == 0 {
		// A program that hangs says where: this signal prints its goroutines.
		end, with = chaosEnd, syscall.SIGQUIT
	} else if begins != nil {
		select {
		case <-begins:
		case err := <-ended:
			return err
		}
	}
	killer := time.AfterFunc(end, func() { _ = p.Signal(with) })
	defer killer.Stop()
	return <-ended
}
