package refresh

import (
	"context"
	"time"

	"sluice/internal/domain"
)

// Pending is a request that was accepted and is not done.
type Pending struct {
	Event
	// Code and Error tell why it was put off the last time, if it was.
	Code, Error string
	// NotBefore is when it comes back; zero if it is in the log.
	NotBefore time.Time
}

// Requests keeps what was accepted until it is done, whatever becomes of the
// log, and what waits for an instant. There is one request of an entity: a later
// one takes the place of an earlier one. Saving a refresh ends the request of its
// entity, up to its version.
type Requests interface {
	// Accept notes requests that are about to be published. One that was put off
	// by the upstream stays as it is, unless the new one is of a higher priority:
	// it stands for both.
	Accept(ctx context.Context, events []Event) error
	// Follow notes requests that somebody else has begun and is to publish: if
	// nobody does they come back at their NotBefore. It changes nothing where a
	// later one is kept, or where the upstream has put one off.
	Follow(ctx context.Context, requests []Pending) error
	// Park puts requests off until their NotBefore. It changes nothing for an
	// entity that has a request of a later version.
	Park(ctx context.Context, requests []Pending) error
	// Wake returns up to limit requests whose instant has come, the earliest
	// first, and when the next one comes, zero if none waits. Nobody else gets
	// them before lease has passed; by then Woken must have been told, or they
	// come again.
	Wake(ctx context.Context, now time.Time, lease time.Duration, limit int) (due []Pending, next time.Time, err error)
	// Woken notes that requests that Wake returned are in the log. One that was
	// carried out since, and put off again, is left as it is.
	Woken(ctx context.Context, requests []Pending) error
	// Settle ends the requests of entities, up to and including a version.
	Settle(ctx context.Context, locks []Lock) error
	// Standings tells, in the order of the entities, what is known of each.
	Standings(ctx context.Context, entities []Entity) ([]Standing, error)
	// Unfinished lists up to limit requests of a priority that are in the log,
	// after a cursor ("" begins with the first), and returns the last one's.
	Unfinished(ctx context.Context, p domain.Priority, after string, limit int) (requests []Pending, last string, err error)
	// Waiting counts the requests that wait for an instant.
	Waiting(ctx context.Context) (int64, error)
}

// Marks keeps up to where other parts have come.
type Marks interface {
	// LogEpoch returns what SetLogEpoch was last told of a topic, "" at first.
	LogEpoch(ctx context.Context, topic string) (string, error)
	SetLogEpoch(ctx context.Context, topic, epoch string) error
	// VersionMark is what RaiseVersionMark was told, the largest of all, and at
	// least as large as every version that was stored before there was a mark.
	VersionMark(ctx context.Context) (int64, error)
	RaiseVersionMark(ctx context.Context, version int64) error
}

// Standing is what the store knows of an entity that is about to be refreshed.
type Standing struct {
	// Seen is the version of the last refresh, also if it found nothing new; 0 if
	// there was none. CheckedAt is when that was.
	Seen      int64
	CheckedAt time.Time
	// Failed is the version that was given up, 0 if none was since.
	Failed int64
	// Request is the version of the request that is kept; 0 if none is.
	Request   int64
	Priority  domain.Priority
	Waits     int
	NotBefore time.Time
}

// dealtWith reports whether what an event asks for was done, or given up, by it
// or by a later one. A later version whose look was before the event is of a
// clock that was set back since.
func (s Standing) dealtWith(e Event) bool {
	later := s.Seen > e.Version && !s.CheckedAt.Before(e.RequestedAt.Truncate(time.Microsecond))
	return s.Seen == e.Version || later || s.Failed >= e.Version
}

// putOff reports whether the upstream was asked for what an event wants and
// wanted to be asked again later: the request that waits stands for the event,
// unless the event is that request, come back, or more urgent.
func (s Standing) putOff(e Event, now time.Time) bool {
	return s.NotBefore.After(now) && s.Waits > e.Waits && s.Priority >= e.Priority
}

// superseded reports whether a later and more urgent request of the same entity is
// in the log: it serves what an event asks for as well.
func (s Standing) superseded(e Event) bool {
	return s.Request > e.Version && s.Priority > e.Priority && s.NotBefore.IsZero()
}

// ClockSkew is by how much the clocks of machines may differ. What is further
// ahead was written before a clock was set back.
const ClockSkew = time.Minute

// LaterLook is when an entity counts as looked at last, in microseconds: at the
// later of two instants, as the look of an earlier version may have been the
// later one; but not in a future that a clock was taken back from. Now is what that
// clock shows: whoever was held up comes with an old look, and with the time of day.
func LaterLook(stored, at, now int64) int64 {
	if stored-max(at, now) > ClockSkew.Microseconds() {
		return at
	}
	return max(stored, at)
}
