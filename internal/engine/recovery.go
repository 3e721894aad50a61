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
//
// Everything is read as it was at one instant. Were waiting and running jobs
// read one after the other, one that was begun or ended in between would be
// missed, and with it what it leads to, should its worker die. Runs come last:
// one whose last job had ended by then is found closed.
func (e *Engine) refill(ctx context.Context) error {
	waiting, running := 0, 0
	due := e.cfg.Now().Add(e.cfg.Lease)
	load := e.loader(ctx)
	err := e.State.Unfinished(ctx, func(ref domain.JobRef, isRunning bool) error {
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

// rebuild fills a dispatcher that nobody else uses.
func (e *Engine) rebuild(ctx context.Context) (int, error) {
	load := e.loader(ctx)
	err := e.State.Waiting(ctx, load.add)
	if err == nil {
		err = load.flush()
	}
	return load.total, err
}

// loader dispatches many jobs, in batches.
type loader struct {
	push  func([]domain.JobRef) error
	batch []domain.JobRef
	total int
}

func (e *Engine) loader(ctx context.Context) *loader {
	return &loader{
		push:  func(refs []domain.JobRef) error { return e.push(ctx, refs) },
		batch: make([]domain.JobRef, 0, rebuildBatch),
	}
}

func (l *loader) add(ref domain.JobRef) error {
	if l.batch = append(l.batch, ref); len(l.batch) < rebuildBatch {
		return nil
	}
	return l.flush()
}

func (l *loader) flush() error {
	err := l.push(l.batch)
	l.total += len(l.batch)
	l.batch = l.batch[:0]
	return err
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
