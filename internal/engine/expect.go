package engine

import (
	"context"
	"sync"
	"time"

	"sluice/internal/domain"
)

const (
	// expectAfter is how old a run is when it is first looked at: the pace of one that
	// has just begun says little. It is also how long it takes until the next look at
	// any run, as each asks about all runs of an owner.
	expectAfter = 5 * time.Second
	// mostExpected is of how many runs a process remembers that they need no look.
	mostExpected = 10_000
)

// expecter stores what is forecast of runs as soon as everything is found that they
// have to collect, so that it can be held against how they end.
type expecter struct {
	*forecaster
	mu   sync.Mutex
	next time.Time
	done map[int64]bool
}

func newExpecter(c *core) *expecter {
	return &expecter{forecaster: &forecaster{core: c}, done: map[int64]bool{}}
}

// look makes the forecast of a run that gets on, if it can be made now. Nothing
// depends on it, so that what fails is left to a later look.
func (x *expecter) look(ctx context.Context, run int64) {
	if !x.due(run) {
		return
	}
	ended, err := x.expect(ctx, run)
	if err != nil && ctx.Err() == nil {
		x.cfg.Log.Debug("what is expected of a run could not be stored; trying again later", "run", run, "error", err)
	}
	if ended {
		x.leave(run)
	}
}

// due tells whether a run is to be looked at now.
func (x *expecter) due(run int64) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	now := x.cfg.Now()
	if x.done[run] || now.Before(x.next) {
		return false
	}
	x.next = now.Add(expectAfter)
	return true
}

// leave remembers that a run needs no further look.
func (x *expecter) leave(run int64) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if len(x.done) >= mostExpected {
		clear(x.done)
	}
	x.done[run] = true
	// Others may wait for their turn.
	x.next = time.Time{}
}

// expect stores what is forecast of a run. Ended says that there is nothing more to
// look for.
func (x *expecter) expect(ctx context.Context, id int64) (ended bool, err error) {
	run, err := x.State.Runs.Run(ctx, id)
	if err != nil {
		return false, err
	}
	if !run.Status.Active() || !run.Expected.At.IsZero() {
		return true, nil
	}
	now := x.cfg.Now()
	if now.Sub(run.CreatedAt) < expectAfter {
		return false, nil
	}
	p, err := x.Progress(ctx, run)
	if err != nil || p.Forecast == nil || p.Forecast.Discovering || p.Forecast.Left == 0 || p.ETA.IsZero() {
		return false, err
	}
	err = x.State.Ledgers.Expect(ctx, id, domain.Expectation{At: now, Calls: run.Calls + stillToCall(p.Forecast), Ends: p.ETA})
	return err == nil, err
}

// stillToCall is how many calls will be made that a run has not counted yet: it
// counts one when it begins, and none for what is done without.
func stillToCall(f *Forecast) int64 {
	calls := int64(0)
	for _, b := range f.Buckets {
		if b.Bucket != domain.LocalBucket {
			calls += max(b.Left-b.Running, 0)
		}
	}
	return calls
}
