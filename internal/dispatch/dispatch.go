// Package dispatch is the port to whatever carries the ids of jobs and chores to
// workers. It is a hint that may vanish at any time: the state knows everything
// that is to be done, and dispatch is rebuilt from it. The port is in
// dispatch.go; what entries and lanes are called is in id.go.
package dispatch

import (
	"context"
	"time"

	"sluice/internal/domain"
	"sluice/internal/due"
)

// MaxWait caps every blocking wait.
const MaxWait = due.MaxWait

// DefaultLease is how long a worker may be silent before its job is given to
// another.
const DefaultLease = 15 * time.Second

// Entry is one job or chore that waits for a worker.
type Entry struct {
	// ID names what is to be done, so that people can read it: job:12 (see
	// JobID), statistics:8. Dispatchers do not look into it.
	ID string
	// Lane is whose ration the job draws on: a quota owner and a bucket.
	Lane     string
	Priority domain.Priority
	Class    domain.Class
	// NotBefore keeps the entry in the due set until then; zero is now.
	NotBefore time.Time
}

// Lease is one entry in the hands of one worker.
type Lease struct {
	Entry
	// Token tells this lease from every earlier one of the same entry.
	Token uint64
	// Deliveries counts how often the entry was handed out, this time included.
	Deliveries int
}

// Dispatcher hands jobs to workers.
//
// Order: among what can be had HIGH goes before LOW, whichever lanes they are
// in, but of any ten entries in a row at least one is LOW while one can be had;
// within a priority lanes take turns, one entry each; inside a lane children go
// before discovery; then first come, first served. An entry whose id already
// waits or is leased is ignored.
type Dispatcher interface {
	// Push makes entries available, those with a NotBefore when it comes.
	Push(ctx context.Context, entries ...Entry) error
	// Lease returns up to n entries, blocking until there is at least one. It
	// returns none, without an error, after MaxWait.
	Lease(ctx context.Context, n int) ([]Lease, error)
	// Renew extends leases by the lease time. It returns those that are lost:
	// their holder must drop the result.
	Renew(ctx context.Context, leases ...Lease) (lost []Lease, err error)
	// Ack removes entries whose outcome is committed.
	Ack(ctx context.Context, leases ...Lease) error
	// Release hands an entry back to the front of its lane, at the given
	// instant or, if zero, at once. Delivery is not counted against it.
	Release(ctx context.Context, lease Lease, at time.Time) error
	// Park closes a lane until an instant. Its entries stay in it. Parking a
	// parked lane keeps the later instant.
	Park(ctx context.Context, lane string, until time.Time) error
	// Resume opens a lane at once, whatever it was parked until.
	Resume(ctx context.Context, lane string) error
	// Remove forgets waiting entries of what was canceled or paused.
	Remove(ctx context.Context, ids ...string) error
	// Stats says what waits where.
	Stats(ctx context.Context) (Stats, error)
}

// Stats counts what waits, is due later, and is leased.
type Stats struct {
	Ready, Due, Leased int
	// NextDue is when the earliest waiting instant comes; zero for none.
	NextDue time.Time
	Lanes   []LaneStats
}

// LaneStats is one lane's part of Stats.
type LaneStats struct {
	Lane          string
	Ready, Leased int
	ParkedUntil   time.Time
}
