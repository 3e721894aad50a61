package sink

import (
	"context"
	"time"
)

// State is what a sink does.
type State string

// The states.
const (
	// StateStopped: it does not run.
	StateStopped State = "stopped"
	// StateStarting: it has not reached its target yet.
	StateStarting State = "starting"
	// StateBackfilling: it copies everything, StateFollowing: it follows the changes.
	StateBackfilling State = "backfilling"
	StateFollowing   State = "following"
	// StateFailed: something went wrong, and is tried again.
	StateFailed State = "failed"
	// StateElsewhere: another process carries it.
	StateElsewhere State = "elsewhere"
	// StateDone: it was to catch up, and has.
	StateDone State = "done"
)

// Status is what is told of a sink.
type Status struct {
	Name, Kind string
	State      State
	Progress
	// Rows are those that this process has carried, and Batches how often it stored
	// some.
	Rows, Batches int64
	// Error is what went wrong last, and ErrorAt when; "" once it went well again.
	Error   string
	ErrorAt time.Time
}

// Lag is how far a sink is behind.
type Lag struct {
	// Changes are those that are not in the target yet, and Age is how long ago the
	// first of them was committed. Known is false while nobody can tell: before a sink
	// has reached its target, and during a backfill.
	Changes int64
	Age     time.Duration
	Known   bool
}

// Status tells how the sink fares.
func (r *Runner) Status() Status {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.status
}

// Lag tells how far the sink is behind what there is now.
func (r *Runner) Lag(ctx context.Context) (lag Lag, err error) {
	s := r.Status()
	if !s.Backfilled {
		return lag, nil
	}
	bounds, err := r.Source.Feed.Bounds(ctx)
	if err != nil || bounds.Feed != s.Feed {
		return lag, err
	}
	lag = Lag{Changes: max(0, bounds.Newest-s.Position), Known: true}
	if lag.Changes == 0 || s.Position < bounds.Oldest-1 {
		return lag, nil
	}
	next, err := r.Source.Feed.Changes(ctx, s.Position, 1)
	if err != nil {
		return lag, err
	}
	if len(next) > 0 {
		lag.Age = max(0, r.Now().Sub(next[0].At))
	}
	return lag, nil
}

// set changes the status.
func (r *Runner) set(change func(s *Status)) {
	r.mu.Lock()
	change(&r.status)
	r.mu.Unlock()
	r.Moved()
}

func (r *Runner) setState(state State) { r.set(func(s *Status) { s.State = state }) }

func (r *Runner) failed(err error) {
	r.set(func(s *Status) { s.State, s.Error, s.ErrorAt = StateFailed, err.Error(), r.Now() })
}

// arrived notes where the target is.
func (r *Runner) arrived(p Progress) {
	r.set(func(s *Status) { s.Progress, s.State = p, StateFollowing })
}

// idle notes that there is nothing to carry: all is well again.
func (r *Runner) idle() { r.set(func(s *Status) { s.Error, s.ErrorAt = "", time.Time{} }) }

// applied notes what was stored: all is well again.
func (r *Runner) applied(b *Batch) {
	r.set(func(s *Status) {
		s.Progress = b.Progress
		s.Rows += int64(len(b.Rows))
		s.Batches++
		s.Error, s.ErrorAt = "", time.Time{}
	})
}
