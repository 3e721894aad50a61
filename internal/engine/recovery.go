package engine

import (
	"context"
	"fmt"
	"time"

	"sluice/internal/dispatch"
	"sluice/internal/domain"
	"sluice/internal/state"
)

// recover puts right what a process left that died at any instant: jobs that
// were RUNNING have no worker any more, planning that was interrupted is done
// again, and runs whose statistics are missing get them. Then dispatch is
// rebuilt from the state. Where other processes share dispatch, they and the
// leases that run out do all that; only what nobody planned is looked for.
func (e *Engine) recover(ctx context.Context) error {
	if e.cfg.Shared {
		if e.cfg.RequestsOnly || len(e.cfg.Harvests) == 0 {
			return nil
		}
		// Accounts may have been collected by a version that planned nothing.
		return e.Dispatch.Push(ctx, choreEntry(choreHarvests, 0, time.Time{}))
	}
	lost, _, err := e.State.RecoverRunning(ctx, e.cfg.MaxLost)
	if err != nil {
		return fmt.Errorf("recover running jobs: %w", err)
	}
	waiting, err := e.rebuild(ctx)
	if err != nil {
		return fmt.Errorf("rebuild dispatch: %w", err)
	}
	resumed, err := e.resumeRuns(ctx)
	if err != nil {
		return fmt.Errorf("resume runs: %w", err)
	}
	if err := e.ensureHarvests(ctx); err != nil {
		return fmt.Errorf("plan harvests: %w", err)
	}
	if lost+waiting+resumed > 0 {
		e.cfg.Log.Info("recovered", "waiting_jobs", waiting, "jobs_without_worker", lost, "interrupted_runs", resumed)
	}
	return nil
}

// refill fills a shared dispatcher that has lost everything. Jobs under way may
// have a worker that is alive and well, only its lease is gone: they are due
// when that lease would have ended. What is there already stays as it is.
func (e *Engine) refill(ctx context.Context) error {
	waiting, err := e.rebuild(ctx)
	if err != nil {
		return fmt.Errorf("rebuild dispatch: %w", err)
	}
	running, err := e.rebuildRunning(ctx)
	if err != nil {
		return fmt.Errorf("rebuild dispatch: %w", err)
	}
	resumed, err := e.resumeRuns(ctx)
	if err != nil {
		return fmt.Errorf("resume runs: %w", err)
	}
	if err := e.ensureHarvests(ctx); err != nil {
		return fmt.Errorf("plan harvests: %w", err)
	}
	e.cfg.Log.Warn("dispatch was empty and is filled again", "waiting_jobs", waiting, "running_jobs", running, "interrupted_runs", resumed)
	return nil
}

// rebuildBatch bounds what a rebuild holds in memory besides dispatch itself.
const rebuildBatch = 4096

func (e *Engine) rebuild(ctx context.Context) (int, error) {
	total := 0
	batch := make([]dispatch.Entry, 0, rebuildBatch)
	flush := func() error {
		total += len(batch)
		err := e.Dispatch.Push(ctx, batch...)
		batch = batch[:0]
		return err
	}
	err := e.State.Waiting(ctx, func(ref domain.JobRef) error {
		entry, err := e.entry(ctx, ref)
		if err != nil {
			return err
		}
		if batch = append(batch, entry); len(batch) == rebuildBatch {
			return flush()
		}
		return nil
	})
	if err != nil {
		return total, err
	}
	return total, flush()
}

func (e *Engine) rebuildRunning(ctx context.Context) (int, error) {
	due := e.cfg.Now().Add(e.cfg.Lease)
	total := 0
	q := state.JobQuery{Statuses: []domain.JobStatus{domain.JobRunning}, Limit: rebuildBatch}
	for {
		jobs, err := e.State.Jobs(ctx, q)
		if err != nil || len(jobs) == 0 {
			return total, err
		}
		refs := make([]domain.JobRef, len(jobs))
		for i, job := range jobs {
			refs[i], q.AfterID = refOf(job), job.ID
			refs[i].NotBefore = due
		}
		if err := e.push(ctx, refs); err != nil {
			return total, err
		}
		total += len(refs)
	}
}

// resumeRuns goes on with every run that waits for something other than jobs.
func (e *Engine) resumeRuns(ctx context.Context) (resumed int, err error) {
	before := int64(0)
	for {
		runs, err := e.State.Runs(ctx, state.RunQuery{ActiveOnly: true, BeforeID: before, Limit: 500})
		if err != nil || len(runs) == 0 {
			return resumed, err
		}
		for _, run := range runs {
			before = run.ID
			did, err := e.resume(ctx, run)
			if err != nil {
				return resumed, err
			}
			if did {
				resumed++
			}
		}
	}
}

// resume goes on with a run that waits to be planned or to be finished.
func (e *Engine) resume(ctx context.Context, run domain.Run) (did bool, err error) {
	switch run.Status {
	case domain.RunCreated, domain.RunPlanning:
		err = e.plan(ctx, run)
		if domain.CodeOf(err) == domain.CodeIllegalMove {
			// Another process was quicker.
			return false, nil
		}
		return true, err
	case domain.RunFinalizing:
		return true, e.Dispatch.Push(ctx, choreEntry(choreFinish, run.ID, time.Time{}))
	case domain.RunFailed:
		return false, e.afterEnd(ctx, run.AccountID)
	}
	return false, nil
}
