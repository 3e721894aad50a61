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
}

type closing struct {
	run   domain.Run
	tries int
}

// statisticsTries bounds the attempts; with doubling delays from one minute
// they span about two hours.
const statisticsTries = 8

func newFinisher(e *Engine) *finisher { return &finisher{engine: e, wake: make(chan struct{}, 1)} }

func (f *finisher) add(c closing) {
	f.mu.Lock()
	f.queue = append(f.queue, c)
	f.mu.Unlock()
	select {
	case f.wake <- struct{}{}:
	default:
	}
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
	for {
		c, ok := f.next()
		if !ok {
			select {
			case <-f.wake:
				continue
			case <-feed.Done():
				return
			}
		}
		f.runOnce(hard, c)
	}
}

// runOnce completes one run or arranges another try.
func (f *finisher) runOnce(ctx context.Context, c closing) {
	e := f.engine
	data, err := e.Statistics.Compute(ctx, c.run)
	if err == nil {
		var run domain.Run
		if run, err = e.State.CompleteRun(ctx, c.run.ID, data); err == nil {
			e.ended(run)
			return
		}
	}
	switch {
	case ctx.Err() != nil:
	case domain.CodeOf(err) == domain.CodeIllegalMove:
		// It was canceled in the meantime.
	case c.tries+1 >= statisticsTries:
		e.cfg.Log.Error("statistics given up", "run", c.run.ID, "error", err)
		if run, err := e.State.FailRun(ctx, c.run.ID, "statistics could not be computed: "+err.Error()); err == nil {
			e.ended(run)
		}
	default:
		delay := time.Minute << c.tries
		e.cfg.Log.Warn("statistics failed; trying again", "run", c.run.ID, "in", delay, "error", err)
		c.tries++
		time.AfterFunc(delay, func() { f.add(c) })
	}
}

// closed is called once for a run whose last job has ended.
func (e *Engine) closed(run domain.Run) {
	if run.Status == domain.RunFinalizing {
		e.finisher.add(closing{run: run})
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
