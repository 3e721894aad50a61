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
			leaving.Signal(syscall.SIGTERM)
			leaving.Ends().Expect(t, 0)
			m.revive(one)
			one.Now().Says("sluice works")
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
}
