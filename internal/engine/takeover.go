package engine

import (
	"context"
	"fmt"

	"sluice/internal/domain"
	"sluice/internal/state"
)

// takeOver looks whether a job that a vanished worker had in hand can do
// without another call: its result may have been kept when the store did not
// take it, or it has made too many workers vanish. It reports whether the job
// is dealt with.
func (e *Engine) takeOver(ctx context.Context, t task) bool {
	o, found := e.kept(ctx, t.job)
	switch {
	case found:
	case t.job.Lost >= e.cfg.MaxLost:
		o = state.Outcome{To: domain.JobFailed, Failure: &domain.Failure{
			Kind: domain.FailureLost, Message: fmt.Sprintf("%d workers vanished while they had this job", t.job.Lost+1),
		}}
	default:
		return false
	}
	if err := e.State.Claim(ctx, state.Claim{Job: t.job.ID, Attempt: t.job.Attempt, At: e.cfg.Now()}); err != nil {
		e.claimFailed(ctx, t, err)
		return true
	}
	t.job.Attempt++
	o.Job, o.Attempt, o.At = t.job.ID, t.job.Attempt, e.cfg.Now()
	e.commit(ctx, t, o)
	return true
}

// kept returns the result that the attempt under way left, if it left one. If
// that cannot be told the call is made again: it costs one, and loses nothing.
func (e *Engine) kept(ctx context.Context, job domain.Job) (state.Outcome, bool) {
	if e.Results == nil {
		return state.Outcome{}, false
	}
	o, found, err := e.Results.Take(ctx, job.ID)
	if err != nil && ctx.Err() == nil {
		e.cfg.Log.Warn("kept result", "run", job.RunID, "job", job.ID, "error", err)
	}
	return o, err == nil && found && o.Attempt == job.Attempt
}

// keep puts a result that was paid for where another process finds it.
func (e *Engine) keep(ctx context.Context, job domain.Job, o state.Outcome) {
	if e.Results == nil || o.To != domain.JobSucceeded {
		return
	}
	if err := e.Results.Keep(ctx, o); err != nil && ctx.Err() == nil {
		// The lease lives on while this process does.
		e.cfg.Log.Warn("keep result", "run", job.RunID, "job", job.ID, "error", err)
	}
}

// dropKept forgets a kept result that the store has taken after all.
func (e *Engine) dropKept(ctx context.Context, job domain.Job) {
	if e.Results == nil {
		return
	}
	if err := e.Results.Drop(ctx, job.ID); err != nil && ctx.Err() == nil {
		// It expires by itself, and names an attempt that is over.
		e.cfg.Log.Warn("drop kept result", "run", job.RunID, "job", job.ID, "error", err)
	}
}
