package access

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"sluice/internal/batch"
	"sluice/internal/domain"
)

const (
	// DefaultKeepAudit is how long entries are kept unless told otherwise.
	DefaultKeepAudit = 90 * 24 * time.Hour
	// recordPatience is how long an answer waits for its entry.
	recordPatience = 5 * time.Second
	// mostRecorded is how many entries go into one statement.
	mostRecorded = 100
	// removeEvery is how often old entries are looked for, at the most, and
	// mostRemoved how many are removed each time.
	removeEvery = 10 * time.Minute
	mostRemoved = 5000
	// mostEntries is the largest page.
	mostEntries = 1000
)

// AuditOptions configures Audit.
type AuditOptions struct {
	Store AuditStore
	// Keep is how long entries are kept; 0 means DefaultKeepAudit, negative for
	// ever.
	Keep time.Duration
	// Now is the clock; time.Now if nil.
	Now func() time.Time
	Log *slog.Logger
}

// Audit is the log of changes. It has no goroutine while nothing changes. It is
// safe for concurrent use.
type Audit struct {
	options AuditOptions
	group   *batch.Group[Entry]

	mu      sync.Mutex
	removed time.Time
}

// NewAudit returns the log in a store.
func NewAudit(o AuditOptions) *Audit {
	if o.Keep == 0 {
		o.Keep = DefaultKeepAudit
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	a := &Audit{options: o}
	a.group = batch.New(mostRecorded, func(ctx context.Context, items []*Entry) error {
		entries := make([]Entry, len(items))
		for i, e := range items {
			entries[i] = *e
		}
		return o.Store.Record(WithoutTrail(ctx), entries...)
	})
	return a
}

// Begin begins the entry of a request.
func (a *Audit) Begin(who Identity, address, action, target string) *Trail {
	return NewTrail(a.options.Now(), who, address, action, target)
}

// End notes what a request is answered, before it is. If the log does not take
// it, the service's own log has the entry; what was changed stays so.
func (a *Audit) End(ctx context.Context, t *Trail, status int) {
	entry, nothing := t.end(status)
	if nothing {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordPatience)
	defer cancel()
	if err := a.group.Do(ctx, &entry); err != nil {
		a.options.Log.ErrorContext(ctx, "the audit log does not take an entry", "id", entry.ID, "at", entry.At, "actor", entry.Actor,
			"address", entry.Address, "action", entry.Action, "target", entry.Target, "status", entry.Status, "error", err)
		return
	}
	a.removeOld(ctx)
}

// removeOld removes some of what is older than it is to be kept, now and then.
func (a *Audit) removeOld(ctx context.Context) {
	if a.options.Keep < 0 || !a.timeToRemove() {
		return
	}
	before := firstID(a.options.Now().Add(-a.options.Keep))
	if _, err := a.options.Store.RemoveEntries(WithoutTrail(ctx), before, mostRemoved); err != nil {
		a.options.Log.WarnContext(ctx, "old entries of the audit log cannot be removed; trying again later", "error", err)
	}
}

func (a *Audit) timeToRemove() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := a.options.Now()
	if since := now.Sub(a.removed); since >= 0 && since < removeEvery {
		return false
	}
	a.removed = now
	return true
}

// Search asks for a page of the log.
type Search struct {
	// Since and Until bound when entries began; zero means no bound. What began at
	// Until itself is not part of it.
	Since, Until time.Time
	Actor        string
	Action       string
	// Cursor is where the page before ended; "" asks for the first one.
	Cursor string
	Limit  int
}

// Entries returns a page of the log, newest first, and where the next begins, ""
// if there is none.
func (a *Audit) Entries(ctx context.Context, s Search) (entries []Entry, next string, err error) {
	q := Query{Actor: s.Actor, Action: s.Action, Limit: min(max(s.Limit, 1), mostEntries) + 1}
	if s.Cursor != "" {
		if err := CheckCursor(s.Cursor); err != nil {
			return nil, "", err
		}
		q.Before = s.Cursor
	}
	if !s.Since.IsZero() {
		q.From = firstID(s.Since)
	}
	if until := firstID(s.Until); !s.Until.IsZero() && (q.Before == "" || until < q.Before) {
		q.Before = until
	}
	if !s.Since.IsZero() && !s.Until.IsZero() && !s.Until.After(s.Since) {
		return nil, "", domain.Errorf(domain.CodeInvalid, "until must be later than since")
	}
	entries, err = a.options.Store.Entries(ctx, q)
	if err == nil && len(entries) == q.Limit {
		entries = entries[:q.Limit-1]
		next = entries[len(entries)-1].ID
	}
	return entries, next, err
}
