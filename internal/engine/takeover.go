package engine

import (
	"context"
	"fmt"

	"sluice/internal/domain"
	"sluice/internal/state"
)

// takeOver looks whether a job that a vanished worker had in hand can do
// without another call: its result may have been saved when the store did not
// take it, or it has made too many workers vanish. It reports whether the job
// is dealt with.
func (p *pool) takeOver(ctx context.Context, t task) bool {
	o, found := p.savedResult(ctx, t.job)
	switch {
	case found:
	case t.job.Lost >= p.cfg.MaxLost:
		o = state.Outcome{To: domain.JobFailed, Failure: &domain.Failure{
			Kind: domain.FailureLost, Message: fmt.Sprintf("%d workers vanished while they had this job", t.job.Lost+1),
		}}
	default:
		return false
	}
	if err := p.State.Jobs.Claim(ctx, state.Claim{Job: t.job.ID, Attempt: t.job.Attempt, At: p.cfg.Now()}); err != nil {
		p.claimFailed(ctx, t, err)
		return true
	}
	t.job.Attempt++
	o.Job, o.Attempt, o.At = t.job.ID, t.job.Attempt, p.cfg.Now()
	p.commits.commitOutcome(ctx, t, o)
	return true
}

// savedResult returns the result that the attempt under way left, if it left one. If
// that cannot be told the call is made again: it costs one, and loses nothing.
func (p *pool) savedResult(ctx context.Context, job domain.Job) (state.Outcome, bool) {
	if p.Results == nil {
		return state.Outcome{}, false
	}
	o, found, err := p.Results.Take(ctx, job.ID)
	if err != nil && ctx.Err() == nil {
		p.cfg.Log.Warn("a saved result could not be read; the call is made again", "run", job.RunID, "job", job.ID, "error", err)
	}
	return o, err == nil && found && o.Attempt == job.Attempt
}
