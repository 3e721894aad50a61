package engine

import (
	"context"
	"time"

	"sluice/internal/dispatch"
	"sluice/internal/domain"
	"sluice/internal/quota"
	"sluice/internal/source"
	"sluice/internal/state"
)

// work is one worker: it takes tasks until the feeder stops.
func (e *Engine) work(hard context.Context) {
	for t := range e.tasks {
		e.process(hard, t)
		e.renewer.drop(t.lease)
		e.slots <- struct{}{}
	}
}

// process takes one job through reserve → claim → call → commit → acknowledge.
// Whatever fails before the call leaves the job as it was.
func (e *Engine) process(ctx context.Context, t task) {
	if t.job.Status.Ended() || t.job.Status == domain.JobPaused {
		e.redelivered(ctx, t)
		return
	}
	account, run, src, err := e.context(ctx, t.job)
	if err != nil {
		e.postpone(ctx, t, "prepare", err)
		return
	}
	ask, err := src.Ask(t.job.JobSpec, account.Owner)
	if err != nil {
		e.postpone(ctx, t, "price", err)
		return
	}
	decision, err := e.Quota.Reserve(ctx, ask)
	if err != nil {
		e.postpone(ctx, t, "reserve", err)
		return
	}
	if !decision.Granted {
		e.park(ctx, t.lease, decision)
		return
	}
	job, err := e.State.Claim(ctx, state.Claim{Job: t.job.ID, At: e.cfg.Now(), Window: decision.Window})
	if err != nil {
		e.refund(ctx, decision.Permit)
		e.claimFailed(ctx, t, err)
		return
	}
	call := e.recall(ctx, run, job)
	call.Token = account.token
	e.counters.Calls.Add(1)
	result := src.Call(ctx, call)
	e.commit(ctx, t, e.settle(ctx, t.lease.Lane, job, decision.Permit, result))
}

// context gathers whose job it is and who can make its call.
func (e *Engine) context(ctx context.Context, job domain.Job) (account, runInfo, source.Source, error) {
	a, err := e.accounts.get(ctx, job.AccountID)
	if err != nil {
		return account{}, runInfo{}, nil, err
	}
	run, err := e.runs.get(ctx, job.RunID)
	if err != nil {
		return account{}, runInfo{}, nil, err
	}
	src, ok := e.sources[run.Source]
	if !ok {
		return account{}, runInfo{}, nil, domain.Errorf(domain.CodeInvalid, "there is no source %q", run.Source)
	}
	return a, run, src, nil
}

// recall adds what earlier runs left: the cursors and the stored page. Without
// the page the request is merely unconditional, so a failure to read it does
// not stop the call.
func (e *Engine) recall(ctx context.Context, run runInfo, job domain.Job) source.Call {
	call := source.Call{Run: run.Run, Job: job, Cursors: run.cursors, Since: run.cursors[job.Type+" "+job.Resource]}
	conditional, ok := e.sources[run.Source].(source.Conditional)
	if !ok || len(run.cursors) == 0 {
		return call
	}
	key := conditional.StoredKey(job.JobSpec)
	if key == "" {
		return call
	}
	page, found, err := e.State.StoredPage(ctx, job.AccountID, key)
	if err != nil {
		e.cfg.Log.Warn("stored page", "run", job.RunID, "job", job.ID, "error", err)
	} else if found {
		call.Stored = &page
	}
	return call
}

// redelivered finishes what a dead worker left undone after its commit: the
// children may not have been dispatched.
func (e *Engine) redelivered(ctx context.Context, t task) {
	children, err := e.State.Children(ctx, t.job.ID)
	if err != nil {
		e.postpone(ctx, t, "children", err)
		return
	}
	if e.push(ctx, children) {
		e.acknowledge(ctx, t.lease)
	}
}

func (e *Engine) claimFailed(ctx context.Context, t task, err error) {
	if domain.CodeOf(err) == domain.CodeStale {
		e.acknowledge(ctx, t.lease)
		return
	}
	e.postpone(ctx, t, "claim", err)
}

// postpone gives a job back for a moment because one of our own parts failed.
// It takes nothing from the job's retry budget.
func (e *Engine) postpone(ctx context.Context, t task, what string, err error) {
	if ctx.Err() == nil {
		e.cfg.Log.Error(what, "run", t.job.RunID, "job", t.job.ID, "error", err)
	}
	e.release(ctx, []dispatch.Lease{t.lease}, e.cfg.Now().Add(time.Second))
}

// park closes the lane of an owner whose ration does not allow the call. The
// job goes back to the front of it; nothing is written.
func (e *Engine) park(ctx context.Context, l dispatch.Lease, d quota.Decision) {
	e.waits.set(l.Lane, Wait{Reason: string(d.Reason), Until: d.RetryAt})
	e.watchers.notify()
	if err := e.Dispatch.Park(ctx, l.Lane, d.RetryAt); err != nil && ctx.Err() == nil {
		e.cfg.Log.Warn("park", "owner", l.Lane, "error", err)
	}
	e.release(ctx, []dispatch.Lease{l}, time.Time{})
}

func (e *Engine) refund(ctx context.Context, p quota.Permit) {
	if _, err := e.Quota.Refund(ctx, p, quota.Response{}); err != nil && ctx.Err() == nil {
		// An unreturned permit only wastes one call.
		e.cfg.Log.Warn("refund", "owner", p.Owner, "error", err)
	}
}
