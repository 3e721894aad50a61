package engine

import (
	"context"
	"fmt"
	"math"
	"time"

	"sluice/internal/batch"
	"sluice/internal/dispatch"
	"sluice/internal/domain"
	"sluice/internal/logs"
	"sluice/internal/state"
)

// committer makes outcomes durable and lets dispatch know what follows.
type committer struct {
	*core
	delivery *delivery
	control  *runControl
	// acks acknowledges jobs beside the workers, many at a time: for a dispatcher
	// that is a trip away one costs as much as a hundred.
	acks *batch.Group[dispatch.Lease]
	// rows gets the jobs that outcomes create.
	rows *rowCache
}

// ackGap is how long acknowledgements gather. Nobody waits for them: until then
// the lease keeps the job from being handed out again.
const ackGap = 3 * time.Millisecond

func newCommitter(c *core, d *delivery, control *runControl, rows *rowCache) *committer {
	acks := batch.New(math.MaxInt, d.acknowledgeGroup).Gap(ackGap)
	return &committer{core: c, delivery: d, control: control, acks: acks, rows: rows}
}

// commitOutcome makes an outcome durable and then tells dispatch about it. The call
// was paid for, so it is tried until the store takes it or the engine is given
// up; only then is the call repeated by the next start.
func (cm *committer) commitOutcome(ctx context.Context, t task, o state.Outcome) {
	traced, span := cm.cfg.Tracer.Start(ctx, "commit", t.span)
	effect, err := cm.storeOutcome(traced, t.job, o)
	span.Int("documents", int64(o.Items)).Int("next_jobs", int64(len(effect.Created))).Error(err).End()
	if err != nil {
		cm.notCommitted(ctx, t, o, err)
		return
	}
	cm.report(t, o)
	if len(effect.Canceled) > 0 {
		if err := cm.Dispatch.Remove(ctx, dispatch.JobIDs(effect.Canceled)...); err != nil && ctx.Err() == nil {
			// A worker that gets one of them finds its claim refused.
			cm.cfg.Log.Warn("canceled jobs could not be taken out of dispatch; their claims will be refused", "run", t.job.RunID, "error", err)
		}
	}
	if o.PauseAccount != "" {
		cm.accounts.forget(t.job.AccountID)
		cm.cfg.Notices.Changed(o.At)
	}
	if o.Target != "" {
		cm.accounts.forget(t.job.AccountID)
	}
	if o.Owner != "" {
		cm.accounts.forgetAll()
	}
	cm.rows.add(effect.Rows)
	// The unacknowledged lease is the outbox: children first.
	if err := cm.dispatchEffects(ctx, effect); err != nil {
		if ctx.Err() == nil {
			cm.cfg.Log.Error("dispatch does not take the jobs that follow; this one is delivered again", "run", t.job.RunID, "job", t.job.ID, "jobs", len(effect.Created), "error", err)
		}
		return
	}
	switch o.To {
	case domain.JobReady:
		cm.delivery.release(ctx, []dispatch.Lease{t.lease}, o.NotBefore)
		cm.ensureDispatched(ctx, t.job, o.NotBefore)
	case domain.JobSucceeded:
		cm.acknowledgeLater(ctx, t.lease)
	default:
		cm.delivery.ackAndRecheck(ctx, t)
	}
	if effect.Closed != nil && !effect.Closed.Status.Active() {
		cm.control.reportRunEnd(*effect.Closed)
	}
	cm.watchers.Notify()
}

// dispatchEffects dispatches what an outcome made to be done next.
func (cm *committer) dispatchEffects(ctx context.Context, effect state.Effect) error {
	if err := cm.delivery.pushJobs(ctx, effect.Created); err != nil {
		return err
	}
	switch closed := effect.Closed; {
	case closed == nil:
		return nil
	case closed.Status == domain.RunFinalizing:
		return cm.Dispatch.Push(ctx, choreFor(choreStatistics, closed.ID).entry(time.Time{}))
	}
	return cm.delivery.planHarvestSoon(ctx, effect.Closed.AccountID)
}

// notCommitted deals with an outcome that the store does not take and never
// will. Making the call again would not help, and would be paid for again.
func (cm *committer) notCommitted(ctx context.Context, t task, o state.Outcome, err error) {
	switch code := domain.CodeOf(err); {
	case code == domain.CodeStale, code == domain.CodeNotFound:
		cm.cfg.Log.Info("a result came too late and was dropped", "run", t.job.RunID, "job", t.job.ID, "reason", err)
		if err := cm.dropLate(ctx, t.job.AccountID); err != nil && ctx.Err() == nil {
			cm.cfg.Log.Warn("documents of a purged account are removed with the next start", "account", t.job.AccountID, "error", err)
		}
		cm.delivery.deferToOwner(ctx, t)
	case ctx.Err() != nil || code == domain.CodeUnavailable:
		// The engine is being given up; the next start repeats the call.
	case code == domain.CodeCorrupt || o.To == domain.JobFailed:
		cm.halt(fmt.Errorf("the store does not take the outcome of job %d of run %d: %w", t.job.ID, t.job.RunID, err))
	default:
		cm.cfg.Log.Error("the store refuses a result; the job fails", "run", t.job.RunID, "job", t.job.ID, "error", err)
		cm.commitOutcome(ctx, t, state.Outcome{
			Job: o.Job, Attempt: o.Attempt, At: o.At, To: domain.JobFailed,
			Failure: &domain.Failure{Kind: domain.FailureInvalid, Message: "the store refuses the result: " + err.Error()},
		})
	}
}

// storeOutcome writes the outcome, again and again while the store is unavailable.
func (cm *committer) storeOutcome(ctx context.Context, job domain.Job, o state.Outcome) (effect state.Effect, err error) {
	saved := false
	err = cm.retryUntilStored(ctx, job.RunID, func() error {
		effect, err = cm.storeOutcomeOnce(ctx, o)
		if domain.CodeOf(err) == domain.CodeUnavailable && !saved {
			saved = true
			cm.saveResult(ctx, job, o)
		}
		return err
	})
	if saved && err == nil {
		cm.deleteResult(ctx, job)
	}
	return effect, err
}

func (cm *committer) storeOutcomeOnce(ctx context.Context, o state.Outcome) (state.Effect, error) {
	if cm.Documents != nil && len(o.Documents) > 0 {
		if err := cm.Documents.Upsert(ctx, o.Documents); err != nil {
			return state.Effect{}, err
		}
		o.Documents = nil
	}
	if cm.Documents != nil && len(o.Absences) > 0 {
		if err := cm.Documents.MarkDeleted(ctx, o.Absences); err != nil {
			return state.Effect{}, err
		}
		o.Absences = nil
	}
	return cm.State.Jobs.Finish(ctx, o)
}

// report logs what a person would want to know and counts the rest.
func (cm *committer) report(t task, o state.Outcome) {
	switch o.To {
	case domain.JobSucceeded:
		cm.counters.Succeeded.Add(1)
		cm.counters.Documents.Add(int64(o.Items))
		cm.cfg.Log.Debug("a job has succeeded", "run", t.job.RunID, "job", t.job.ID, "account", t.job.AccountID, "owner", t.lease.Lane,
			"type", t.job.Type, "attempt", t.job.Attempt, "items", o.Items, "took", t.took, logs.CorrelationAttribute, t.origin.ID)
		return
	case domain.JobFailed:
		cm.counters.Failed.Add(1)
	case domain.JobReady:
		cm.counters.Retried.Add(1)
	}
	if o.Failure != nil {
		cm.cfg.Log.Warn("a call has failed", "run", t.job.RunID, "job", t.job.ID, "account", t.job.AccountID, "type", t.job.Type, "owner", t.lease.Lane,
			"kind", o.Failure.Kind, "reason", o.Failure.Message, "next", o.To, "not_before", o.NotBefore, logs.CorrelationAttribute, t.origin.ID)
	}
}

// acknowledgeLater acknowledges without keeping the worker: the outcome is
// durable, and should this get lost the job is delivered again and found done.
func (cm *committer) acknowledgeLater(ctx context.Context, l dispatch.Lease) {
	if !cm.cfg.Shared {
		cm.delivery.acknowledge(ctx, l)
		return
	}
	cm.acks.Add(ctx, &l)
}

// ensureDispatched dispatches a job that is ready again: a lease that was lost cannot be
// handed back. One that was handed back is there, and this changes nothing.
func (cm *committer) ensureDispatched(ctx context.Context, job domain.Job, at time.Time) {
	if !cm.cfg.Shared {
		return
	}
	ref := jobRef(job)
	ref.NotBefore = at
	cm.dispatchOrRetry(ctx, func(ctx context.Context) error { return cm.delivery.pushJobs(ctx, []domain.JobRef{ref}) })
}

// saveResult puts a result that was paid for where another process finds it.
func (cm *committer) saveResult(ctx context.Context, job domain.Job, o state.Outcome) {
	if cm.Results == nil || o.To != domain.JobSucceeded {
		return
	}
	if err := cm.Results.Keep(ctx, o); err != nil && ctx.Err() == nil {
		// The lease lives on while this process does.
		cm.cfg.Log.Warn("a result could not be saved for others while the store is unavailable", "run", job.RunID, "job", job.ID, "error", err)
	}
}

// deleteResult deletes a saved result that the store has taken after all.
func (cm *committer) deleteResult(ctx context.Context, job domain.Job) {
	if cm.Results == nil {
		return
	}
	if err := cm.Results.Drop(ctx, job.ID); err != nil && ctx.Err() == nil {
		// It expires by itself, and names an attempt that is over.
		cm.cfg.Log.Warn("a saved result could not be deleted; it expires by itself", "run", job.RunID, "job", job.ID, "error", err)
	}
}
