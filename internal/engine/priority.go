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
	return e.changeRun(ctx, id, func(a domain.Account) ([]domain.JobRef, error) {
		if a.State == domain.AccountDeleted {
			return nil, domain.Errorf(domain.CodeConflict, "account %s is %s: %s", a.Login, a.State, a.Reason)
		}
		return e.State.ResumeRun(ctx, id, p, passingKinds())
	})
}

// SetRunPriority raises or lowers an active run, with everything of it that
// waits.
func (e *Engine) SetRunPriority(ctx context.Context, id int64, p domain.Priority) (domain.Run, error) {
	return e.changeRun(ctx, id, func(domain.Account) ([]domain.JobRef, error) { return e.State.SetRunPriority(ctx, id, p) })
}

// changeRun changes a run and lets dispatch know what waits of it now.
func (e *Engine) changeRun(ctx context.Context, id int64, change func(domain.Account) ([]domain.JobRef, error)) (domain.Run, error) {
	run, err := e.State.Run(ctx, id)
	if err != nil {
		return run, err
	}
	a, err := e.State.Account(ctx, run.AccountID)
	if err != nil {
		return run, err
	}
	done, err := e.guard(ctx, run.AccountID)
	if err != nil {
		return run, err
	}
	refs, err := change(a)
	if err != nil {
		if domain.CodeOf(err) == domain.CodeUnavailable {
			// It may have been done; then jobs wait that dispatch does not know.
			e.errands.add("dispatch", e.deliveryOf(run.AccountID, done))
		} else {
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

// deliveryOf dispatches whatever waits of an account's run, and calls done then.
func (e *Engine) deliveryOf(account int64, done func()) func(context.Context) error {
	return func(ctx context.Context) error {
		if err := e.deliverWaiting(ctx, account); err != nil {
			return err
		}
		done()
		return nil
	}
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

// shortWait is how long a job waits at most for calls under way to be counted,
// and not for the next window.
const shortWait = time.Second

// park closes the lane of an owner whose ration does not allow the call. The
// job goes back to the front of it.
func (e *Engine) park(ctx context.Context, t task, a account, d quota.Decision) {
	spent := (d.Reason == quota.ReasonPrimary || d.Reason == quota.ReasonFloor) && d.RetryAt.Sub(e.cfg.Now()) > shortWait
	until := d.RetryAt
	if spent {
		until = until.Add(e.quotaMargin(ctx, a))
	}
	e.closeLane(ctx, t.lease.Lane, Wait{Reason: string(d.Reason), Until: until})
	raised := spent && t.lease.Priority == domain.PriorityLow && e.raise(ctx, t.job.RunID)
	e.release(ctx, []dispatch.Lease{t.lease}, time.Time{})
	if raised {
		e.moveUp(ctx, t.job)
	}
}

// moveUp gives a job that was leased while its run was raised the place that it
// has now: dispatch did not hear of it then.
func (e *Engine) moveUp(ctx context.Context, job domain.Job) {
	done, err := e.guard(ctx, job.AccountID)
	if err != nil {
		// It keeps its place among those of LOW priority.
		e.cfg.Log.Warn("raise a job that waits for quota", "run", job.RunID, "job", job.ID, "error", err)
		return
	}
	e.deliverSoon(ctx, func(ctx context.Context) error {
		if err := e.Dispatch.Remove(ctx, job.ID); err != nil {
			return err
		}
		if err := e.deliverIfWaiting(ctx, job.ID); err != nil {
			return err
		}
		done()
		return nil
	})
}

// quotaMargin is how long after the reset an account's run goes on.
func (e *Engine) quotaMargin(ctx context.Context, a account) time.Duration {
	policy, harvested, err := e.scheduleOf(ctx, a.Account)
	if err != nil || !harvested {
		return 0
	}
	return policy.QuotaMargin()
}

// raise lets a run that waits for its ration go on before others when it is
// there again. It reports whether the run has priority then.
func (e *Engine) raise(ctx context.Context, id int64) bool {
	run, err := e.runs.get(ctx, id)
	if err == nil && run.Priority != domain.PriorityHigh {
		_, err = e.SetRunPriority(ctx, id, domain.PriorityHigh)
	}
	if err != nil && ctx.Err() == nil {
		// It waits all the same, only not before others.
		e.cfg.Log.Warn("raise a run that waits for quota", "run", id, "error", err)
	}
	return err == nil
}
