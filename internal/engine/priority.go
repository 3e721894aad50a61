package engine

import (
	"context"
	"time"

	"sluice/internal/dispatch"
	"sluice/internal/domain"
	"sluice/internal/quota"
)

// ResumeRun lets a run that ended with failures go on from its failed jobs, as
// far as they may succeed now.
func (e *Engine) ResumeRun(ctx context.Context, id int64, p domain.Priority) (domain.Run, error) {
	return e.changeRun(ctx, id, func() ([]domain.JobRef, error) {
		return e.State.ResumeRun(ctx, id, p, passingKinds())
	})
}

// SetRunPriority raises or lowers an active run, with everything of it that
// waits.
func (e *Engine) SetRunPriority(ctx context.Context, id int64, p domain.Priority) (domain.Run, error) {
	return e.changeRun(ctx, id, func() ([]domain.JobRef, error) { return e.State.SetRunPriority(ctx, id, p) })
}

// changeRun changes a run and lets dispatch know what waits of it now.
func (e *Engine) changeRun(ctx context.Context, id int64, change func() ([]domain.JobRef, error)) (domain.Run, error) {
	run, err := e.State.Run(ctx, id)
	if err != nil {
		return run, err
	}
	done, err := e.guard(ctx, run.AccountID)
	if err != nil {
		return run, err
	}
	refs, err := change()
	if err != nil {
		if domain.CodeOf(err) != domain.CodeUnavailable {
			done()
		}
		return run, err
	}
	e.runs.forget(id)
	e.deliverSoon(ctx, func(ctx context.Context) error {
		if err := e.requeue(ctx, refs); err != nil {
			return err
		}
		done()
		return nil
	})
	e.watchers.Notify()
	return e.State.Run(ctx, id)
}

// requeue dispatches jobs with what is known of them now, instead of what was.
func (e *Engine) requeue(ctx context.Context, refs []domain.JobRef) error {
	for len(refs) > 0 {
		part := refs[:min(len(refs), rebuildBatch)]
		refs = refs[len(part):]
		ids := make([]int64, len(part))
		for i, ref := range part {
			ids[i] = ref.ID
		}
		if err := e.Dispatch.Remove(ctx, ids...); err != nil {
			return err
		}
		if err := e.push(ctx, part); err != nil {
			return err
		}
	}
	return nil
}

// afterQuota lets a run that waits for its ration go on before others when it
// is there again, and returns when that is.
func (e *Engine) afterQuota(ctx context.Context, t task, a account, d quota.Decision) time.Time {
	if d.Reason != quota.ReasonPrimary && d.Reason != quota.ReasonFloor {
		return d.RetryAt
	}
	if t.job.Priority == domain.PriorityLow {
		e.raise(ctx, t.job.RunID)
	}
	policy, harvested, err := e.scheduleOf(ctx, a.Account)
	if err != nil || !harvested {
		return d.RetryAt
	}
	return d.RetryAt.Add(policy.QuotaMargin())
}

// raise makes a run's priority HIGH, once.
func (e *Engine) raise(ctx context.Context, id int64) {
	run, err := e.runs.get(ctx, id)
	if err != nil || run.Priority == domain.PriorityHigh {
		return
	}
	if _, err := e.SetRunPriority(ctx, id, domain.PriorityHigh); err != nil && ctx.Err() == nil {
		// It waits all the same, only not before others.
		e.cfg.Log.Warn("raise a run that waits for quota", "run", id, "error", err)
	}
}

// park closes the lane of an owner whose ration does not allow the call. The
// job goes back to the front of it.
func (e *Engine) park(ctx context.Context, t task, a account, d quota.Decision) {
	e.closeLane(ctx, t.lease.Lane, Wait{Reason: string(d.Reason), Until: e.afterQuota(ctx, t, a, d)})
	e.release(ctx, []dispatch.Lease{t.lease}, time.Time{})
}
