package engine

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"sluice/internal/dispatch"
	"sluice/internal/domain"
	"sluice/internal/state"
)

// delivery makes jobs and chores known to dispatch, and gives their leases back.
type delivery struct {
	*core
	// requestNumbers tell requests apart: see nextRequestNumber.
	requestNumbers atomic.Int64
}

func newDelivery(c *core) *delivery {
	d := &delivery{core: c}
	d.requestNumbers.Store(rand.Int64N(1 << requestNumberBits))
	return d
}

// pushJobs dispatches jobs. When dispatch does not take them, a parent must stay
// unacknowledged, and everybody else owes them (see dispatchOrRetry).
func (d *delivery) pushJobs(ctx context.Context, refs []domain.JobRef) error {
	if len(refs) == 0 {
		return nil
	}
	entries := make([]dispatch.Entry, 0, len(refs))
	for _, ref := range refs {
		entry, err := d.entryFor(ctx, ref)
		if err != nil {
			return err
		}
		entries = append(entries, entry)
	}
	return d.Dispatch.Push(ctx, entries...)
}

// dispatchWaiting dispatches every waiting job of an account's active run.
func (d *delivery) dispatchWaiting(ctx context.Context, account int64) error {
	return d.forEachWaiting(ctx, account, d.pushJobs)
}

// requeueWaiting does the same, and lets those that dispatch knows already wait
// where they belong now.
func (d *delivery) requeueWaiting(ctx context.Context, account int64) error {
	return d.forEachWaiting(ctx, account, d.requeueJobs)
}

// forEachWaiting calls deliver with the waiting jobs of an account's active run.
func (d *delivery) forEachWaiting(ctx context.Context, account int64, deliver func(context.Context, []domain.JobRef) error) error {
	runs, err := d.State.Runs.Runs(ctx, state.RunQuery{AccountID: account, ActiveOnly: true, Limit: 1})
	if err != nil || len(runs) == 0 {
		return err
	}
	q := state.JobQuery{RunID: runs[0].ID, Statuses: state.Waiting(), Limit: rebuildBatch}
	for {
		jobs, err := d.State.Jobs.Jobs(ctx, q)
		if err != nil || len(jobs) == 0 {
			return err
		}
		refs := make([]domain.JobRef, len(jobs))
		for i, job := range jobs {
			refs[i], q.AfterID = jobRef(job), job.ID
		}
		if err := deliver(ctx, refs); err != nil {
			return err
		}
	}
}

// dispatchIfUnfinished dispatches a job if there is something left to do. One that
// is under way may have a worker that is alive: it is looked at when that one's
// lease would have ended, as after a rebuild.
func (d *delivery) dispatchIfUnfinished(ctx context.Context, id int64) error {
	jobs, err := d.State.Jobs.Load(ctx, []int64{id})
	if err != nil {
		return err
	}
	for _, job := range jobs {
		ref := jobRef(job)
		switch job.Status {
		case domain.JobReady:
		case domain.JobRunning:
			ref.NotBefore = d.cfg.Now().Add(d.cfg.Lease)
		default:
			continue
		}
		return d.pushJobs(ctx, []domain.JobRef{ref})
	}
	return nil
}

// entryFor names the lane of a job: its account's quota owner and its bucket.
func (d *delivery) entryFor(ctx context.Context, ref domain.JobRef) (dispatch.Entry, error) {
	a, err := d.accounts.get(ctx, ref.AccountID)
	if err != nil {
		return dispatch.Entry{}, err
	}
	return dispatch.Entry{
		ID: dispatch.JobID(ref.ID), Lane: dispatch.Lane(a.Owner, ref.Bucket), Priority: ref.Priority, Class: ref.Class, NotBefore: ref.NotBefore,
	}, nil
}

func jobRef(j domain.Job) domain.JobRef {
	return domain.JobRef{
		ID: j.ID, RunID: j.RunID, AccountID: j.AccountID, Bucket: j.Bucket, Class: j.Class, Priority: j.Priority, NotBefore: j.NotBefore,
	}
}

func (d *delivery) acknowledge(ctx context.Context, l dispatch.Lease) {
	d.acknowledgeAll(ctx, []dispatch.Lease{l})
}

// acknowledgeGroup acknowledges what has gathered. Nobody waits for the outcome.
func (d *delivery) acknowledgeGroup(ctx context.Context, leases []*dispatch.Lease) error {
	all := make([]dispatch.Lease, len(leases))
	for i, l := range leases {
		all[i] = *l
	}
	d.acknowledgeAll(ctx, all)
	return nil
}

func (d *delivery) acknowledgeAll(ctx context.Context, leases []dispatch.Lease) {
	if err := d.Dispatch.Ack(ctx, leases...); err != nil && ctx.Err() == nil {
		// Redelivery finds the jobs done and acknowledges again.
		d.cfg.Log.Warn("dispatch does not take acknowledgements; what was done is delivered again and found done", slog.Int("leases", len(leases)), leaseAttr(leases[0]), slog.Any("error", err))
	}
}

// ackAndRecheck acknowledges a job that another may have made ready again in the
// meantime (a person retried it, its account was resumed). Dispatch ignored
// that one's push, as the job was leased; so the job is looked at once more
// after the lease is gone.
func (d *delivery) ackAndRecheck(ctx context.Context, t task) {
	d.acknowledge(ctx, t.lease)
	d.dispatchOrRetry(ctx, func(ctx context.Context) error { return d.dispatchIfUnfinished(ctx, t.job.ID) })
}

// deferToOwner leaves a job to the process that has begun it. That one may have
// lost its lease when dispatch lost everything, and then this one is the only
// entry of the job: it is handed back, to be looked at when the other lease
// would have ended.
func (d *delivery) deferToOwner(ctx context.Context, t task) {
	jobs, err := d.State.Jobs.Load(ctx, []int64{t.job.ID})
	if err != nil {
		d.postpone(ctx, t, "the row of a job could not be read; trying again soon", err)
		return
	}
	if len(jobs) == 1 && jobs[0].Status == domain.JobRunning {
		d.release(ctx, []dispatch.Lease{t.lease}, d.cfg.Now().Add(d.cfg.Lease))
		return
	}
	d.ackAndRecheck(ctx, t)
}

// planHarvestSoon has what follows a run planned that ended without statistics.
func (d *delivery) planHarvestSoon(ctx context.Context, account int64) error {
	if len(d.cfg.Harvests) == 0 {
		return nil
	}
	return d.Dispatch.Push(ctx, choreFor(choreRunEnded, account).entry(time.Time{}))
}

func (d *delivery) release(ctx context.Context, leases []dispatch.Lease, at time.Time) {
	for _, l := range leases {
		if err := d.Dispatch.Release(ctx, l, at); err != nil && ctx.Err() == nil {
			// The lease runs out by itself; the job is only later.
			d.cfg.Log.Warn("a lease could not be handed back; it runs out by itself", leaseAttr(l), slog.Any("error", err))
		}
	}
}

// dispatchThen dispatches whatever waits of an account's run, and calls done then.
func (d *delivery) dispatchThen(account int64, done func()) func(context.Context) error {
	return func(ctx context.Context) error {
		if err := d.dispatchWaiting(ctx, account); err != nil {
			return err
		}
		done()
		return nil
	}
}

// requeueJobs dispatches jobs with what is known of them now, instead of what was.
func (d *delivery) requeueJobs(ctx context.Context, refs []domain.JobRef) error {
	for len(refs) > 0 {
		part := refs[:min(len(refs), rebuildBatch)]
		refs = refs[len(part):]
		ids := make([]string, len(part))
		for i, ref := range part {
			ids[i] = dispatch.JobID(ref.ID)
		}
		if err := d.Dispatch.Remove(ctx, ids...); err != nil {
			return err
		}
		if err := d.pushJobs(ctx, part); err != nil {
			return err
		}
	}
	return nil
}

// requeueJob gives a job that was leased while its run was raised, or its account
// got another owner, the place that it has now: dispatch did not hear of it then.
func (d *delivery) requeueJob(ctx context.Context, job domain.Job) {
	done, err := d.recordIntent(ctx, job.AccountID)
	if err != nil {
		// It keeps the place that it has.
		d.cfg.Log.Warn("a job that waits for quota keeps its place, as dispatch is unavailable", "run", job.RunID, "job", job.ID, "error", err)
		return
	}
	d.dispatchOrRetry(ctx, func(ctx context.Context) error {
		if err := d.Dispatch.Remove(ctx, dispatch.JobID(job.ID)); err != nil {
			return err
		}
		if err := d.dispatchIfUnfinished(ctx, job.ID); err != nil {
			return err
		}
		done()
		return nil
	})
}

// postponeForStore also lets people see it.
func (d *delivery) postponeForStore(ctx context.Context, t task, message string, err error) {
	if ctx.Err() == nil && domain.CodeOf(err) == domain.CodeUnavailable {
		d.storeWaits(err, d.cfg.BackoffBase)
	}
	d.postpone(ctx, t, message, err)
}

// postpone gives a job back for a moment because one of our own parts failed.
// It takes nothing from the job's retry budget.
func (d *delivery) postpone(ctx context.Context, t task, message string, err error) {
	if ctx.Err() == nil {
		d.cfg.Log.Error(message, "run", t.job.RunID, "job", t.job.ID, "account", t.job.AccountID, "error", err)
	}
	d.release(ctx, []dispatch.Lease{t.lease}, d.cfg.Now().Add(d.cfg.BackoffBase))
}

// closeLane lets everything that waits in a lane wait together, and shows why.
func (d *delivery) closeLane(ctx context.Context, lane string, w Wait) {
	d.waits.set(lane, w)
	d.watchers.Notify()
	if err := d.Dispatch.Park(ctx, lane, w.Until); err != nil && ctx.Err() == nil {
		d.cfg.Log.Warn("dispatch could not park a lane; its jobs ask again", "owner", lane, "error", err)
	}
}
