// Package refresh keeps snapshots of keyed records fresh under a hard rate, and
// serves them at any load. A request to renew one is coalesced, published to a
// log, and carried out by a worker; reading never calls the upstream and never
// waits for the log.
package refresh

import (
	"encoding/json"
	"time"

	"sluice/internal/domain"
)

// Entity names a keyed record that is kept fresh.
type Entity struct {
	Source string `json:"source"`
	Key    string `json:"key"`
}

// String is what logs and locks call it.
func (e Entity) String() string { return e.Source + "/" + e.Key }

// Reason says why a refresh was asked for.
type Reason string

// The reasons.
const (
	ReasonCacheMiss   Reason = "CACHE_MISS"
	ReasonStale       Reason = "STALE"
	ReasonPrefetch    Reason = "PREFETCH"
	ReasonUserRequest Reason = "USER_REQUEST"
	ReasonRedrive     Reason = "REDRIVE"
)

// promised reports whether somebody was told that the refresh was accepted. What
// readers and the prefetch want comes again by itself.
func (r Reason) promised() bool { return r == ReasonUserRequest || r == ReasonRedrive }

// SchemaVersion is that of the events this program writes.
const SchemaVersion = "1.1"

// Event is a request to renew a snapshot, as it is in the log.
type Event struct {
	SchemaVersion string `json:"schemaVersion"`
	EventID       string `json:"eventId"`
	Entity
	Priority    domain.Priority `json:"priority"`
	Reason      Reason          `json:"reason"`
	RequestedAt time.Time       `json:"requestedAt"`
	// CorrelationID leads from a user's request to its log lines.
	CorrelationID string `json:"correlationId,omitempty"`
	// Version grows with every request for the entity: an event is obsolete
	// when a newer one is under way, and never overwrites what that stored.
	Version int64 `json:"version"`
	// Waits is how often the upstream has put the request off.
	Waits int `json:"waits,omitempty"`
}

// Lock returns the lock that the event was published under.
func (e Event) Lock() Lock { return Lock{Entity: e.Entity, Priority: e.Priority, Version: e.Version} }

// Encode writes an event.
func (e Event) Encode() ([]byte, error) { return json.Marshal(e) }

// DecodeEvent reads an event. Fields that it does not know mean nothing; what
// names no entity or no version is an error of code invalid. An event of another
// program may name a character by its ocid alone: then it has no source and no
// version, for other programs count differently, and whoever takes it finds them.
func DecodeEvent(text []byte) (Event, error) {
	var e struct {
		Event
		Ocid string `json:"ocid"`
	}
	if err := json.Unmarshal(text, &e); err != nil {
		return e.Event, domain.Errorf(domain.CodeInvalid, "an event cannot be read: %w", err)
	}
	if e.Source == "" && e.Key == "" && e.Ocid != "" {
		e.Key, e.Version = e.Ocid, 0
		return e.Event, nil
	}
	if e.Source == "" || e.Key == "" || e.Version <= 0 {
		return e.Event, domain.Errorf(domain.CodeInvalid, "an event lacks its entity or its version")
	}
	return e.Event, nil
}

// Tier is how eagerly an entity is kept fresh.
type Tier uint8

// The tiers: the more an entity is read, the fresher it is kept.
const (
	Cold Tier = iota + 1
	Warm
	Hot
)

// Snapshot is the last known value of an entity.
type Snapshot struct {
	Entity
	// Body is the trimmed value in its canonical form.
	Body []byte
	Hash Hash
	// Version is that of the event that stored Body.
	Version int64
	// CheckedAt is when the upstream was asked last, UpdatedAt when the value
	// was seen to have changed.
	CheckedAt, UpdatedAt time.Time
	Tier                 Tier
}

// Hash is SHA-256 over the canonical form of a body.
type Hash [32]byte

// StatusCode is what is wrong with an entity.
type StatusCode string

// Only what is wrong has a status.
const (
	StatusRetrying StatusCode = "RETRYING"
	StatusFailed   StatusCode = "FAILED"
)

// Status tells of an entity whose refresh did not succeed.
type Status struct {
	Entity
	Code  StatusCode `json:"code"`
	Tries int        `json:"tries"`
	// ErrorCode is short, such as OPENAPI00009; Error is for people.
	ErrorCode string    `json:"error_code,omitempty"`
	Error     string    `json:"error"`
	At        time.Time `json:"at"`
	// NextRetryAt is when the upstream is asked again; zero if it is not.
	NextRetryAt time.Time `json:"next_retry_at,omitzero"`
}
