// Package timer is durable one-shot instants: anybody sets one, it fires once,
// on time, whatever dies. The row in the store is the only truth; the trigger
// is a hint that says which rows to look at now, and may lose everything.
//
// Firing moves the row from WAITING, once, by compare-and-set: that is the
// timer's one completion, whichever of many servers made it. What follows (the
// log in another store, hooks, a webhook) is done at least once, and a server
// that takes over from a dead one goes on with it.
package timer

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// Status is how far a timer is.
type Status uint8

// The states of a timer.
const (
	// Waiting: its instant has not come.
	Waiting Status = iota + 1
	// Delivering: it has fired; somebody is still to be told.
	Delivering
	// Completed: it has fired, and everybody was told.
	Completed
	// Dead: it has fired, and its webhook was given up. A person may have it
	// delivered again.
	Dead
	// Canceled: it will not fire.
	Canceled
)

var statusNames = [...]string{
	Waiting: "WAITING", Delivering: "DELIVERING", Completed: "COMPLETED", Dead: "DEAD", Canceled: "CANCELED",
}

// String returns the name that people and APIs see.
func (s Status) String() string {
	if int(s) < len(statusNames) && statusNames[s] != "" {
		return statusNames[s]
	}
	return fmt.Sprintf("unknown timer status %d", s)
}

// MarshalText implements encoding.TextMarshaler.
func (s Status) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (s *Status) UnmarshalText(b []byte) error {
	parsed, err := ParseStatus(string(b))
	*s = parsed
	return err
}

// HasFired reports whether the timer has its completion.
func (s Status) HasFired() bool { return s == Delivering || s == Completed || s == Dead }

// Spec is what somebody asks for.
type Spec struct {
	ID string `json:"id"`
	// At is the instant. One in the past fires at once.
	At time.Time `json:"at"`
	// In, if not zero, is how long after it is set; At is not looked at then.
	// Asking for the same again later is no other timer.
	In time.Duration `json:"-"`
	// Payload is any JSON, handed on as it is; none is nil.
	Payload json.RawMessage `json:"payload,omitempty"`
	// Webhook is told of the completion; "" for none.
	Webhook string `json:"webhook,omitempty"`
}

// Timer is a stored timer.
type Timer struct {
	Spec
	Status Status `json:"status"`
	// SetAt is when it was set, or rescheduled last.
	SetAt time.Time `json:"set_at"`
	// FiredAt and Server say when it fired and who did it.
	FiredAt time.Time `json:"fired_at,omitzero"`
	Server  string    `json:"server,omitempty"`
	// Tries counts the attempts to deliver it; Error is why the last failed.
	Tries int    `json:"tries,omitempty"`
	Error string `json:"error,omitempty"`
	// NextAt is when something is to be done with it: its instant, or the next
	// attempt to deliver it. Zero when nothing is.
	NextAt time.Time `json:"next_at,omitzero"`
}

// Completion is what is logged of a timer that has fired.
type Completion struct {
	Timer   string    `json:"timer"`
	Due     time.Time `json:"due"`
	FiredAt time.Time `json:"fired"`
	// Server is who fired it.
	Server string `json:"server"`
	// Lateness is how long after its instant it fired, or after it was set if
	// the instant was past by then.
	Lateness time.Duration `json:"lateness_ns"`
	// Late marks one that was missed and fired when that was noticed.
	Late bool `json:"late"`
	// Success is false while it is being delivered, and when that was given up.
	Success bool            `json:"success"`
	Status  Status          `json:"status"`
	Tries   int             `json:"tries,omitempty"`
	Error   string          `json:"error,omitempty"`
	Payload json.RawMessage `json:"payload,omitempty"`
	// Record is what the store calls it, if that is not the timer's id: one that
	// was used again. Whoever pages goes on after that.
	Record string `json:"-"`
	// Position is its place among all completions, where it was asked for by
	// that; 0 otherwise.
	Position int64 `json:"-"`
}

// LateAfter is the lateness from which a completion is marked as late.
const LateAfter = time.Second

// Completion returns the completion of a timer that has fired.
func (t Timer) Completion() Completion {
	c := Completion{
		Timer: t.ID, Due: t.At, FiredAt: t.FiredAt, Server: t.Server, Status: t.Status, Tries: t.Tries, Error: t.Error,
		Payload: t.Payload, Success: t.Status == Completed,
	}
	if name, _, retired := strings.Cut(t.ID, retiredMark); retired {
		c.Timer, c.Record = name, t.ID
	}
	from := t.At
	if t.SetAt.After(from) {
		from = t.SetAt
	}
	c.Lateness = max(0, t.FiredAt.Sub(from))
	c.Late = c.Lateness > LateAfter
	return c
}

// Retention is how long timers that need nothing any more are kept, and their
// completions with them.
const Retention = 30 * 24 * time.Hour
