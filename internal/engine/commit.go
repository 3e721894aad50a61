package engine

import (
	"context"
	"time"

	"sluice/internal/dispatch"
	"sluice/internal/domain"
	"sluice/internal/state"
)

// commit makes an outcome durable and then tells dispatch about it. The call
// was paid for, so it is tried until the store takes it or the engine is given
// up; only then is the call repeated by the next start.
func (e *Engine) commit(ctx context.Context, t task, o state.Outcome) {
	effect, err := e.finish(ctx, t.job, o)
	if err != nil {
		if domain.CodeOf(err) == domain.CodeStale {
			e.cfg.Log.Info("result dropped", "run", t.job.RunID, "job", t.job.ID, "reason", err)
			e.yield(ctx, t)
		} else if ctx.Err() == nil {
			e.postpone(ctx, t, "commit", err)
		}
		return
	}
	e.report(t, o)
	if len(effect.Canceled) > 0 {
		if err := e.Dispatch.Remove(ctx, effect.Canceled...); err != nil && ctx.Err() == nil {
			// A worker that gets one of them finds its claim refused.
			e.cfg.Log.Warn("remove", "run", t.job.RunID, "error", err)
		}
	}
	if o.PauseAccount != "" {
		e.accounts.forget(t.job.AccountID)
	}
	if o.Owner != "" {
		e.accounts.forgetAll()
	}
	e.rows.add(effect.Rows)
	// The unacknowledged lease is the outbox: children first.
	if err := e.tell(ctx, effect); err != nil {
		if ctx.Err() == nil {
			e.cfg.Log.Error("dispatch", "run", t.job.RunID, "jobs", len(effect.Created), "error", err)
		}
		return
	}
	switch o.To {
	case domain.JobReady:
		e.release(ctx, []dispatch.Lease{t.lease}, o.NotBefore)
		e.makeSure(ctx, t.job, o.NotBefore)
	case domain.JobSucceeded:
		e.acknowledgeLater(ctx, t.lease)
	default:
		e.layDown(ctx, t.lease)
	}
	if effect.Closed != nil && !effect.Closed.Status.Active() {
		e.ended(*effect.Closed)
	}
	e.watchers.Notify()
}

// tell dispatches what an outcome made to be done next.
func (e *Engine) tell(ctx context.Context, effect state.Effect) error {
	if err := e.push(ctx, effect.Created); err != nil {
		return err
	}
	switch closed := effect.Closed; {
	case closed == nil:
		return nil
	case closed.Status == domain.RunFinalizing:
		return e.Dispatch.Push(ctx, choreEntry(choreFinish, closed.ID, time.Time{}))
	}
	return e.afterEnd(ctx, effect.Closed.AccountID)
}

// afterEnd has what follows a run planned that ended without statistics.
func (e *Engine) afterEnd(ctx context.Context, account int64) error {
	if len(e.cfg.Harvests) == 0 {
		return nil
	}
	return e.Dispatch.Push(ctx, choreEntry(choreEnded, account, time.Time{}))
}

// finish writes the outcome, again and again while the store is unavailable.
func (e *Engine) finish(ctx context.Context, job domain.Job, o state.Outcome) (effect state.Effect, err error) {
	kept := false
	err = e.insist(ctx, job.RunID, func() error {
		effect, err = e.finishOnce(ctx, o)
		if domain.CodeOf(err) == domain.CodeUnavailable && !kept {
			kept = true
			e.keep(ctx, job, o)
		}
		return err
	})
	if kept && err == nil {
		e.dropKept(ctx, job)
	}
	return effect, err
}

// insist repeats a write while the store is unavailable, and lets people see
// that it waits.
func (e *Engine) insist(ctx context.Context, run int64, write func() error) error {
	for delay := firstDelay; ; delay = min(2*delay, maxDelay) {
		err := write()
		if err == nil {
			e.waits.clear(waitStore)
			return nil
		}
		if domain.CodeOf(err) != domain.CodeUnavailable || ctx.Err() != nil {
			return err
		}
		e.cfg.Log.Warn("the store does not take a result; trying again", "run", run, "error", err)
		e.storeWaits(err, delay)
		if !pause(ctx, delay) {
			return err
		}
	}
}

// storeWaits shows that work waits for the store.
func (e *Engine) storeWaits(err error, delay time.Duration) {
	e.waits.set(waitStore, Wait{Reason: err.Error(), Until: e.cfg.Now().Add(delay)})
	e.watchers.Notify()
}

func (e *Engine) finishOnce(ctx context.Context, o state.Outcome) (state.Effect, error) {
	if e.Documents != nil && len(o.Documents) > 0 {
		if err := e.Documents.Upsert(ctx, o.Documents); err != nil {
			return state.Effect{}, err
		}
		o.Documents = nil
	}
	if e.Documents != nil && len(o.Absences) > 0 {
		if err := e.Documents.MarkDeleted(ctx, o.Absences); err != nil {
			return state.Effect{}, err
		}
		o.Absences = nil
	}
	return e.State.Finish(ctx, o)
}

// report logs what a person would want to know and counts the rest.
func (e *Engine) report(t task, o state.Outcome) {
	switch o.To {
	case domain.JobSucceeded:
		e.counters.Succeeded.Add(1)
		e.counters.Documents.Add(int64(o.Items))
		return
	case domain.JobFailed:
		e.counters.Failed.Add(1)
	case domain.JobReady:
		e.counters.Retried.Add(1)
	}
	if o.Failure != nil {
		e.cfg.Log.Warn("call failed", "run", t.job.RunID, "job", t.job.ID, "type", t.job.Type, "owner", t.lease.Lane,
			"kind", o.Failure.Kind, "reason", o.Failure.Message, "next", o.To, "not_before", o.NotBefore)
	}
}
