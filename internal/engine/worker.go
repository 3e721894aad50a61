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

// begun is a job that is reserved and claimed: its call may be made.
type begun struct {
	task
	permit quota.Permit
	source source.Source
	call   source.Call
}

// work is one worker: one call at a time until the feeder stops. While the
// outcome of a call is being written the next job is claimed, so that both
// share one fsync; the next call begins when the outcome is on disk.
func (e *Engine) work(feed, hard context.Context) {
	var next *begun
	for {
		if next == nil {
			t, ok := <-e.tasks
			if !ok {
				return
			}
			if next = e.take(feed, hard, t); next == nil {
				continue
			}
		}
		if feed.Err() != nil {
			e.handBackBegun(hard, next)
			next = nil
			continue
		}
		began := e.cfg.Now()
		e.counters.Calls.Add(1)
		result := next.source.Call(hard, next.call)
		outcome := e.settle(hard, next, result)
		ahead := e.beginAhead(feed, hard)
		e.commit(hard, next.task, outcome)
		e.leave(next.lease)
		e.took(e.cfg.Now().Sub(began))
		next = <-ahead
	}
}

// leave says that a lease is done with, however it went.
func (e *Engine) leave(l dispatch.Lease) {
	e.renewer.drop(l)
	e.slots <- struct{}{}
}

// beginAhead begins a task that already waits, if there is one.
func (e *Engine) beginAhead(feed, hard context.Context) <-chan *begun {
	ahead := make(chan *begun, 1)
	select {
	case t, ok := <-e.tasks:
		if ok {
			go func() { ahead <- e.take(feed, hard, t) }()
			return ahead
		}
	default:
	}
	ahead <- nil
	return ahead
}

// take brings one job through reserve and claim. It returns nil when that did
// not work out; the job is then left as it was and the task is done with.
func (e *Engine) take(feed, hard context.Context, t task) *begun {
	var b *begun
	switch {
	case feed.Err() != nil:
		e.release(hard, []dispatch.Lease{t.lease}, time.Time{})
	case t.job.Status.Ended() || t.job.Status == domain.JobPaused:
		e.redelivered(hard, t)
	default:
		b = e.reserveAndClaim(hard, t)
	}
	if b == nil {
		e.leave(t.lease)
	}
	return b
}

func (e *Engine) reserveAndClaim(ctx context.Context, t task) *begun {
	if t.job.Status == domain.JobRunning && e.takeOver(ctx, t) {
		return nil
	}
	account, run, src, err := e.context(ctx, t.job)
	if err != nil {
		e.postponeForStore(ctx, t, "prepare", err)
		return nil
	}
	lender, decision, err := e.reserve(ctx, src, t.job.JobSpec, account)
	if err != nil {
		e.postpone(ctx, t, "reserve", err)
		return nil
	}
	if !decision.Granted {
		e.park(ctx, t, account, decision)
		return nil
	}
	err = e.State.Claim(ctx, state.Claim{Job: t.job.ID, Attempt: t.job.Attempt, Account: account.Version, At: e.cfg.Now(), Window: decision.Window})
	if err != nil {
		e.refund(ctx, decision.Permit)
		e.claimFailed(ctx, t, err)
		return nil
	}
	t.job.Status = domain.JobRunning
	t.job.Attempt++
	call := e.recall(ctx, run, t.job)
	call.Token = lender.token
	return &begun{task: t, permit: decision.Permit, source: src, call: call}
}

// handBackBegun undoes a claim whose call will not be made by this process.
func (e *Engine) handBackBegun(ctx context.Context, b *begun) {
	e.refund(ctx, b.permit)
	e.commit(ctx, b.task, state.Outcome{Job: b.job.ID, Attempt: b.job.Attempt, At: e.cfg.Now(), To: domain.JobReady})
	e.leave(b.lease)
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
	if err := e.push(ctx, children); err != nil {
		e.postpone(ctx, t, "dispatch", err)
		return
	}
	if err := e.finishIfClosed(ctx, t.job.RunID); err != nil {
		e.postpone(ctx, t, "finish", err)
		return
	}
	e.layDown(ctx, t.lease)
}

// finishIfClosed sees to it that a run whose last job has ended gets its
// statistics: the worker that ended it may have died before it said so.
func (e *Engine) finishIfClosed(ctx context.Context, id int64) error {
	run, err := e.State.Run(ctx, id)
	if err != nil {
		return err
	}
	_, err = e.resume(ctx, run)
	return err
}

func (e *Engine) claimFailed(ctx context.Context, t task, err error) {
	if domain.CodeOf(err) == domain.CodeStale {
		// It may be the account that is not what it was.
		e.accounts.forget(t.job.AccountID)
		e.yield(ctx, t)
		return
	}
	e.postponeForStore(ctx, t, "claim", err)
}

// postponeForStore also lets people see it.
func (e *Engine) postponeForStore(ctx context.Context, t task, what string, err error) {
	if ctx.Err() == nil && domain.CodeOf(err) == domain.CodeUnavailable {
		e.storeWaits(err, e.cfg.BackoffBase)
	}
	e.postpone(ctx, t, what, err)
}

// postpone gives a job back for a moment because one of our own parts failed.
// It takes nothing from the job's retry budget.
func (e *Engine) postpone(ctx context.Context, t task, what string, err error) {
	if ctx.Err() == nil {
		e.cfg.Log.Error(what, "run", t.job.RunID, "job", t.job.ID, "error", err)
	}
	e.release(ctx, []dispatch.Lease{t.lease}, e.cfg.Now().Add(e.cfg.BackoffBase))
}

// closeLane lets everything that waits in a lane wait together, and shows why.
func (e *Engine) closeLane(ctx context.Context, lane string, w Wait) {
	e.waits.set(lane, w)
	e.watchers.Notify()
	if err := e.Dispatch.Park(ctx, lane, w.Until); err != nil && ctx.Err() == nil {
		e.cfg.Log.Warn("park", "owner", lane, "error", err)
	}
}

func (e *Engine) refund(ctx context.Context, p quota.Permit) {
	e.giveBack(ctx, p, quota.Response{}, true)
}
