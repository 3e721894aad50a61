package timer

import (
	"context"
	"time"
)

// Store is what a store of timers offers. Every method is one transaction; an
// error of code unavailable means that the same call may be repeated, and
// repeating a call whose answer was lost changes nothing more. Instants are kept
// to the microsecond. Whoever needs some of it takes that.
type Store interface {
	Register
	Firings
	Feed
	History
}

// Register is where timers are set, looked up and changed.
type Register interface {
	// Put stores those timers whose id is not taken, all or nothing. The
	// answers stand in the order of the specs: the timer that has the id now,
	// and whether this call stored it. A timer that was there stays as it is,
	// unless the spec Replaces it: then it is a timer no longer, and its
	// completion stays for whoever reads those. Specs have different ids.
	Put(ctx context.Context, specs []Spec, now time.Time) ([]Stored, error)
	// Timer fails with code not_found if there is none.
	Timer(ctx context.Context, id string) (Timer, error)
	Timers(ctx context.Context, q Query) ([]Timer, error)
	// Cancel keeps a WAITING timer from firing; one that is CANCELED stays so.
	// One that has fired is an error of code conflict.
	Cancel(ctx context.Context, id string) (Timer, error)
	// Reschedule gives a WAITING or CANCELED timer another instant, and makes
	// it WAITING. One that has fired is an error of code conflict.
	Reschedule(ctx context.Context, id string, at, now time.Time) (Timer, error)
	// Redeliver makes a DEAD timer DELIVERING again, to be tried at once, with
	// a new count of tries. Another is an error of code conflict.
	Redeliver(ctx context.Context, id string, now time.Time) (Timer, error)
}

// Firings says what is due, and keeps what became of it.
type Firings interface {
	// Fire gives the timers of these ids that are WAITING and due their
	// completion. It returns every timer there is among them, in any order, and
	// whether this call fired it.
	Fire(ctx context.Context, f Firing) ([]FireResult, error)
	// Settle writes down what became of deliveries. What is not DELIVERING any
	// more, or was tried more often by now, stays as it is.
	Settle(ctx context.Context, settled []Settlement) error
	// GivenUp counts the timers that are DEAD.
	GivenUp(ctx context.Context) (int64, error)
	// Open calls fn for everything that something is to be done with (NextAt
	// is not zero), in any order. The store may be written meanwhile.
	Open(ctx context.Context, fn func(Due) error) error
	// Overdue lists what should have been done at or before an instant, the
	// earliest first.
	Overdue(ctx context.Context, at time.Time, limit int) ([]Due, error)
	// Prune removes up to limit timers that need nothing any more and had
	// their end (fired, or canceled) before an instant. It returns how many.
	Prune(ctx context.Context, before time.Time, limit int) (int, error)
}

// Feed lists completions for those who follow them and for a log elsewhere.
type Feed interface {
	// Follow lists completions after a position, in the order of positions. One
	// that comes to be seen later has a later position, whatever the clocks of
	// servers say, so that who goes on after the last he saw misses none.
	Follow(ctx context.Context, after int64, limit int) ([]Completion, error)
	// Position is the one before the first completion that fired at or after an
	// instant; the last of all if there is none.
	Position(ctx context.Context, from time.Time) (int64, error)
	// Unlogged lists timers whose completion, or a change of it, is to be
	// written to a log elsewhere: Firing and Settlement say so.
	Unlogged(ctx context.Context, limit int) ([]Timer, error)
	// Logged says that timers were written to the log as they were listed. What
	// has changed since then is listed again.
	Logged(ctx context.Context, timers []Timer) error
}

// History reads completions.
type History interface {
	// Completions lists completions from an instant on, by the time they fired,
	// then by id, beginning after the given id of that instant ("" begins with
	// the first).
	Completions(ctx context.Context, from time.Time, afterID string, limit int) ([]Completion, error)
	// Stats sums up the completions from an instant on.
	Stats(ctx context.Context, from time.Time) (Stats, error)
}

// Log keeps completions in a store of their own.
type Log interface {
	History
	// Append stores completions, or replaces what is known of them.
	Append(ctx context.Context, completions []Completion) error
	// Prune removes up to limit completions that fired before an instant, and
	// returns how many.
	Prune(ctx context.Context, before time.Time, limit int) (int, error)
}

// Stored is what Put answers for one spec.
type Stored struct {
	Timer
	New bool
}

// Query selects timers in the order of their ids. Zero fields do not restrict.
type Query struct {
	Statuses []Status
	Prefix   string
	AfterID  string
	// Limit zero means 100.
	Limit int
}

// Firing asks for completions.
type Firing struct {
	IDs []string
	// Now is the completions' time; what is due later stays.
	Now    time.Time
	Server string
	// Deliver leaves all of them DELIVERING; otherwise only those with a
	// webhook are, and the others COMPLETED.
	Deliver bool
	// Log has the completions listed as Unlogged.
	Log bool
	// Grace is how long after Now somebody else may think that this server
	// will not deliver any more: the NextAt of what is DELIVERING.
	Grace time.Duration
}

// FireResult is what Fire answers for one timer.
type FireResult struct {
	Timer
	New bool
}

// Settlement is what became of one delivery.
type Settlement struct {
	ID string
	// To is COMPLETED, DEAD, or DELIVERING for another try at Next.
	To   Status
	Next time.Time
	// Tries counts this attempt and all before.
	Tries int
	Error string
	// At is when it was given up, if it was: those whom it concerns are told what
	// was since they looked last.
	At time.Time
	// Log has it listed as Unlogged.
	Log bool
}

// Due is a timer and when something is to be done with it.
type Due struct {
	ID string
	At time.Time
}

// Stats sums up completions.
type Stats struct {
	From      time.Time `json:"from"`
	Completed int64     `json:"completed"`
	// Succeeded were delivered to everybody; Failed were given up; the others
	// are being delivered.
	Succeeded int64 `json:"succeeded"`
	Failed    int64 `json:"failed"`
	Late      int64 `json:"late"`
	// Mean and Max are of the lateness.
	Mean time.Duration `json:"mean_lateness_ns"`
	Max  time.Duration `json:"max_lateness_ns"`
	// Buckets counts completions by lateness, as LatenessBounds has it; the
	// last is of all that were later.
	Buckets []int64          `json:"buckets"`
	Servers map[string]int64 `json:"servers"`
}

// LatenessBounds are the upper ends, inclusive, of the buckets of Stats: from a
// tenth of a millisecond to more than an hour, each a fifth above the one before.
var LatenessBounds = latenessBounds()

func latenessBounds() []time.Duration {
	var bounds []time.Duration
	for micros := 100.0; len(bounds) == 0 || bounds[len(bounds)-1] < time.Hour; micros *= 1.2 {
		bounds = append(bounds, time.Duration(micros)*time.Microsecond)
	}
	return bounds
}
