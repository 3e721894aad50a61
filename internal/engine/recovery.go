package engine

import (
	"context"
	"fmt"
	"time"

	"sluice/internal/domain"
	"sluice/internal/state"
)

// recover puts right what a process left that died at any instant: jobs that
// were RUNNING have no worker any more, planning that was interrupted is done
// again, and runs whose statistics are missing get them. Then dispatch is
// rebuilt from the state. Where other processes share dispatch, leases that run
// out do most of that, and one of the processes looks for what dispatch does not
// know.
func (cr *choreRunner) recover(ctx context.Context) error {
	if cr.cfg.Shared {
		// No other start has this number.
		return cr.Dispatch.Push(ctx, chore{choreReconcileAll, 0, cr.delivery.nextRequestNumber()}.entry(time.Time{}))
	}
	lost, _, err := cr.State.Jobs.RecoverRunning(ctx, cr.cfg.MaxLost)
	if err != nil {
		return fmt.Errorf("recover running jobs: %w", err)
	}
	waiting, err := cr.rebuildOwn(ctx)
	if err != nil {
		return fmt.Errorf("rebuild dispatch: %w", err)
	}
	resumed, err := cr.continueRuns(ctx)
	if err != nil {
		return fmt.Errorf("resume runs: %w", err)
	}
	if err := cr.planner.ensureHarvests(ctx); err != nil {
		return fmt.Errorf("plan harvests: %w", err)
	}
	if err := cr.resumePurges(ctx); err != nil {
		return fmt.Errorf("resume purges: %w", err)
	}
	cr.pruneAll(ctx)
	cr.trimChanges(ctx)
	if lost+waiting+resumed > 0 {
		cr.cfg.Log.Info("work that was left undone goes on", "waiting_jobs", waiting, "jobs_without_worker", lost, "interrupted_runs", resumed)
	}
	return nil
}

// rebuildLost fills a shared dispatcher that has lost everything.
func (cr *choreRunner) rebuildLost(ctx context.Context) error {
	waiting, running, err := cr.rebuildShared(ctx)
	if err == nil {
		cr.cfg.Log.Warn("dispatch was empty and is filled again", "waiting_jobs", waiting, "running_jobs", running)
	}
	return err
}

// rebuildShared makes everything known to a shared dispatcher that it ought to know,
// and returns how much there is. Jobs under way may have a worker that is alive
// and well, only its lease is gone: they are due when that lease would have
// ended. What is there already stays as it is.
//
// Everything is read as it was at one instant. Were waiting and running jobs
// read one after the other, one that was begun or ended in between would be
// missed, and with it what it leads to, should its worker die. Runs come last:
// one whose last job had ended by then is found closed.
func (cr *choreRunner) rebuildShared(ctx context.Context) (waiting, running int, err error) {
	due := cr.cfg.Now().Add(cr.cfg.Lease)
	load := cr.delivery.newBatchPusher(ctx)
	err = cr.State.Jobs.Unfinished(ctx, func(ref domain.JobRef, isRunning bool) error {
		if isRunning {
			running++
			ref.NotBefore = due
		} else {
			waiting++
		}
		return load.add(ref)
	})
	if err == nil {
		err = load.flush()
	}
	if err != nil {
		return 0, 0, fmt.Errorf("rebuild dispatch: %w", err)
	}
	if _, err := cr.continueRuns(ctx); err != nil {
		return 0, 0, fmt.Errorf("resume runs: %w", err)
	}
	// Accounts may also have been collected by a version that planned nothing.
	if err := cr.planner.ensureHarvests(ctx); err != nil {
		return 0, 0, fmt.Errorf("plan harvests: %w", err)
	}
	if err := cr.resumePurges(ctx); err != nil {
		return 0, 0, fmt.Errorf("resume purges: %w", err)
	}
	return waiting, running, nil
}

// rebuildBatch bounds what a rebuild holds in memory besides dispatch itself.
const rebuildBatch = 4096

// rebuildOwn fills a dispatcher that nobody else uses.
func (cr *choreRunner) rebuildOwn(ctx context.Context) (int, error) {
	load := cr.delivery.newBatchPusher(ctx)
	err := cr.State.Jobs.Waiting(ctx, load.add)
	if err == nil {
		err = load.flush()
	}
	return load.total, err
}

// batchPusher dispatches many jobs, in batches.
type batchPusher struct {
	push  func([]domain.JobRef) error
	batch []domain.JobRef
	total int
}

func (d *delivery) newBatchPusher(ctx context.Context) *batchPusher {
	return &batchPusher{
		push:  func(refs []domain.JobRef) error { return d.pushJobs(ctx, refs) },
		batch: make([]domain.JobRef, 0, rebuildBatch),
	}
}

func (l *batchPusher) add(ref domain.JobRef) error {
	if l.batch = append(l.batch, ref); len(l.batch) < rebuildBatch {
		return nil
	}
	return l.flush()
}

func (l *batchPusher) flush() error {
	err := l.push(l.batch)
	l.total += len(l.batch)
	l.batch = l.batch[:0]
	return err
}

// continueRuns goes on with every run that waits for something other than jobs.
func (cr *choreRunner) continueRuns(ctx context.Context) (resumed int, err error) {
	before := int64(0)
	for {
		runs, err := cr.State.Runs.Runs(ctx, state.RunQuery{ActiveOnly: true, BeforeID: before, Limit: 500})
		if err != nil || len(runs) == 0 {
			return resumed, err
		}
		for _, run := range runs {
			before = run.ID
			did, err := cr.control.continueRun(ctx, run)
			if err != nil {
				return resumed, err
			}
			if did {
				resumed++
			}
		}
	}
}
