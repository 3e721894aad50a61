package engine

import (
	"context"
	"fmt"

	"sluice/internal/dispatch"
	"sluice/internal/domain"
	"sluice/internal/state"
)

// recover puts right what a process left that died at any instant: jobs that
// were RUNNING have no worker any more, planning that was interrupted is done
// again, and runs whose statistics are missing get them. Then dispatch is
// rebuilt from the state.
func (e *Engine) recover(ctx context.Context) error {
	lost, _, err := e.State.RecoverRunning(ctx, e.cfg.MaxLost)
	if err != nil {
		return fmt.Errorf("recover running jobs: %w", err)
	}
	waiting, err := e.rebuild(ctx)
	if err != nil {
		return fmt.Errorf("rebuild dispatch: %w", err)
	}
	planned, closing, err := e.resumeRuns(ctx)
	if err != nil {
		return fmt.Errorf("resume runs: %w", err)
	}
	if lost+waiting+planned+closing > 0 {
		e.cfg.Log.Info("recovered", "waiting_jobs", waiting, "jobs_without_worker", lost,
			"interrupted_plans", planned, "runs_without_statistics", closing)
	}
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

func (e *Engine) resumeRuns(ctx context.Context) (planned, closing int, err error) {
	before := int64(0)
	for {
		runs, err := e.State.Runs(ctx, state.RunQuery{ActiveOnly: true, BeforeID: before, Limit: 500})
		if err != nil || len(runs) == 0 {
			return planned, closing, err
		}
		for _, run := range runs {
			before = run.ID
			switch run.Status {
			case domain.RunCreated, domain.RunPlanning:
				planned++
				if err := e.plan(ctx, run); err != nil {
					return planned, closing, err
				}
			case domain.RunFinalizing:
				closing++
				e.closed(run)
			}
		}
	}
}
