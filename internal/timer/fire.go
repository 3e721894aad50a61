package timer

import (
	"context"
	"time"
)

const (
	// retryStore is how soon timers are tried again that the store, or the log,
	// did not take.
	retryStore = time.Second
	// trigger failures are waited out between these.
	firstPause = 50 * time.Millisecond
	maxPause   = 5 * time.Second
)

// loop takes what is due and has it fired, until ctx ends.
func (s *Service) loop(ctx context.Context) {
	failed, missed := time.Duration(0), false
	for {
		select {
		case s.handlers <- struct{}{}:
		case <-ctx.Done():
			return
		}
		if missed && s.Trigger.Set(ctx, Due{MissedID, s.Now()}) == nil {
			missed = false
		}
		batch, err := s.Trigger.Take(ctx, s.Batch)
		received := time.Now()
		if err != nil {
			<-s.handlers
			if ctx.Err() != nil {
				return
			}
			if failed == 0 {
				s.Slog.Warn("timers wait for their trigger", "error", err)
			}
			// Something may be missed meanwhile.
			failed, missed = min(max(2*failed, firstPause), maxPause), true
			pause(ctx, failed)
			continue
		}
		failed = 0
		s.work.Go(func() {
			defer func() { <-s.handlers }()
			// What was begun is finished: a batch takes milliseconds.
			s.handle(ctx, context.WithoutCancel(ctx), batch, received)
		})
	}
}

func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// handle does what a batch asks for. Webhooks and chores end with running;
// everything else with ctx.
func (s *Service) handle(running, ctx context.Context, batch Batch, received time.Time) {
	var timers, rebuilds []Taken
	for _, t := range batch.Taken {
		switch {
		case t.ID == RebuildID || isGuard(t.ID):
			rebuilds = append(rebuilds, t)
		case t.ID[0] == '~':
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
	done  []Taken
	again []Again
}

// fire gives timers their completion, whichever of them are due.
func (s *Service) fire(running, ctx context.Context, taken []Taken, now time.Time) {
	ids := make([]string, len(taken))
	byID := make(map[string]Taken, len(taken))
	for i, t := range taken {
		ids[i], byID[t.ID] = t.ID, t
	}
	fired, err := s.Store.Fire(ctx, Firing{
		IDs: ids, Now: now, Server: s.Server, Deliver: s.Log != nil || s.Hook != nil, Grace: s.Grace,
	})
	if err != nil {
		s.Slog.Warn("timers wait for the store", "timers", len(ids), "error", err)
		s.tellTrigger(ctx, outcome{again: later(taken, now.Add(retryStore))})
		return
	}
	var o outcome
	var deliver, over []Timer
	for _, f := range fired {
		t := byID[f.ID]
		delete(byID, f.ID)
		if f.New {
			s.count(f.Timer)
		}
		switch f.Status {
		case Waiting:
			o.again = append(o.again, Again{t, f.NextAt})
		case Delivering:
			if !s.inHand.take(f.ID) {
				o.again = append(o.again, Again{t, now.Add(retryStore)})
				continue
			}
			deliver = append(deliver, f.Timer)
			byID[f.ID] = t
		default:
			o.done = append(o.done, t)
			if !f.New && f.Status.Fired() {
				over = append(over, f.Timer)
			}
		}
	}
	if len(deliver) > 0 {
		s.deliver(running, ctx, deliver, byID, now, &o)
	}
	// Of two who delivered the same, the slower may have told the log last.
	if s.Log != nil && !s.log(ctx, s.logged(over)) {
		s.tellTrigger(ctx, outcome{again: o.again}) // the others come again
		return
	}
	// What has no row was removed from the store.
	for _, t := range byID {
		o.done = append(o.done, t)
	}
	s.watchers.Notify()
	s.tellTrigger(ctx, o)
}

func (s *Service) count(t Timer) {
	s.counters.Fired.Add(1)
	if c := t.Completion(); c.Late {
		s.counters.Late.Add(1)
		s.Slog.Warn("timer fired late", "timer", t.ID, "due", t.At, "lateness", c.Lateness)
	}
}

func later(taken []Taken, at time.Time) []Again {
	again := make([]Again, len(taken))
	for i, t := range taken {
		again[i] = Again{t, at}
	}
	return again
}

// tellTrigger says what became of what was taken. If it does not hear, it hands
// the same out again after the grace, and the rows say that they are done.
func (s *Service) tellTrigger(ctx context.Context, o outcome) {
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
