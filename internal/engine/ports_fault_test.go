package engine_test

import (
	"testing"
	"time"

	"sluice/internal/dispatch"
	"sluice/internal/domain"
	"sluice/internal/engine"
	"sluice/internal/quota"
	sim "sluice/internal/simulator/github"
	"sluice/internal/testkit"
	"sluice/internal/testkit/faulty"
	"sluice/internal/wiring"
)

func breakQuota(plan *faulty.Plan) wiring.Options {
	return wiring.Options{
		Engine:    engine.Config{Workers: 4},
		WrapQuota: func(k quota.Keeper) quota.Keeper { return faulty.NewQuota(k, plan) },
	}
}

func breakDispatch(plan *faulty.Plan) wiring.Options {
	return wiring.Options{
		Engine:       engine.Config{Workers: 4},
		WrapDispatch: func(d dispatch.Dispatcher) dispatch.Dispatcher { return faulty.NewDispatch(d, plan) },
	}
}

// A ration that nobody can count is not drawn on.
func TestNoCallWithoutQuota(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		plan := faulty.NewPlan()
		plan.FailBefore("Reserve", -1)
		w := newBubbleWorld(t, small(1), breakQuota(plan))
		c := w.signup(w.sim.Logins()[0])
		pass(time.Minute)
		if n := w.sim.Audit().Calls; n != 0 {
			t.Errorf("%d calls were made without a reservation", n)
		}
		if n := plan.Calls("Reserve"); n < 10 || n > 1000 {
			t.Errorf("%d reservations were tried in a minute", n)
		}
		for _, job := range w.jobs(c.run) {
			if job.Attempt != 0 || job.Failures != 0 || job.Status != domain.JobReady {
				t.Errorf("job %d is %s after %d attempts and %d failures", job.ID, job.Status, job.Attempt, job.Failures)
			}
		}
		plan.Heal()
		w.wantWhole(c)
		w.wantNoWaste()
	})
}

// A permit that could not be given back is given back later: it would hold one
// of the owner's calls for ever.
func TestPermitsComeBack(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		plan := faulty.NewPlan()
		plan.FailBefore("Settle", 3)
		plan.FailAfter("Settle", 3)
		w := newBubbleWorld(t, small(1), breakQuota(plan))
		c := w.signup(w.sim.Logins()[0])
		w.wantWhole(c)
		pass(time.Minute)
		windows, err := w.svc.Quota.Windows(t.Context(), "")
		if err != nil || len(windows) == 0 {
			t.Fatalf("windows %v, error %v", windows, err)
		}
		for _, window := range windows {
			if window.InFlight != 0 {
				t.Errorf("%d calls of bucket %s are still held", window.InFlight, window.Bucket)
			}
		}
		if plan.Unmet() != 0 {
			t.Errorf("%d faults were never met", plan.Unmet())
		}
	})
}

func TestDispatchFaultLosesNothing(t *testing.T) {
	for _, method := range []string{"Push", "Ack", "Lease", "Release"} {
		t.Run(method, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T) {
				plan := faulty.NewPlan()
				w := newBubbleWorld(t, small(2), breakDispatch(plan))
				plan.FailBefore(method, 2)
				plan.FailAfter(method, 2)
				if method == "Release" {
					// Something has to be handed back.
					w.sim.FailNext(w.of(w.sim.Logins()[0], "/events"), 4, sim.SecondaryLimit(time.Second))
				}
				w.wantAllWholeOnce(plan)
			})
		})
	}
}

func TestRandomDispatchFaultsLoseNothing(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		plan := faulty.Random(testkit.Seed(t), 0.2, 0.2)
		w := newBubbleWorld(t, small(3), breakDispatch(plan))
		w.wantAllWholeOnce(plan)
		if plan.Faults(faulty.Any) < 5 {
			t.Errorf("only %d calls of dispatch failed", plan.Faults(faulty.Any))
		}
	})
}

// wantAllWholeOnce collects everything and checks that it is whole and that no
// page was called twice.
func (w *world) wantAllWholeOnce(plan *faulty.Plan) {
	w.t.Helper()
	for _, c := range w.signupAll() {
		w.wantWhole(c)
	}
	w.wantNoWaste()
	if plan.Unmet() != 0 {
		w.t.Errorf("%d faults were never met", plan.Unmet())
	}
	plan.Heal()
	// Whatever is redelivered is put away in the end.
	pass(dispatch.MaxWait + 2*dispatch.DefaultLease)
	stats, err := w.svc.Dispatch.Stats(w.t.Context())
	if err != nil || stats.Ready+stats.Due+stats.Leased != 0 {
		w.t.Errorf("dispatch still holds %+v, error %v", stats, err)
	}
}
