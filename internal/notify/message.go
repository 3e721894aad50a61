package notify

import (
	"time"

	"sluice/internal/domain"
	"sluice/internal/webhook"
)

// State is how far a message is.
type State int

// The states. A message that waits is gathered, due, or claimed; which of them,
// Due and Attempt tell.
const (
	Waiting State = iota + 1
	Sent
	// Dead is a message that was given up; somebody may have it tried again.
	Dead
)

var stateNames = map[State]string{Waiting: "waiting", Sent: "sent", Dead: "dead"}

// String returns the name that people and APIs see.
func (s State) String() string { return stateNames[s] }

// ParseState is the inverse of String; "" is any state, 0.
func ParseState(name string) (State, error) {
	for s, known := range stateNames {
		if known == name {
			return s, nil
		}
	}
	if name == "" {
		return 0, nil
	}
	return 0, domain.Errorf(domain.CodeInvalid, "%q is not a state of a notification; it is waiting, sent or dead", name)
}

const (
	// gatherTime is how long the first event of a message waits for others, unless
	// its target wants to hear more often.
	gatherTime = 10 * time.Second
	// maxSamples is how many events a message tells one by one; the others are
	// counted.
	maxSamples = 10
	// lease is how long a claim holds: longer than an attempt can take.
	lease = 2 * time.Minute
)

// Message is what one target is told of one kind.
type Message struct {
	// ID is the same for every attempt, so that a receiver can tell what it has.
	ID     string
	Target string
	Kind   Kind
	State  State
	// Due is when something is to be done: when it is to be sent, or when the
	// claim of who sends it runs out. It is zero when nothing is.
	Due time.Time
	// Attempt counts the claims; who settles names the one it has. A message that
	// was claimed takes no more events: each attempt says the same.
	Attempt int64
	// Tries counts failures.
	Tries int
	Error string
	// CreatedAt is when it was begun, EndedAt when it was sent or given up.
	CreatedAt, EndedAt time.Time
	Digest
}

// Digest is what a message says.
type Digest struct {
	// Count is how many events there were; Events are the first of them.
	Count  int64     `json:"count"`
	Last   time.Time `json:"last"`
	Events []Event   `json:"events"`
}

// Begin is a message without events. It is due when it has gathered, and no
// sooner than the pace of its target allows.
func Begin(id, target string, kind Kind, now, pace time.Time, every time.Duration) Message {
	due := now.Add(min(gatherTime, every))
	if pace.After(due) {
		due = pace
	}
	return Message{ID: id, Target: target, Kind: kind, State: Waiting, Due: due, CreatedAt: now}
}

// Open says whether a message takes more events.
func (m *Message) Open() bool { return m.State == Waiting && m.Attempt == 0 }

// Add takes an event in.
func (m *Message) Add(e Event) {
	m.Count++
	if e.At.After(m.Last) {
		m.Last = e.At
	}
	if len(m.Events) < maxSamples {
		e.Text = clip(e.Text)
		m.Events = append(m.Events, e)
	}
}

// Claim begins an attempt, if the message is as its claimer saw it and is due.
func (m *Message) Claim(seen int64, now time.Time) bool {
	if m.State != Waiting || m.Attempt != seen || m.Due.IsZero() || m.Due.After(now) {
		return false
	}
	m.Attempt++
	m.Due = now.Add(lease)
	return true
}

// Settlement is what became of an attempt.
type Settlement struct {
	ID      string
	Attempt int64
	At      time.Time
	webhook.Result
}

// Apply settles a message, unless another attempt was begun since.
func (s Settlement) Apply(m *Message) bool {
	if m.State != Waiting || m.Attempt != s.Attempt {
		return false
	}
	m.Error = s.Error
	if s.OK {
		m.State, m.Due, m.EndedAt, m.Error = Sent, time.Time{}, s.At, ""
		return true
	}
	m.Tries++
	if s.Permanent || m.Tries >= webhook.MaxTries {
		m.State, m.Due, m.EndedAt = Dead, time.Time{}, s.At
		return true
	}
	m.Due = s.At.Add(max(webhook.Backoff(m.Tries), s.RetryAfter))
	return true
}

// Retry lets a message that was given up be tried again.
func (m *Message) Retry(now time.Time) error {
	if m.State != Dead {
		return domain.Errorf(domain.CodeConflict, "notification %s is %s; only one that was given up can be tried again", m.ID, m.State)
	}
	m.State, m.Tries, m.Due, m.EndedAt = Waiting, 0, now, time.Time{}
	return nil
}

// Missing is the error of a message that is not there.
func Missing(id string) error {
	return domain.Errorf(domain.CodeNotFound, "there is no notification %s; `sluice notify list` shows those that there are", id)
}
