package timer

import (
	"context"
	"time"

	"sluice/internal/backoff"
	"sluice/internal/due"
)

// retryStore is how soon timers are tried again that the store did not take.
const retryStore = time.Second

// triggerDelays are how long to wait before a trigger that failed is asked again.
var triggerDelays = backoff.Delays{First: 50 * time.Millisecond, Longest: 5 * time.Second}

// loop takes what is due and has it fired, until ctx ends.
func (s *Service) loop(ctx context.Context) {
	delays, failed, missed := triggerDelays.Series(), false, false
	for {
		select {
		case s.handlers <- struct{}{}:
		case <-ctx.Done():
			return
		}
		if missed && s.Trigger.Put(ctx, due.Entry{ID: due.MissedID, At: s.Now()}) == nil {
			missed = false
		}
		batch, err := s.Trigger.Take(ctx, s.Batch)
		received := time.Now()
		if err != nil {
			<-s.handlers
			if ctx.Err() != nil {
				return
			}
			if !failed {
				s.Slog.Warn("timers wait for their trigger", "error", err)
			}
			// Something may be missed meanwhile.
			failed, missed = true, true
			backoff.Sleep(ctx, delays.Next())
			continue
		}
		failed = false
		delays.Reset()
		s.work.Go(func() {
			defer func() { <-s.handlers }()
			// What was begun is finished: a batch takes milliseconds.
			s.handle(ctx, context.WithoutCancel(ctx), batch, received)
		})
	}
}

// handle does what a batch asks for. Webhooks and chores end with running;
// everything else with ctx.
func (s *Service) handle(running, ctx context.Context, batch due.Batch, received time.Time) {
	var timers, rebuilds []due.Taken
	for _, t := range batch.Taken {
		switch {
		case t.ID == due.RebuildID || isIntent(t.ID):
			rebuilds = append(rebuilds, t)
		case isChore(t.ID):
			s.work.Go(func() { s.chore(running, t) })
		default:
			timers = append(timers, t)
		}
	}
	if len(rebuilds) > 0 {
		// Filling the trigger once serves all who ask for it.
		s.work.Go(func() { s.chore(running, rebuilds...) })
	}
	if len(timers) > 0 {
		s.fire(running, ctx, timers, batch.Now.Add(time.Since(received)))
	}
}

// outcome gathers what the trigger is to be told about a batch.
type outcome struct {
	done  []due.Taken
	again []due.Again
}

// fire gives timers their completion, whichever of them are due.
func (s *Service) fire(running, ctx context.Context, taken []due.Taken, now time.Time) {
	var o outcome
	ids := make([]string, 0, len(taken))
	byID := make(map[string]due.Taken, len(taken))
	for _, t := range taken {
		id, ok := FromDueID(t.ID)
		if !ok {
			s.Slog.Warn("something is due that this version does not know; it is dropped", "entry", t.ID)
			o.done = append(o.done, t)
			continue
		}
		ids, byID[id] = append(ids, id), t
	}
	fired, err := s.firings.Fire(ctx, Firing{
		IDs: ids, Now: now, Server: s.Server, Deliver: s.Hook != nil, Log: s.Log != nil, Grace: s.Grace,
	})
	if err != nil {
		s.Slog.Warn("timers wait for the store", "timers", len(ids), "error", err)
		s.reportToTrigger(ctx, outcome{again: later(taken, now.Add(retryStore))})
		return
	}
	var deliver []Timer
	for _, f := range fired {
		t := byID[f.ID]
		delete(byID, f.ID)
		if f.New {
			s.count(f.Timer)
		}
		switch f.Status {
		case Waiting:
			o.again = append(o.again, due.Again{Taken: t, At: f.NextAt})
		case Delivering:
			if !s.inHand.take(f.ID) {
				o.again = append(o.again, due.Again{Taken: t, At: now.Add(retryStore)})
				continue
			}
			deliver = append(deliver, f.Timer)
			byID[f.ID] = t
		default:
			o.done = append(o.done, t)
		}
	}
	if len(deliver) > 0 {
		s.deliver(running, ctx, deliver, byID, &o)
	}
	// What has no row was removed from the store.
	for _, t := range byID {
		o.done = append(o.done, t)
	}
	s.watchers.Notify()
	if s.logSoon(ctx) {
		s.reportToTrigger(ctx, o)
	}
}

func (s *Service) count(t Timer) {
	s.counters.Fired.Add(1)
	if c := t.Completion(); c.Late {
		s.counters.Late.Add(1)
		s.Slog.Warn("a timer fired late", "timer", t.ID, "due", t.At, "lateness", c.Lateness)
	}
}

func later(taken []due.Taken, at time.Time) []due.Again {
	again := make([]due.Again, len(taken))
	for i, t := range taken {
		again[i] = due.Again{Taken: t, At: at}
	}
	return again
}

// reportToTrigger says what became of what was taken. If it does not hear, it hands
// the same out again after the grace, and the rows say that they are done.
func (s *Service) reportToTrigger(ctx context.Context, o outcome) {
	var err error
	if len(o.again) > 0 {
		err = s.Trigger.Again(ctx, o.again...)
	}
	if len(o.done) > 0 && err == nil {
		err = s.Trigger.Done(ctx, o.done...)
	}
	if err != nil {
		s.Slog.Warn("the trigger was not told what became of timers; it hands them out again", "error", err)
	}
}
