// Package due is the port to what waits for instants: entries with an id that
// people can read (timer:tea, job:12), each due at a time. It is a hint that may
// vanish at any time, like dispatch; whoever put something knows it from a store.
//
// One mechanism stands behind it and behind the instants of dispatchers (jobs
// that are tried again, chores, harvests, lanes that are closed for a while): in
// a process one heap and one timer, on Redis sorted sets and the functions of
// scripts/due. What waits for what is due waits as a Waiter has it, unless Redis
// itself does the waiting.
package due

import (
	"context"
	"time"
)

// MaxWait caps every blocking wait. A sleeper can miss a wake-up; when the cap
// ends it reads the truth again. It is the only periodic thing.
const MaxWait = 30 * time.Second

// DefaultGrace is how long a process may be silent about what it took.
const DefaultGrace = 15 * time.Second

// Ids that a set hands out by itself. Entries of others that begin with a tilde
// are work of whoever uses the set.
const (
	// RebuildID asks to fill the set again: it has lost something, or cannot
	// tell whether it has.
	RebuildID = "~rebuild"
	// MissedID asks to look for what is overdue: instants may have passed
	// unheard.
	MissedID = "~missed"
)

// Entry is something that is due at an instant.
type Entry struct {
	ID string
	At time.Time
}

// Set holds entries until they are due. It may lose what it was told; then it
// hands out RebuildID, once, to somebody who fills it.
//
// Nothing is handed out before its instant by the set's own clock, and by that
// clock an instant is judged wherever several processes share a set. If that
// clock is set back, what waits is due when it gets there; what one of them took
// and left comes again after a grace all the same.
type Set interface {
	// Put makes entries due at their instants. One that is due earlier already
	// stays so: of two that race to move an entry the later must not win, and
	// who takes one too early finds out from its row. An entry that is taken is
	// due again at the instant if that is before its grace ends.
	Put(ctx context.Context, entries ...Entry) error
	// Remove forgets entries, also if they are taken.
	Remove(ctx context.Context, ids ...string) error
	// Take hands out up to n entries that are due, the earliest first, blocking
	// until there is one. It returns none, without an error, after a while: every
	// wait is capped. What is taken is handed out again after the grace unless it
	// is done, removed or put anew.
	Take(ctx context.Context, n int) (Batch, error)
	// Done forgets what was taken, unless it was put anew or taken again since.
	Done(ctx context.Context, taken ...Taken) error
	// Again gives back what was taken, to be due at new instants, earlier or
	// later, unless it was put anew or taken again since.
	Again(ctx context.Context, again ...Again) error
}

// Batch is what Take hands out.
type Batch struct {
	// Now is the set's clock when it did.
	Now   time.Time
	Taken []Taken
}

// Taken is one entry in the hands of one process.
type Taken struct {
	ID string
	// Token tells this taking from every other.
	Token int64
}

// Again is an entry that was taken and is due another time.
type Again struct {
	Taken
	At time.Time
}
