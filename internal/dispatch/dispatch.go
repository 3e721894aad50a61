// Package dispatch is the port to whatever carries job ids to workers. It is a
// hint that may vanish at any time: the state knows every job, and dispatch is
// rebuilt from it.
package dispatch

import (
	"context"
	"time"

	"sluice/internal/domain"
)

// MaxWait caps every blocking wait. A sleeper can miss a wake-up; when the
// cap ends it reads the truth again. It is the only periodic thing.
const MaxWait = 30 * time.Second

// DefaultLease is how long a worker may be silent before its job is given to
// another.
const DefaultLease = 15 * time.Second

// Entry is one job that waits for a worker.
type Entry struct {
	Job int64
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
	// Token tells this lease from every earlier one of the same job.
	Token uint64
	// Deliveries counts how often the job was handed out, this time included.
	Deliveries int
}

// Dispatcher hands jobs to workers.
//
// Order: lanes take turns, one entry each; inside a lane HIGH goes before LOW
// but at least one entry in ten is LOW while any waits; within a priority
// children go before discovery; then first come, first served. An entry for a
// job that already waits or is leased is ignored.
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
	// Remove forgets waiting entries of jobs that were canceled or paused.
	Remove(ctx context.Context, jobs ...int64) error
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
