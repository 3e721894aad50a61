package engine

import (
	"context"
	"time"

	"sluice/internal/dispatch"
	"sluice/internal/domain"
	"sluice/internal/state"
)

// push dispatches jobs. When dispatch does not take them, a parent must stay
// unacknowledged, and everybody else owes them (see deliverSoon).
func (e *Engine) push(ctx context.Context, refs []domain.JobRef) error {
	if len(refs) == 0 {
		return nil
	}
	entries := make([]dispatch.Entry, 0, len(refs))
	for _, ref := range refs {
		if e.cfg.DiscoverOnly && ref.Class == domain.ClassChild {
			continue
		}
		entry, err := e.entry(ctx, ref)
		if err != nil {
			return err
		}
		entries = append(entries, entry)
	}
	return e.Dispatch.Push(ctx, entries...)
}

// deliverWaiting dispatches every waiting job of an account's active run.
func (e *Engine) deliverWaiting(ctx context.Context, account int64) error {
	runs, err := e.State.Runs(ctx, state.RunQuery{AccountID: account, ActiveOnly: true, Limit: 1})
	if err != nil || len(runs) == 0 {
		return err
	}
	q := state.JobQuery{RunID: runs[0].ID, Statuses: []domain.JobStatus{domain.JobReady, domain.JobEnqueued}, Limit: rebuildBatch}
	for {
		jobs, err := e.State.Jobs(ctx, q)
		if err != nil || len(jobs) == 0 {
			return err
		}
		refs := make([]domain.JobRef, len(jobs))
		for i, job := range jobs {
			refs[i], q.AfterID = refOf(job), job.ID
		}
		if err := e.push(ctx, refs); err != nil {
			return err
		}
	}
}

// deliverIfWaiting dispatches a job if it waits for a worker.
func (e *Engine) deliverIfWaiting(ctx context.Context, id int64) error {
	jobs, err := e.State.Load(ctx, []int64{id})
	if err != nil {
		return err
	}
	for _, job := range jobs {
		if job.Status == domain.JobReady || job.Status == domain.JobEnqueued {
			return e.push(ctx, []domain.JobRef{refOf(job)})
		}
	}
	return nil
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

func refOf(j domain.Job) domain.JobRef {
	return domain.JobRef{
		ID: j.ID, RunID: j.RunID, AccountID: j.AccountID, Bucket: j.Bucket, Class: j.Class, Priority: j.Priority, NotBefore: j.NotBefore,
	}
}

// acknowledgeLater acknowledges without keeping the worker: the outcome is
// durable, and should this get lost the job is delivered again and found done.
func (e *Engine) acknowledgeLater(ctx context.Context, l dispatch.Lease) {
	if !e.cfg.Shared {
		e.acknowledge(ctx, l)
		return
	}
	e.acks.add(ctx, l)
}

func (e *Engine) acknowledge(ctx context.Context, l dispatch.Lease) {
	e.acknowledgeAll(ctx, []dispatch.Lease{l})
}

func (e *Engine) acknowledgeAll(ctx context.Context, leases []dispatch.Lease) {
	if err := e.Dispatch.Ack(ctx, leases...); err != nil && ctx.Err() == nil {
		// Redelivery finds the jobs done and acknowledges again.
		e.cfg.Log.Warn("acknowledge", "jobs", len(leases), "job", leases[0].Job, "error", err)
	}
}

// layDown acknowledges a job that another may have made ready again in the
// meantime (a person retried it, its account was resumed). Dispatch ignored
// that one's push, as the job was leased; so the job is looked at once more
// after the lease is gone.
func (e *Engine) layDown(ctx context.Context, l dispatch.Lease) {
	e.acknowledge(ctx, l)
	e.deliverSoon(ctx, func(ctx context.Context) error { return e.deliverIfWaiting(ctx, l.Job) })
}

// yield leaves a job to whoever has begun it. He may have lost his lease when
// dispatch lost everything, and then this one is the only entry of the job: it
// is kept, to be looked at when his lease would have ended.
func (e *Engine) yield(ctx context.Context, t task) {
	jobs, err := e.State.Load(ctx, []int64{t.job.ID})
	if err != nil {
		e.postpone(ctx, t, "load", err)
		return
	}
	if len(jobs) == 1 && jobs[0].Status == domain.JobRunning {
		e.release(ctx, []dispatch.Lease{t.lease}, e.cfg.Now().Add(e.cfg.Lease))
		return
	}
	e.layDown(ctx, t.lease)
}

// makeSure dispatches a job that is ready again: a lease that was lost cannot be
// handed back. One that was handed back is there, and this changes nothing.
func (e *Engine) makeSure(ctx context.Context, job domain.Job, at time.Time) {
	if !e.cfg.Shared {
		return
	}
	ref := refOf(job)
	ref.NotBefore = at
	e.deliverSoon(ctx, func(ctx context.Context) error { return e.push(ctx, []domain.JobRef{ref}) })
}
