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
			e.acknowledge(ctx, t.lease)
		} else if ctx.Err() == nil {
			e.cfg.Log.Error("commit", "run", t.job.RunID, "job", t.job.ID, "error", err)
			e.release(ctx, []dispatch.Lease{t.lease}, e.cfg.Now().Add(time.Second))
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
	// The unacknowledged lease is the outbox: children first.
	if !e.push(ctx, effect.Created) {
		return
	}
	if o.To == domain.JobReady {
		e.release(ctx, []dispatch.Lease{t.lease}, o.NotBefore)
	} else {
		e.acknowledge(ctx, t.lease)
	}
	if effect.Closed != nil {
		e.closed(*effect.Closed)
	}
	e.watchers.notify()
}

// finish writes the outcome, again and again while the store is unavailable.
func (e *Engine) finish(ctx context.Context, job domain.Job, o state.Outcome) (state.Effect, error) {
	for delay := 50 * time.Millisecond; ; delay = min(2*delay, 5*time.Second) {
		effect, err := e.finishOnce(ctx, o)
		if err == nil {
			e.waits.clear(waitStore)
			return effect, nil
		}
		if domain.CodeOf(err) != domain.CodeUnavailable || ctx.Err() != nil {
			return effect, err
		}
		e.cfg.Log.Warn("the store does not take a result; trying again", "run", job.RunID, "job", job.ID, "error", err)
		e.waits.set(waitStore, Wait{Reason: err.Error(), Until: e.cfg.Now().Add(delay)})
		e.watchers.notify()
		if !e.pause(ctx, delay) {
			return effect, err
		}
	}
}

func (e *Engine) finishOnce(ctx context.Context, o state.Outcome) (state.Effect, error) {
	if e.Documents != nil && len(o.Documents) > 0 {
		if err := e.Documents.Upsert(ctx, o.Documents); err != nil {
			return state.Effect{}, err
		}
		o.Documents = nil
	}
	return e.State.Finish(ctx, o)
}

// push dispatches jobs; it reports false when dispatch did not take them, and
// the parent must stay unacknowledged.
func (e *Engine) push(ctx context.Context, refs []domain.JobRef) bool {
	if len(refs) == 0 {
		return true
	}
	entries := make([]dispatch.Entry, 0, len(refs))
	for _, ref := range refs {
		entry, err := e.entry(ctx, ref)
		if err != nil {
			e.cfg.Log.Error("dispatch", "run", ref.RunID, "job", ref.ID, "error", err)
			return false
		}
		entries = append(entries, entry)
	}
	if err := e.Dispatch.Push(ctx, entries...); err != nil {
		if ctx.Err() == nil {
			e.cfg.Log.Error("dispatch", "jobs", len(refs), "error", err)
		}
		return false
	}
	return true
}

// entry names the lane of a job: its account's quota owner and its bucket.
func (e *Engine) entry(ctx context.Context, ref domain.JobRef) (dispatch.Entry, error) {
	a, err := e.accounts.get(ctx, ref.AccountID)
	if err != nil {
		return dispatch.Entry{}, err
	}
	return dispatch.Entry{
		Job: ref.ID, Lane: Lane(a.Owner, ref.Bucket), Priority: ref.Priority, Class: ref.Class, NotBefore: ref.NotBefore,
	}, nil
}

// Lane names where the jobs of one quota owner and bucket wait.
func Lane(owner, bucket string) string { return owner + "/" + bucket }

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
