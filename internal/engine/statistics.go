package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"sluice/internal/domain"
	"sluice/internal/logs"
)

// maxStatisticsTries bounds the attempts; with doubling delays from one minute
// they span about two hours.
const maxStatisticsTries = 8

// statisticsTries lets statistics be computed one run at a time: they take all of
// a core and much memory. It remembers how often a run's failed here; a process
// that takes over counts anew.
type statisticsTries struct {
	mu sync.Mutex
	// busy is set while statistics are computed; waiting are the runs whose turn
	// comes then. They wait in dispatch, and hold neither a slot nor a lease.
	busy    bool
	waiting []int64
	tries   map[int64]int
}

func newStatisticsTries() *statisticsTries { return &statisticsTries{tries: map[int64]int{}} }

// failed counts a failure of a run's statistics and returns how many there were.
func (f *statisticsTries) failed(run int64) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.tries[run]++
	return f.tries[run]
}

func (f *statisticsTries) forget(run int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.tries, run)
}

// begin reports whether statistics can be computed now, and is followed by end
// if so.
func (f *statisticsTries) begin() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	free := !f.busy
	f.busy = true
	return free
}

func (f *statisticsTries) end() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.busy = false
}

// next returns the run whose turn it is, if one waits and nobody is busy.
func (f *statisticsTries) next() (run int64, waits bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.busy || len(f.waiting) == 0 {
		return 0, false
	}
	run, f.waiting = f.waiting[0], f.waiting[1:]
	return run, true
}

// wait lets a run have its turn later. It is its turn now if nobody is busy any
// more.
func (f *statisticsTries) wait(run int64) (now bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.busy && !slices.Contains(f.waiting, run) {
		f.waiting = append(f.waiting, run)
	}
	return !f.busy
}

// errStatisticsBusy tells that another run's statistics are being computed.
var errStatisticsBusy = errors.New("the statistics of another run are being computed")

// statisticsBusyDelay is when a run comes back by itself whose turn does not
// come because the process died that was to say so.
const statisticsBusyDelay = 30 * time.Second

func (cr *choreRunner) computeStatistics(ctx context.Context, run domain.Run) ([]byte, error) {
	if !cr.statistics.begin() {
		return nil, errStatisticsBusy
	}
	defer func() {
		cr.statistics.end()
		cr.passStatisticsOn(ctx)
	}()
	return cr.Statistics.Compute(ctx, run)
}

// passStatisticsOn calls for the next run's statistics, unless somebody is busy
// with those of another, who will do so.
func (cr *choreRunner) passStatisticsOn(ctx context.Context) {
	if run, waits := cr.statistics.next(); waits {
		cr.callForStatistics(ctx, run)
	}
}

// awaitStatistics calls for a run's statistics when the others have been computed.
// The run must wait in dispatch already: what is leased cannot be called for.
func (cr *choreRunner) awaitStatistics(ctx context.Context, run int64) {
	if cr.statistics.wait(run) {
		cr.callForStatistics(ctx, run)
	}
}

func (cr *choreRunner) callForStatistics(ctx context.Context, run int64) {
	cr.dispatchOrRetry(ctx, func(ctx context.Context) error {
		return cr.Dispatch.Push(ctx, choreFor(choreStatistics, run).entry(time.Time{}))
	})
}

// completeRun computes the statistics of a run whose jobs have all ended, and so
// completes it. It returns when to try again, if that failed. A store that does
// not take the statistics is no failure of theirs: it is waited for.
func (cr *choreRunner) completeRun(ctx context.Context, id int64) (again time.Time, err error) {
	run, err := cr.State.Runs.Run(ctx, id)
	if err != nil {
		return time.Time{}, err
	}
	if run.Status != domain.RunFinalizing {
		// Whoever completed it may have died before planning the next.
		return time.Time{}, cr.planner.ensureHarvest(ctx, run.AccountID)
	}
	data, err := cr.computeStatistics(ctx, run)
	if errors.Is(err, errStatisticsBusy) {
		return cr.cfg.Now().Add(statisticsBusyDelay), err
	}
	if err == nil {
		err = cr.control.storeRunEnd(ctx, id, func() (domain.Run, error) { return cr.State.Runs.CompleteRun(ctx, id, data) })
	}
	if err == nil || domain.CodeOf(err) == domain.CodeIllegalMove {
		// Complete, or canceled in the meantime.
		cr.statistics.forget(id)
		_, err := cr.pruneAccount(ctx, run.AccountID, pruneBatches)
		cr.trimChanges(ctx)
		return time.Time{}, errors.Join(cr.planner.ensureHarvest(ctx, run.AccountID), err)
	}
	if ctx.Err() != nil {
		return time.Time{}, err
	}
	if tries := cr.statistics.failed(id); tries < maxStatisticsTries {
		delay := cr.cfg.StatisticsRetry << (tries - 1)
		cr.cfg.Log.Warn("the statistics of a run failed; trying again", "run", id, "account", run.AccountID, "in", delay, "error", err,
			logs.CorrelationAttribute, cr.runs.origin(id).ID)
		return cr.cfg.Now().Add(delay), nil
	}
	cr.statistics.forget(id)
	cr.counters.StatisticsGivenUp.Add(1)
	cr.cfg.Log.Error("the statistics of a run are given up; `sluice run resume` computes them again", "run", id, "account", run.AccountID, "login", run.Login, "error", err)
	reason := domain.NoStatistics + err.Error()
	err = cr.control.storeRunEnd(ctx, id, func() (domain.Run, error) { return cr.State.Runs.FailRun(ctx, id, reason) })
	return time.Time{}, errors.Join(err, cr.planner.ensureHarvest(ctx, run.AccountID))
}

// pruneBatch is how many jobs are deleted in one transaction, and pruneBatches
// how many such there are at most when a run ends: more than it made. At a start
// somebody waits.
const (
	pruneBatch   = 1000
	pruneBatches = 200
	startBatches = 20
)

// pruneAccount deletes the jobs of an account's runs that ended longer ago than they
// are kept for, in so many batches at most, and returns how many it took. The
// end of each run takes care of those before it.
func (cr *choreRunner) pruneAccount(ctx context.Context, account int64, most int) (batches int, err error) {
	if cr.cfg.Retention < 0 {
		return 0, nil
	}
	total := 0
	for batches < most {
		n, err := cr.State.Ledgers.PruneRuns(ctx, account, cr.cfg.Now().Add(-cr.cfg.Retention), pruneBatch)
		if err != nil {
			return batches, fmt.Errorf("delete old jobs: %w", err)
		}
		if n == 0 {
			break
		}
		batches, total = batches+1, total+n
	}
	if total > 0 {
		cr.cfg.Log.Info("old jobs were deleted", "account", account, "jobs", total)
	}
	return batches, nil
}

// pruneAll deletes old jobs of all accounts, of which some may have no run any
// more that takes care of that. What is too much for a start, or cannot be
// deleted now, is left to the next one.
func (cr *choreRunner) pruneAll(ctx context.Context) {
	if cr.cfg.Retention < 0 {
		return
	}
	accounts, err := cr.State.Accounts.Accounts(ctx)
	left := startBatches
	for i := 0; err == nil && left > 0 && i < len(accounts); i++ {
		var batches int
		batches, err = cr.pruneAccount(ctx, accounts[i].ID, left)
		left -= batches
	}
	if err != nil && ctx.Err() == nil {
		cr.cfg.Log.Warn("old jobs are kept for now", "error", err)
	}
}
