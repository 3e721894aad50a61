package refresh

import (
	"cmp"
	"context"
	"encoding/hex"
	"encoding/json"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"sluice/internal/domain"
)

// Cached is what is known of an entity without asking anybody.
type Cached struct {
	Snapshot
	Found  bool
	Status *Status
}

// Cache answers reads without the store, where it can.
type Cache interface {
	// Get returns what is cached, or what load returns. Concurrent callers for
	// one entity share one load.
	Get(ctx context.Context, e Entity, load func(context.Context) (Cached, error)) (Cached, error)
	// Forget drops what is cached of entities that have changed, in every
	// process.
	Forget(ctx context.Context, changes ...Change)
}

// Change says that something was stored of an entity.
type Change struct {
	Entity
	// CheckedAt is that of the snapshot by now, or earlier; zero if it is not
	// known, or if something else has changed.
	CheckedAt time.Time
}

// Wait tells how long a refresh takes that is asked for now; false if nobody
// knows.
type Wait interface {
	Estimate(p domain.Priority) (time.Duration, bool)
}

// QueryOptions are what a Query works with.
type QueryOptions struct {
	Snapshots Snapshots
	Cache     Cache
	Requester *Requester
	// Wait may be nil.
	Wait Wait
	// FreshFor is how long a value counts as fresh; default 1 h.
	FreshFor time.Duration
	// FailedFor is how long an entity is left alone that failed for good;
	// default 10 min.
	FailedFor time.Duration
	// AskedFor is how long after asking once nobody asks again; default 30 s,
	// which is how long the lock of a HIGH request lasts.
	AskedFor time.Duration
	Now      func() time.Time
	Slog     *slog.Logger
}

// Query answers reads. It never calls the upstream and never waits for the log:
// what has to be refreshed is asked for behind the reader's back.
type Query struct {
	QueryOptions
	asked    *recent
	read     *recent
	wishes   chan wish
	reads    chan Read
	Counters QueryCounters
}

// QueryCounters count since the query was made.
type QueryCounters struct {
	Fresh, Stale, Updating, NotFound, Dropped atomic.Int64
}

type wish struct {
	entity Entity
	reason Reason
}

const (
	wishQueue = 10_000
	wishBatch = 100
	readQueue = 10_000
	readBatch = 500
	// readNoted is how long after a read another of the same entity tells
	// nothing new.
	readNoted = 10 * time.Minute
	// readDelay gathers reads before they are written down.
	readDelay = 2 * time.Second
)

// NewQuery returns a query; Run does what it leaves for later.
func NewQuery(o QueryOptions) *Query {
	o.FreshFor, o.FailedFor = cmp.Or(o.FreshFor, time.Hour), cmp.Or(o.FailedFor, 10*time.Minute)
	// What is asked for is remembered for up to twice as long, and must be
	// forgotten when the value is stale again.
	o.AskedFor = min(cmp.Or(o.AskedFor, 30*time.Second), o.FreshFor/2)
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Slog == nil {
		o.Slog = slog.New(slog.DiscardHandler)
	}
	return &Query{
		QueryOptions: o, asked: newRecent(o.AskedFor), read: newRecent(readNoted),
		wishes: make(chan wish, wishQueue), reads: make(chan Read, readQueue),
	}
}

// Get answers a read.
func (q *Query) Get(ctx context.Context, e Entity) (Answer, error) {
	known, err := q.Cache.Get(ctx, e, func(ctx context.Context) (Cached, error) { return q.load(ctx, e) })
	if err != nil {
		return Answer{}, err
	}
	now := q.Now()
	a := Answer{Entity: e, Snapshot: json.RawMessage("null"), Status: known.Status}
	if known.Found {
		a.Snapshot, a.LastUpdatedAt, a.LastCheckedAt = known.Body, known.UpdatedAt, known.CheckedAt
		a.ETag = `"` + hex.EncodeToString(known.Hash[:16]) + `"`
		q.noteRead(e, now)
	}
	if known.Found && now.Sub(known.CheckedAt) < q.FreshFor {
		a.Freshness = Fresh
		q.Counters.Fresh.Add(1)
		return a, nil
	}
	before, queued := q.wish(e, known, now)
	a.UpdateQueued = queued
	switch {
	case known.Found:
		a.Freshness = Stale
		q.Counters.Stale.Add(1)
	case before, known.Status != nil && known.Status.Code == StatusRetrying:
		a.Freshness = Updating
		q.Counters.Updating.Add(1)
	default:
		a.Freshness = NotFound
		q.Counters.NotFound.Add(1)
	}
	if queued && q.Wait != nil {
		if d, ok := q.Wait.Estimate(domain.PriorityHigh); ok {
			ms := d.Milliseconds()
			a.EstimatedWaitMs = &ms
		}
	}
	return a, nil
}

func (q *Query) load(ctx context.Context, e Entity) (Cached, error) {
	snapshot, found, status, err := q.Snapshots.Snapshot(ctx, e)
	return Cached{Snapshot: snapshot, Found: found, Status: status}, err
}

// wish asks for a refresh behind the reader's back, unless that was done just
// now or is pointless. It reports whether it was asked for before, and whether
// it is now.
func (q *Query) wish(e Entity, known Cached, now time.Time) (before, queued bool) {
	if s := known.Status; s != nil && s.Code == StatusFailed && now.Sub(s.At) < q.FailedFor {
		return false, false
	}
	if !q.asked.first(e, now) {
		return true, true
	}
	reason := ReasonCacheMiss
	if known.Found {
		reason = ReasonStale
	}
	select {
	case q.wishes <- wish{e, reason}:
		return false, true
	default:
		// The next reader asks again.
		q.asked.forget(e)
		q.Counters.Dropped.Add(1)
		return false, false
	}
}

func (q *Query) noteRead(e Entity, now time.Time) {
	if !q.read.first(e, now) {
		return
	}
	select {
	case q.reads <- Read{e, now}:
	default:
		q.read.forget(e)
	}
}

// Run publishes what readers wished for and writes down what they read, until
// ctx ends.
func (q *Query) Run(ctx context.Context) {
	var work sync.WaitGroup
	work.Go(func() { q.publish(ctx) })
	work.Go(func() { q.writeReads(ctx) })
	work.Wait()
}

func (q *Query) publish(ctx context.Context) {
	for {
		wishes := gather(ctx, q.wishes, wishBatch, 0)
		if len(wishes) == 0 {
			return
		}
		for _, reason := range []Reason{ReasonCacheMiss, ReasonStale} {
			var entities []Entity
			for _, w := range wishes {
				if w.reason == reason {
					entities = append(entities, w.entity)
				}
			}
			q.ask(ctx, entities, reason)
		}
	}
}

func (q *Query) ask(ctx context.Context, entities []Entity, reason Reason) {
	if len(entities) == 0 {
		return
	}
	_, err := q.Requester.Request(ctx, Request{Entities: entities, Priority: domain.PriorityHigh, Reason: reason})
	if err == nil || ctx.Err() != nil {
		return
	}
	q.Slog.Warn("refreshes that readers wish for cannot be published", "entities", len(entities), "error", err)
	for _, e := range entities {
		q.asked.forget(e)
	}
}

func (q *Query) writeReads(ctx context.Context) {
	for {
		reads := gather(ctx, q.reads, readBatch, readDelay)
		if len(reads) == 0 {
			return
		}
		if err := q.Snapshots.Read(ctx, reads); err != nil && ctx.Err() == nil {
			// They are read again.
			q.Slog.Warn("reads cannot be written down", "reads", len(reads), "error", err)
		}
	}
}

// gather waits for the first of a channel and takes along what follows within a
// delay, up to a number. It returns none when ctx ends.
func gather[T any](ctx context.Context, from <-chan T, most int, delay time.Duration) []T {
	var items []T
	select {
	case first := <-from:
		items = append(items, first)
	case <-ctx.Done():
		return nil
	}
	timer := time.NewTimer(delay)
	defer timer.Stop()
	for len(items) < most {
		select {
		case next := <-from:
			items = append(items, next)
			continue
		default:
		}
		if delay == 0 {
			return items
		}
		select {
		case next := <-from:
			items = append(items, next)
		case <-timer.C:
			return items
		case <-ctx.Done():
			return items
		}
	}
	return items
}
