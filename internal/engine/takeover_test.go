package engine_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"sluice/internal/domain"
	"sluice/internal/engine"
	"sluice/internal/quota"
	"sluice/internal/state"
)

// spentOnce is a quota that is spent when it is asked for the first time.
type spentOnce struct {
	quota.Keeper
	asked atomic.Int64
}

func (k *spentOnce) Reserve(ctx context.Context, ask quota.Ask) (quota.Decision, error) {
	if k.asked.Add(1) == 1 {
		return quota.Decision{Reason: quota.ReasonPrimary, RetryAt: time.Now().Add(1100 * time.Millisecond)}, nil
	}
	return k.Keeper.Reserve(ctx, ask)
}

// TestJobOfADeadWorkerWaitsForQuota: a job of a LOW run that a worker took over
// from one that died, and that has to wait for its quota, goes on. Its run is
// raised by that, and the job gets another place.
func TestJobOfADeadWorkerWaitsForQuota(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		m := newTeam(t, newItems(1))
		front := m.join(engine.Config{}, nil)
		run := m.signup(front, "octocat")
		if _, err := front.SetRunPriority(t.Context(), run.ID, domain.PriorityLow); err != nil {
			t.Fatal(err)
		}
		jobs, err := m.first.State.Jobs(t.Context(), state.JobQuery{RunID: run.ID})
		if err != nil || len(jobs) != 1 {
			t.Fatal(len(jobs), err)
		}
		if err := m.first.State.Claim(t.Context(), state.Claim{Job: jobs[0].ID, At: time.Now()}); err != nil {
			t.Fatal(err)
		}
		keeper := &spentOnce{Keeper: m.ports.Quota}
		worker := m.works(func(p *engine.Ports) { p.Quota = keeper })
		if run := m.ends(worker, run.ID); run.Status != domain.RunCompleted || run.Priority != domain.PriorityHigh || keeper.asked.Load() < 2 {
			t.Errorf("asked %d times, run is %+v", keeper.asked.Load(), run)
		}
	})
}
