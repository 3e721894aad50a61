package machines_test

import (
	"context"
	"syscall"
	"testing"
	"time"

	"sluice/internal/domain"
	sim "sluice/internal/simulator/github"
	"sluice/internal/testkit/sluice"
)

// TestRollingRestart restarts one process after the other while they collect:
// each hands back what it has not begun, so that no call is made twice.
func TestRollingRestart(t *testing.T) {
	// Nobody dies: on a busy machine a short lease would run out all the same.
	m := newMachinesWith(t, time.Minute, sim.Options{
		Seed: sluice.Seeded(t).Uint64(), Accounts: 12,
		Latency: sim.Latency{Fixed: 50 * time.Millisecond, Jitter: 50 * time.Millisecond},
		Limits:  sim.Limits{Window: machineWindow, Minute: machineWindow, CoreLimit: 12, GraphQLLimit: 12},
	}, false, 2, 1)
	runs := m.signup()
	for range 2 {
		for _, one := range m.Members {
			leaving := one.Now()
			// A process that has not come to hear of signals is ended by them.
			leaving.Says("sluice works")
			leaving.Signal(syscall.SIGTERM)
			leaving.Ends().Expect(t, 0)
			m.revive(one)
		}
	}
	svc := m.Look()
	under, cancel := context.WithTimeout(t.Context(), sluice.Patience)
	defer cancel()
	for _, id := range runs {
		run, err := svc.WaitRun(under, id)
		if err != nil || run.Status != domain.RunCompleted {
			t.Fatalf("run %d is %+v: %v\n%s", id, run, err, m.LastWords())
		}
	}
	m.checkComplete(svc)
	audit := m.upstream.Audit()
	if repeated := audit.Repeated + audit.RepeatedQueries; repeated != 0 || audit.Violations != 0 {
		t.Errorf("%d calls were repeated: %+v", repeated, audit)
	}
	// Who was stopped has left the roll, and who is killed is told of as silent.
	m.answer(len(m.Members)+2, 0)
	gone := m.Members[0].Now()
	gone.Signal(syscall.SIGKILL)
	_ = gone.Wait()
	m.answer(len(m.Members)+1, 1)
}

// answer waits until so many processes answer the roll, and so many do not: one that
// has just begun needs a moment to hear.
func (m *machines) answer(answer, silent int) {
	m.T.Helper()
	ctx, cancel := context.WithTimeout(m.T.Context(), sluice.Patience)
	defer cancel()
	for again := time.NewTicker(100 * time.Millisecond); ; {
		list, err := m.API.Processes(ctx)
		if err != nil {
			m.T.Fatal(err)
		}
		n := map[bool]int{}
		for _, p := range list.Items {
			n[p.Answers]++
		}
		if n[true] == answer && n[false] == silent {
			again.Stop()
			return
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			m.T.Fatalf("%d of %d processes answer, %d are silent and %d are to be: %+v", n[true], answer, n[false], silent, list.Items)
		}
	}
}
