package engine

import (
	"context"
	"sync"
	"time"

	"sluice/internal/domain"
)

// finisher computes the statistics of runs whose jobs have all ended, and so
// completes them. A run waits here in FINALIZING; if the process dies, the
// next start finds it there.
type finisher struct {
	engine *Engine
	wake   chan struct{}

	mu    sync.Mutex
	queue []closing
	// known holds the runs from when they are added until they have ended, and
	// whether they were reported again meanwhile: because the store's first
	// answer was lost, or because a retried job closed the run once more.
	known map[int64]bool
}

type closing struct {
	run   domain.Run
	tries int
	// doubtful says that the run may have been completed already.
	doubtful bool
}

// statisticsTries bounds the attempts; with doubling delays from one minute
// they span about two hours.
const statisticsTries = 8

func newFinisher(e *Engine) *finisher {
	return &finisher{engine: e, wake: make(chan struct{}, 1), known: map[int64]bool{}}
}

// add takes on a run, unless it has it already.
func (f *finisher) add(run domain.Run) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, ok := f.known[run.ID]; ok {
		f.known[run.ID] = true
		return
	}
	f.known[run.ID] = false
	f.enqueue(closing{run: run})
}

// again takes up a run whose statistics failed.
func (f *finisher) again(c closing) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.enqueue(c)
}

func (f *finisher) enqueue(c closing) {
	f.queue = append(f.queue, c)
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

// forget is through with a run, unless it was reported again.
func (f *finisher) forget(run domain.Run) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.known[run.ID] {
		delete(f.known, run.ID)
		return
	}
	f.known[run.ID] = false
	f.enqueue(closing{run: run, doubtful: true})
}

// isClosing tells whether a run still needs its statistics.
func (f *finisher) isClosing(ctx context.Context, c closing) bool {
	if !c.doubtful {
		return true
	}
	var run domain.Run
	err := f.engine.insist(ctx, c.run.ID, func() (err error) {
		run, err = f.engine.State.Run(ctx, c.run.ID)
		return err
	})
	return err == nil && run.Status == domain.RunFinalizing
}

func (f *finisher) next() (closing, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.queue) == 0 {
		return closing{}, false
	}
	c := f.queue[0]
	f.queue = f.queue[1:]
	return c, true
}

// loop ends with feed; what it is computing then goes on until hard ends.
func (f *finisher) loop(feed, hard context.Context) {
	for feed.Err() == nil {
		c, ok := f.next()
		if ok {
			f.runOnce(hard, c)
			continue
		}
		select {
		case <-f.wake:
		case <-feed.Done():
		}
	}
}

// runOnce completes one run or arranges another try. A store that does not
// take the statistics is no failure of theirs: it is waited for.
func (f *finisher) runOnce(ctx context.Context, c closing) {
	e := f.engine
	if !f.isClosing(ctx, c) {
		f.forget(c.run)
		return
	}
	data, err := e.Statistics.Compute(ctx, c.run)
	if err == nil {
		err = f.end(ctx, c.run.ID, func() (domain.Run, error) { return e.State.CompleteRun(ctx, c.run.ID, data) })
	}
	switch {
	case err == nil || ctx.Err() != nil || domain.CodeOf(err) == domain.CodeIllegalMove:
		// Complete; or left to the next start; or canceled in the meantime.
		f.forget(c.run)
	case c.tries+1 >= statisticsTries:
		e.cfg.Log.Error("statistics given up", "run", c.run.ID, "error", err)
		reason := "statistics could not be computed: " + err.Error()
		err = f.end(ctx, c.run.ID, func() (domain.Run, error) { return e.State.FailRun(ctx, c.run.ID, reason) })
		if err != nil && ctx.Err() == nil {
			e.cfg.Log.Error("fail run", "run", c.run.ID, "error", err)
		}
		f.forget(c.run)
	default:
		delay := e.cfg.StatisticsRetry << c.tries
		e.cfg.Log.Warn("statistics failed; trying again", "run", c.run.ID, "in", delay, "error", err)
		c.tries++
		time.AfterFunc(delay, func() { f.again(c) })
	}
}

// end moves a run to its last state.
func (f *finisher) end(ctx context.Context, id int64, move func() (domain.Run, error)) error {
	var run domain.Run
	err := f.engine.insist(ctx, id, func() (err error) {
		run, err = move()
		return err
	})
	if err == nil {
		f.engine.ended(run)
	}
	return err
}

// closed is called once for a run whose last job has ended.
func (e *Engine) closed(run domain.Run) {
	if run.Status == domain.RunFinalizing {
		e.finisher.add(run)
		return
	}
	e.ended(run)
}

func (e *Engine) ended(run domain.Run) {
	e.runs.forget(run.ID)
	e.cfg.Log.Info("run ended", "run", run.ID, "account", run.Login, "status", run.Status, "reason", run.Reason,
		"calls", run.Calls, "failed_jobs", run.Failed)
	e.counters.RunsEnded.Add(1)
	e.watchers.notify()
}
