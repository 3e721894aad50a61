package refresh

import (
	"context"
	"time"

	"sluice/internal/domain"
)

// Coalescer sees to it that one request for an entity is under way at a time.
// A lock that nobody releases ends by itself: HIGH after 30 s, LOW after 60 s
// unless configured otherwise.
type Coalescer interface {
	// Acquire asks for the right to publish a request for each entity. The
	// grants stand in the order of the asks.
	Acquire(ctx context.Context, asks ...Ask) ([]Grant, error)
	// Release gives locks up, those that are still held as they were granted.
	Release(ctx context.Context, locks ...Lock) error
	// Versions returns, in the order of the entities, the newest version given
	// out; 0 if none is remembered.
	Versions(ctx context.Context, entities ...Entity) ([]int64, error)
	// Raise makes every version that is given out from now on larger than this.
	Raise(version int64)
}

// Ask is a request to have an entity refreshed.
type Ask struct {
	Entity
	Priority domain.Priority
}

// Coalesced is what became of an ask.
type Coalesced uint8

// What can become of an ask.
const (
	// Published: nothing was under way; the caller publishes.
	Published Coalesced = iota + 1
	// Upgraded: a LOW one was under way; the caller publishes a HIGH one, and
	// the LOW one is obsolete.
	Upgraded
	// AlreadyProcessing: one of at least this priority is under way.
	AlreadyProcessing
)

// String returns the name that people and APIs see.
func (c Coalesced) String() string {
	switch c {
	case Published:
		return "PUBLISHED"
	case Upgraded:
		return "UPGRADED"
	case AlreadyProcessing:
		return "ALREADY_PROCESSING"
	}
	return "unknown"
}

// MarshalText implements encoding.TextMarshaler.
func (c Coalesced) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// Grant answers an ask. With AlreadyProcessing, Lock is the one that is held.
type Grant struct {
	Lock
	Result Coalesced
}

// Lock is held by the request that is under way.
type Lock struct {
	Entity
	Priority domain.Priority
	// Version is larger than every earlier one of the entity, for ever: also
	// when everything about the entity was forgotten in between.
	Version int64
}

// Snapshots is what a store of snapshots offers. Every method is one transaction;
// an error of code unavailable means that the same call may be repeated. Whoever
// needs some of it takes that.
type Snapshots interface {
	Entities
	Requests
	Marks
	DeadLetters
	History
	Past
}

// Entities keeps the snapshots, and what else is known of their entities.
type Entities interface {
	// Snapshot returns an entity's snapshot, false if there is none, and its
	// status, nil if nothing is wrong with it.
	Snapshot(ctx context.Context, e Entity) (Snapshot, bool, *Status, error)
	// Save writes what refreshes brought, all or nothing. The answers stand in
	// the order of the refreshes. A status of the entity ends with it. An entity
	// occurs once.
	Save(ctx context.Context, refreshed []Refreshed) ([]Saved, error)
	// SetStatus says what is wrong with entities. It changes nothing for one
	// that was refreshed by a later version.
	SetStatus(ctx context.Context, statuses []VersionedStatus) error
	// Read notes that entities were read, so that they are kept fresher: their
	// tier becomes Hot; those that are not read fall back with Due.
	Read(ctx context.Context, reads []Read) error
	// Due lists up to limit entities of a source that are due to be refreshed,
	// the longest overdue first, and makes each due again after its tier's
	// interval, so that no other caller gets it meanwhile. Tiers fall: Hot to
	// Warm to Cold when an entity was not read for long enough. All callers
	// together get no more than the query's rate.
	Due(ctx context.Context, q DueQuery) (Due, error)
	// Counts tells how many snapshots, statuses and bytes a source has.
	Counts(ctx context.Context, source string) (Counts, error)
}

// Refreshed is what one refresh brought.
type Refreshed struct {
	Entity
	Version int64
	// At is when it was looked at, Now when it is saved, by the same clock; a zero
	// Now is At.
	At, Now time.Time
	// Body is in its canonical form, and Hash over it.
	Body []byte
	Hash Hash
}

// newer reports whether it takes the place of another result for the entity: by
// its version, or, if one event was carried out twice, by when it was looked.
func (r Refreshed) newer(than Refreshed) bool {
	return r.Version > than.Version || r.Version == than.Version && r.At.After(than.At)
}

// Saved is what Save did with one of them.
type Saved uint8

// What Save can do.
const (
	// Stored: the value is new or has changed.
	Stored Saved = iota + 1
	// Touched: the value is the same; only CheckedAt moved.
	Touched
	// Obsolete: a later version is stored, or the same one by a later look;
	// nothing changed.
	Obsolete
)

// DueQuery asks for what is due.
type DueQuery struct {
	Source string
	Now    time.Time
	// Limit is how many one caller gets at most.
	Limit int
	// PerSecond is how many all callers together get a second; zero is any number.
	PerSecond float64
}

// Due is what is due.
type Due struct {
	Entities []Entity
	// Next is when the rate allows more, if there was more; zero if all that is
	// due was returned.
	Next time.Time
}

// paceBurst is how much of a second's rate may be asked for at once, in
// microseconds, whoever was late.
const paceBurst = 200_000

// Pace says how many of those that are wanted may be had, given until when the
// rate has been used up, and until when it is then. Instants are microseconds.
func Pace(next, now int64, perSecond float64, wanted int) (n int, after int64) {
	if perSecond <= 0 || wanted <= 0 {
		return wanted, next
	}
	each := 1e6 / perSecond
	// A mark in a distant future is of a clock that was set back.
	if next > now+ClockSkew.Microseconds()+int64(each) {
		next = now
	}
	next = max(next, now-paceBurst)
	if next > now {
		return 0, next
	}
	n = min(wanted, 1+int(float64(now-next)/each))
	return n, next + int64(float64(n)*each)
}

// VersionedStatus is a status that an event led to.
type VersionedStatus struct {
	Status
	Version int64
}

// Read is one read of an entity.
type Read struct {
	Entity
	At time.Time
}

// Counts sums up a source.
type Counts struct {
	Snapshots int64            `json:"snapshots"`
	Bytes     int64            `json:"bytes"`
	Retrying  int64            `json:"retrying"`
	Failed    int64            `json:"failed"`
	Tiers     map[string]int64 `json:"tiers"`
}

// DeadLetters keeps what failed for good, for a person.
type DeadLetters interface {
	// AddDeadLetters stores dead letters. Adding one again changes nothing.
	AddDeadLetters(ctx context.Context, letters []DeadLetter) error
	DeadLetter(ctx context.Context, id string) (DeadLetter, error)
	DeadLetterList(ctx context.Context, q DeadLetterQuery) ([]DeadLetter, error)
	// DeadLetterCounts counts by reason.
	DeadLetterCounts(ctx context.Context) (map[string]int64, error)
	// RemoveDeadLetters removes dead letters and returns those that were there.
	RemoveDeadLetters(ctx context.Context, ids []string) ([]DeadLetter, error)
	// AgeOut removes up to limit dead letters that failed before an instant, and
	// returns how many.
	AgeOut(ctx context.Context, before time.Time, limit int) (int, error)
}

// DeadLetter is a request that failed for good.
type DeadLetter struct {
	// ID is the event's.
	ID string `json:"id"`
	Event
	// Why is a short code that letters are counted by, such as OPENAPI00004 or
	// UNPARSABLE; Error is for people.
	Why   string `json:"why"`
	Error string `json:"error"`
	// HTTPStatus is that of the last answer; 0 if there was none.
	HTTPStatus int       `json:"http_status,omitempty"`
	Tries      int       `json:"tries"`
	FirstAt    time.Time `json:"first_at"`
	FailedAt   time.Time `json:"buried_at"`
	// Where it was in the log.
	Topic     string `json:"topic"`
	Partition int32  `json:"partition"`
	Offset    int64  `json:"offset"`
	// WorkerID names the process that gave it up.
	WorkerID string `json:"worker_id,omitempty"`
}

// DeadLetterQuery selects dead letters, newest first. Zero fields do not
// restrict.
type DeadLetterQuery struct {
	Why    string
	Source string
	Key    string
	// Before and BeforeID page backwards: those that failed earlier, or at the same
	// time with a smaller id.
	Before   time.Time
	BeforeID string
	// Limit zero means 100.
	Limit int
}

// History keeps earlier values of snapshots until they are archived.
type History interface {
	// Values lists up to limit values that were stored before an instant, in
	// the order they were stored, after a cursor ("" begins with the first). It
	// returns the cursor of the last.
	Values(ctx context.Context, before time.Time, after string, limit int) (values []Value, last string, err error)
	// Forget removes values that are archived, up to and including a cursor.
	// The present value of a snapshot stays.
	Forget(ctx context.Context, upTo string) (int, error)
	// Restore puts values back into the history. One that is there stays.
	Restore(ctx context.Context, values []Value) error
}

// Past tells what entities once were.
type Past interface {
	// PastValues lists the values of one entity that are stored, the newest first:
	// the present one, those that are not archived yet, and those that were restored.
	PastValues(ctx context.Context, q PastQuery) ([]PastValue, error)
}

// Value is one value that an entity once had.
type Value struct {
	Entity
	Version  int64
	StoredAt time.Time
	Body     []byte
	Hash     Hash
}
