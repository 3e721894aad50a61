package access

import (
	"context"
	"sync"
	"time"
)

// Trail is the entry of one request on its way into the audit log. Whoever
// changes something for the request in SQL stores it in the same transaction
// (Due, Stored); the request's end brings the outcome.
type Trail struct {
	mu     sync.Mutex
	entry  Entry
	stored bool
	ended  bool
	// unchanged says that the request only asks what it would change.
	unchanged bool
}

// NewTrail begins an entry.
func NewTrail(at time.Time, who Identity, address, action, target string) *Trail {
	return &Trail{entry: Entry{
		ID: newID(at), At: at.UTC().Truncate(time.Microsecond), Actor: who.Actor, Role: who.Role,
		Address: address, Action: action, Target: target, Outcome: Unfinished,
	}}
}

type trailKey struct{}

// WithTrail lets what is done with a context be part of a request.
func WithTrail(ctx context.Context, t *Trail) context.Context {
	return context.WithValue(ctx, trailKey{}, t)
}

// TrailOf returns the request that a context is part of; nil if there is none,
// which is a trail that nothing is due of.
func TrailOf(ctx context.Context) *Trail {
	t, _ := ctx.Value(trailKey{}).(*Trail)
	return t
}

// WithoutTrail is for what is done on the occasion of a request, and not for it: a
// change that it makes leaves no entry.
func WithoutTrail(ctx context.Context) context.Context {
	return context.WithValue(ctx, trailKey{}, (*Trail)(nil))
}

// About says what the body of a request named, such as an account; never a
// secret. It is to be said before anything is changed.
func About(ctx context.Context, what string) {
	t := TrailOf(ctx)
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.entry.Target += " " + what
}

// Unchanged says that a request of a route that changes something only asks what it
// would change: if it is answered well, it leaves no entry.
func Unchanged(ctx context.Context) {
	t := TrailOf(ctx)
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.unchanged = true
}

// Due returns the entry, if it is not in the log yet and its request has not
// ended. A store that writes it says so by Stored, once that is committed.
func (t *Trail) Due() (Entry, bool) {
	if t == nil {
		return Entry{}, false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.entry.fit(), !t.stored && !t.ended && !t.unchanged
}

// Stored says that the entry is in the log.
func (t *Trail) Stored() {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.stored = true
}

// end closes the trail with the status that is answered, and returns the entry;
// nothing says that there is none to be kept.
func (t *Trail) end(status int) (e Entry, nothing bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ended = true
	t.entry.Status, t.entry.Outcome = status, OutcomeOf(status)
	return t.entry.fit(), t.unchanged && !t.stored && t.entry.Outcome == Done
}
