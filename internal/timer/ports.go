package timer

import (
	"context"
	"time"
)

// Store is where timers are kept. Every method is one transaction; an error of
// code unavailable means that the same call may be repeated, and repeating a
// call whose answer was lost changes nothing more. Instants are kept to the
// microsecond.
type Store interface {
	// Put stores those timers whose id is not taken, all or nothing. The
	// answers stand in the order of the specs: the timer that has the id now,
	// and whether this call stored it. A timer that was there stays as it is.
	// Specs have different ids.
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
	// Fire gives the timers of these ids that are WAITING and due their
	// completion. It returns every timer there is among them, in any order, and
	// whether this call fired it.
	Fire(ctx context.Context, f Firing) ([]Fired, error)
	// Settle writes down what became of deliveries. What is not DELIVERING any
	// more, or was tried more often by now, stays as it is.
	Settle(ctx context.Context, settled []Settlement) error
	// Redeliver makes a DEAD timer DELIVERING again, to be tried at once, with
	// a new count of tries. Another is an error of code conflict.
	Redeliver(ctx context.Context, id string, now time.Time) (Timer, error)
	// Open calls fn for everything that something is to be done with (NextAt
	// is not zero), in any order. The store may be written meanwhile.
	Open(ctx context.Context, fn func(Due) error) error
	// Overdue lists what should have been done at or before an instant, the
	// earliest first.
	Overdue(ctx context.Context, at time.Time, limit int) ([]Due, error)
	// Prune removes up to limit timers that need nothing any more and had
	// their end (fired, or canceled) before an instant. It returns how many.
	Prune(ctx context.Context, before time.Time, limit int) (int, error)
	History
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
	// Grace is how long after Now somebody else may think that this server
	// will not deliver any more: the NextAt of what is DELIVERING.
	Grace time.Duration
}

// Fired is what Fire answers for one timer.
type Fired struct {
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

// LatenessBounds are the upper ends, inclusive, of the buckets of Stats.
var LatenessBounds = []time.Duration{
	time.Millisecond, 2 * time.Millisecond, 5 * time.Millisecond, 10 * time.Millisecond, 20 * time.Millisecond,
	50 * time.Millisecond, 100 * time.Millisecond, 200 * time.Millisecond, 500 * time.Millisecond, time.Second,
	5 * time.Second, time.Minute, time.Hour,
}

// Trigger says when timers are due. It may lose what it was told; then it hands
// out RebuildID, once, to somebody who fills it from the store.
//
// Nothing is handed out before its instant by the trigger's own clock, and by
// that clock an instant is judged wherever several servers share one.
type Trigger interface {
	// Set makes timers due at their instants. One that is due earlier already
	// stays so: of two that race to move a timer the later must not win, and
	// who takes a timer too early finds out from its row. A timer that is taken
	// is due again at the instant if that is before its grace ends.
	Set(ctx context.Context, dues ...Due) error
	// Remove forgets timers, also if they are taken.
	Remove(ctx context.Context, ids ...string) error
	// Take hands out up to n timers that are due, the earliest first, blocking
	// until there is one. It returns none, without an error, after a while: every
	// wait is capped. What is taken is handed out again after the grace unless it
	// is done, removed or set anew.
	Take(ctx context.Context, n int) (Batch, error)
	// Done forgets what was taken, unless it was set anew or taken again since.
	Done(ctx context.Context, taken ...Taken) error
	// Again gives back what was taken, to be due at new instants, earlier or
	// later, unless it was set anew or taken again since.
	Again(ctx context.Context, again ...Again) error
}

// Batch is what Take hands out.
type Batch struct {
	// Now is the trigger's clock when it did.
	Now   time.Time
	Taken []Taken
}

// Taken is one timer in the hands of one server.
type Taken struct {
	ID string
	// Token tells this taking from every other.
	Token int64
}

// Again is a timer that was taken and is due another time.
type Again struct {
	Taken
	At time.Time
}

// DefaultGrace is how long a server may be silent about what it took.
const DefaultGrace = 15 * time.Second

// Ids that are no timers but work that waits for its time like one. No timer's
// id begins like them.
const (
	// RebuildID fills the trigger from the store.
	RebuildID = "~rebuild"
	// MissedID looks for what is overdue.
	MissedID = "~missed"
	// PruneID removes what is too old.
	PruneID = "~prune"
)
