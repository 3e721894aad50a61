package refresh

import (
	"encoding/json"
	"io"
	"time"
)

// Freshness is how much an answer can be relied on.
type Freshness string

// The kinds of answers.
const (
	// Fresh: the upstream was asked not long ago.
	Fresh Freshness = "FRESH"
	// Stale: it is the last known value, and a newer one was asked for.
	Stale Freshness = "STALE"
	// Updating: there is none yet, and it was asked for before.
	Updating Freshness = "UPDATING"
	// NotFound: there is none, and nobody asked before.
	NotFound Freshness = "NOT_FOUND"
)

// Answer is what a reader gets.
type Answer struct {
	Entity
	// Snapshot is the last known value; null if there is none.
	Snapshot      json.RawMessage `json:"snapshot"`
	Freshness     Freshness       `json:"freshness"`
	LastUpdatedAt time.Time       `json:"lastUpdatedAt,omitzero"`
	LastCheckedAt time.Time       `json:"lastCheckedAt,omitzero"`
	// UpdateQueued is whether a refresh was asked for and is not done.
	UpdateQueued bool `json:"updateQueued"`
	// EstimatedWaitMs is about how long that will take; null if nobody knows, as
	// where records of several sources are kept and some of them wait.
	EstimatedWaitMs *int64 `json:"estimatedWaitMs"`
	// Status tells what is wrong with the entity, if anything is.
	Status *Status `json:"status,omitempty"`
	// ETag changes with the value.
	ETag string `json:"-"`
}

// WriteJSON writes what json.Marshal makes of the answer, without going through
// the snapshot: it was written by json once, and is by far the largest part.
func (a *Answer) WriteJSON(w io.Writer) error {
	head, err := json.Marshal(struct {
		*Answer
		// It stands before the field of the same name that is written by hand.
		Snapshot *struct{} `json:"snapshot,omitempty"`
	}{Answer: a})
	if err != nil {
		return err
	}
	snapshot := a.Snapshot
	if len(snapshot) == 0 {
		snapshot = json.RawMessage("null")
	}
	for _, part := range [][]byte{head[:len(head)-1], []byte(`,"snapshot":`), snapshot, []byte("}\n")} {
		if _, err := w.Write(part); err != nil {
			return err
		}
	}
	return nil
}
