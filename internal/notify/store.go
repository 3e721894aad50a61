package notify

import (
	"context"
	"time"
)

// Store keeps what happened and what is told of it, for all processes. Every
// method is one transaction.
type Store interface {
	// Happened reads events from the tables of the state: accounts that are
	// paused, runs that ended badly and dead letters, since an instant, at most so
	// many of each kind, the oldest first.
	Happened(ctx context.Context, since time.Time, limit int) ([]Event, error)
	// Mark is up to when what happened was recorded; zero if nothing ever was.
	Mark(ctx context.Context) (time.Time, error)
	// Record adds those events whose keys are new to the messages of the targets
	// that want them, and moves the mark. It returns how many were new.
	Record(ctx context.Context, r Recording) (int, error)
	// Due lists messages that are due, the oldest first, and when the next of the
	// others is; zero if there is none.
	Due(ctx context.Context, now time.Time, limit int) (due []Message, next time.Time, err error)
	// Claim begins an attempt at a message that was seen with so many, as
	// Message.Claim has it. It returns false if somebody else was quicker.
	Claim(ctx context.Context, id string, seen int64, now time.Time) (Message, bool, error)
	// Settle stores what became of an attempt, as Settlement.Apply has it.
	Settle(ctx context.Context, s Settlement) error
	// Messages lists messages, the newest first.
	Messages(ctx context.Context, q Query) ([]Message, error)
	// Counts counts the messages that wait and those that were given up, by target.
	Counts(ctx context.Context) ([]Count, error)
	// Retry lets a message that was given up be tried again.
	Retry(ctx context.Context, id string, now time.Time) (Message, error)
	// Forget removes messages that ended, and keys that were recorded, before an
	// instant; at most so many of each. It returns how many it removed.
	Forget(ctx context.Context, before time.Time, limit int) (int, error)
}

// Recording is what happened and who is to be told.
type Recording struct {
	Events  []Event
	Targets []Wanted
	// Now is when it is recorded; Mark, if set, moves the mark, never back.
	Now, Mark time.Time
	// NewID makes the ids of messages.
	NewID func() string
}

// Wanted is what a store must know of a target.
type Wanted struct {
	Target string
	// Every is the shortest time between two messages of one kind.
	Every time.Duration
	Wants func(Kind) bool
}

// Query selects messages. Zero fields do not restrict.
type Query struct {
	State  State
	Target string
	// Before pages on: what follows the message with this id. Limit zero means
	// 100.
	Before string
	Limit  int
}

// Count is how many messages of a target are in a state.
type Count struct {
	Target string
	State  State
	N      int64
}

// Left are the states of messages of which something is left to be done, by the
// program or by a person.
func Left() []State { return []State{Waiting, Dead} }

// MaxList is how many messages a query that names no limit returns.
const MaxList = 100

// Book is the rule of Record: stores load the open messages and paces of all
// targets, hand each new event to it, and write back what changed.
type Book struct {
	recording Recording
	// open are the messages that take more events, and paces when a target may be
	// sent the next message of a kind.
	open  map[slot]*Message
	paces map[slot]time.Time
	begun map[slot]bool
}

type slot struct {
	target string
	kind   Kind
}

// NewBook returns one that knows nothing yet.
func NewBook(r Recording) *Book {
	return &Book{recording: r, open: map[slot]*Message{}, paces: map[slot]time.Time{}, begun: map[slot]bool{}}
}

// Known tells of a message that is in the store and takes more events.
func (b *Book) Known(m Message) { b.open[slot{m.Target, m.Kind}] = &m }

// Pace tells when a target may be sent the next message of a kind.
func (b *Book) Pace(target string, kind Kind, next time.Time) { b.paces[slot{target, kind}] = next }

// Add adds a new event to the messages of those who want it.
func (b *Book) Add(e Event) {
	for _, w := range b.recording.Targets {
		if !w.Wants(e.Kind) {
			continue
		}
		at := slot{w.Target, e.Kind}
		m := b.open[at]
		if m == nil {
			begun := Begin(b.recording.NewID(), w.Target, e.Kind, b.recording.Now, b.paces[at], w.Every)
			m = &begun
			b.open[at], b.begun[at], b.paces[at] = m, true, m.Due.Add(w.Every)
		}
		m.Add(e)
	}
}

// Entry is a message to be written: inserted with its pace, or changed.
type Entry struct {
	Message
	New  bool
	Pace time.Time
}

// Entries are what is to be written.
func (b *Book) Entries() (all []Entry) {
	for at, m := range b.open {
		all = append(all, Entry{Message: *m, New: b.begun[at], Pace: b.paces[at]})
	}
	return all
}
