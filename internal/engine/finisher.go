package engine

import (
	"context"
	"errors"
	"sync"
	"time"

	"sluice/internal/domain"
)

// statisticsTries bounds the attempts; with doubling delays from one minute
// they span about two hours.
const statisticsTries = 8

// finisher computes statistics, one run at a time: they take all of a core and
// much memory. It remembers how often a run's failed here; a process that takes
// over counts anew.
type finisher struct {
	one   sync.Mutex
	tries map[int64]int
}

func newFinisher() *finisher { return &finisher{tries: map[int64]int{}} }

// finishRun computes the statistics of a run whose jobs have all ended, and so
// completes it. It returns when to try again, if that failed. A store that does
// not take the statistics is no failure of theirs: it is waited for.
func (e *Engine) finishRun(ctx context.Context, id int64) (again time.Time, err error) {
	f := e.finisher
	f.one.Lock()
	defer f.one.Unlock()
	run, err := e.State.Run(ctx, id)
	if err != nil {
		return time.Time{}, err
	}
	if run.Status != domain.RunFinalizing {
		// Whoever completed it may have died before planning the next.
		return time.Time{}, e.ensureHarvest(ctx, run.AccountID)
	}
	data, err := e.Statistics.Compute(ctx, run)
	if err == nil {
		err = e.endRun(ctx, id, func() (domain.Run, error) { return e.State.CompleteRun(ctx, id, data) })
	}
	if err == nil || domain.CodeOf(err) == domain.CodeIllegalMove {
		// Complete, or canceled in the meantime.
		delete(f.tries, id)
		return time.Time{}, e.ensureHarvest(ctx, run.AccountID)
	}
	if ctx.Err() != nil {
		return time.Time{}, err
	}
	if f.tries[id]++; f.tries[id] < statisticsTries {
		delay := e.cfg.StatisticsRetry << (f.tries[id] - 1)
		e.cfg.Log.Warn("statistics failed; trying again", "run", id, "in", delay, "error", err)
		return e.cfg.Now().Add(delay), nil
	}
	delete(f.tries, id)
	e.cfg.Log.Error("statistics given up", "run", id, "error", err)
	reason := "statistics could not be computed: " + err.Error()
	err = e.endRun(ctx, id, func() (domain.Run, error) { return e.State.FailRun(ctx, id, reason) })
	return time.Time{}, errors.Join(err, e.ensureHarvest(ctx, run.AccountID))
}

// endRun moves a run to its last state.
func (e *Engine) endRun(ctx context.Context, id int64, move func() (domain.Run, error)) error {
	var run domain.Run
	err := e.insist(ctx, id, func() (err error) {
		run, err = move()
		return err
	})
	if err == nil {
		e.ended(run)
	}
	return err
}

func (e *Engine) ended(run domain.Run) {
	e.runs.forget(run.ID)
	e.cfg.Log.Info("run ended", "run", run.ID, "account", run.Login, "status", run.Status, "reason", run.Reason,
		"calls", run.Calls, "failed_jobs", run.Failed)
	e.counters.RunsEnded.Add(1)
	e.watchers.Notify()
}
