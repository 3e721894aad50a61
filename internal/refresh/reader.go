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

	"sluice/internal/batch"
	"sluice/internal/domain"
	"sluice/internal/source"
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

// Wait tells how long a refresh of a source takes that is asked for now; false if
// nobody knows.
type Wait interface {
	Estimate(source string, p domain.Priority) (time.Duration, bool)
	// Quiet reports whether a refresh that is asked for now waits for no other;
	// Served tells how long one took that did not.
	Quiet(source string, p domain.Priority) bool
	Served(source string, p domain.Priority, d time.Duration)
}

// ReaderOptions are what a Reader works with.
type ReaderOptions struct {
	Snapshots Entities
	Requests  Requests
	Cache     Cache
	Requester *Requester
	// Wait may be nil.
	Wait Wait
	// FreshFor is how long a value counts as fresh; default 1 h.
	FreshFor time.Duration
	// Pace, if set, is how fresh one entity is kept; for the zero one it is as above.
	Pace func(e Entity) source.Pace
	// FailedFor is how long an entity is left alone that failed for good;
	// default 10 min.
	FailedFor time.Duration
	// AskedFor is how long after asking once nobody asks again; default 30 s,
	// which is how long the lock of a HIGH request lasts.
	AskedFor time.Duration
	Now      func() time.Time
	Slog     *slog.Logger
}

// Reader answers reads. It never calls the upstream and never waits for the log:
// what has to be refreshed is asked for in the background.
type Reader struct {
	ReaderOptions
	asked    *recent
	read     *recent
	latest   latest
	requests chan refreshRequest
	reads    chan Read
	watched  watched
	Counters ReaderCounters
}

// ReaderCounters count since the reader was made.
type ReaderCounters struct {
	Fresh, Stale, Updating, NotFound, Dropped atomic.Int64
}

type refreshRequest struct {
	entity Entity
	reason Reason
}

const (
	requestQueue = 10_000
	requestBatch = 100
	readQueue    = 10_000
	readBatch    = 500
	// readNoted is how long after a read another of the same entity tells
	// nothing new.
	readNoted = 10 * time.Minute
	// readDelay gathers reads before they are stored.
	readDelay = 2 * time.Second
)

// NewReader returns a reader; Run does what it leaves for later.
func NewReader(o ReaderOptions) *Reader {
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
	return &Reader{
		ReaderOptions: o, asked: newRecent(o.AskedFor), read: newRecent(readNoted),
		requests: make(chan refreshRequest, requestQueue), reads: make(chan Read, readQueue),
	}
}

// Get answers a read.
func (r *Reader) Get(ctx context.Context, e Entity) (Answer, error) {
	known, err := r.Cache.Get(ctx, e, func(ctx context.Context) (Cached, error) { return r.load(ctx, e) })
	if err != nil {
		return Answer{}, err
	}
	now := r.Now()
	a := Answer{Entity: e, Snapshot: json.RawMessage("null"), Status: known.Status}
	if known.Found {
		a.Snapshot, a.LastUpdatedAt, a.LastCheckedAt = known.Body, known.UpdatedAt, known.CheckedAt
		a.ETag = `"` + hex.EncodeToString(known.Hash[:16]) + `"`
		r.noteRead(e, now)
		if took, ok := r.watched.arrived(e, known.CheckedAt); ok {
			r.Wait.Served(e.Source, domain.PriorityHigh, took)
		}
	}
	// A look in the future was written before a clock was set back.
	if age := now.Sub(known.CheckedAt); known.Found && age < r.freshFor(e) && age >= -ClockSkew {
		a.Freshness = Fresh
		r.Counters.Fresh.Add(1)
		if at, asked := r.asked.at(e); asked && known.CheckedAt.Before(at) {
			a.UpdateQueued = true
			r.estimate(&a)
		}
		return a, nil
	}
	before, queued := r.requestRefresh(e, known, now)
	a.UpdateQueued = queued
	switch {
	case known.Found:
		a.Freshness = Stale
		r.Counters.Stale.Add(1)
	case before, known.Status != nil && known.Status.Code == StatusRetrying, r.requested(ctx, e):
		a.Freshness = Updating
		r.Counters.Updating.Add(1)
	default:
		a.Freshness = NotFound
		r.Counters.NotFound.Add(1)
	}
	if queued {
		r.estimate(&a)
	}
	return a, nil
}

// requestedTime is how long a reader of what is not there waits to hear whether
// it was asked for.
const requestedTime = 200 * time.Millisecond

// requested reports whether another process has accepted a request of an entity
// that is not there yet. What this one was asked for it knows by itself.
func (r *Reader) requested(ctx context.Context, e Entity) bool {
	limited, cancel := context.WithTimeout(ctx, requestedTime)
	defer cancel()
	standings, err := r.Requests.Standings(limited, []Entity{e})
	return err == nil && standings[0].Request > max(standings[0].Seen, standings[0].Failed)
}

// estimate says how long a refresh takes that is under way.
func (r *Reader) estimate(a *Answer) {
	if r.Wait == nil {
		return
	}
	if d, ok := r.Wait.Estimate(a.Source, domain.PriorityHigh); ok {
		ms := d.Milliseconds()
		a.EstimatedWaitMs = &ms
	}
}

// Asked notes that entities were asked for by others than readers: these are told
// that a refresh is under way.
func (r *Reader) Asked(entities []Entity) {
	now := r.Now()
	for _, e := range entities {
		r.asked.forget(e)
		r.asked.first(e, now)
		r.latest.add(e)
	}
}

// freshFor is how long a value of an entity counts as fresh.
func (r *Reader) freshFor(e Entity) time.Duration {
	if r.Pace == nil {
		return r.FreshFor
	}
	return cmp.Or(r.Pace(e).FreshFor, r.FreshFor)
}

func (r *Reader) load(ctx context.Context, e Entity) (Cached, error) {
	snapshot, found, status, err := r.Snapshots.Snapshot(ctx, e)
	return Cached{Snapshot: snapshot, Found: found, Status: status}, err
}

// requestRefresh asks for a refresh in the background, unless that was done just
// now or is pointless. It reports whether it was asked for before, and whether
// it is now.
func (r *Reader) requestRefresh(e Entity, known Cached, now time.Time) (before, queued bool) {
	if s := known.Status; s != nil && s.Code == StatusFailed && now.Sub(s.At) < r.FailedFor {
		return false, false
	}
	if !r.asked.first(e, now) {
		return true, true
	}
	reason := ReasonCacheMiss
	if known.Found {
		reason = ReasonStale
	}
	select {
	case r.requests <- refreshRequest{e, reason}:
		if r.Wait != nil && r.Wait.Quiet(e.Source, domain.PriorityHigh) {
			r.watched.asked(e, now)
		}
		return false, true
	default:
		// The next reader asks again.
		r.asked.forget(e)
		r.Counters.Dropped.Add(1)
		return false, false
	}
}

func (r *Reader) noteRead(e Entity, now time.Time) {
	if !r.read.first(e, now) {
		return
	}
	r.latest.add(e)
	select {
	case r.reads <- Read{e, now}:
	default:
		r.read.forget(e)
	}
}

// Run publishes what readers asked for and stores what they read, until
// ctx ends.
func (r *Reader) Run(ctx context.Context) {
	var work sync.WaitGroup
	work.Go(func() { r.publish(ctx) })
	work.Go(func() { r.storeReads(ctx) })
	work.Wait()
}

func (r *Reader) publish(ctx context.Context) {
	for {
		requests := batch.Receive(ctx, r.requests, requestBatch, 0)
		if len(requests) == 0 {
			return
		}
		for _, reason := range []Reason{ReasonCacheMiss, ReasonStale} {
			var entities []Entity
			for _, w := range requests {
				if w.reason == reason {
					entities = append(entities, w.entity)
				}
			}
			r.publishRequests(ctx, entities, reason)
		}
	}
}

func (r *Reader) publishRequests(ctx context.Context, entities []Entity, reason Reason) {
	if len(entities) == 0 {
		return
	}
	_, err := r.Requester.Request(ctx, Request{Entities: entities, Priority: domain.PriorityHigh, Reason: reason})
	if err == nil || ctx.Err() != nil {
		return
	}
	r.Slog.Warn("refreshes for readers cannot be published", "entities", len(entities), "error", err)
	for _, e := range entities {
		r.asked.forget(e)
	}
}

func (r *Reader) storeReads(ctx context.Context) {
	for {
		reads := batch.Receive(ctx, r.reads, readBatch, readDelay)
		if len(reads) == 0 {
			return
		}
		if err := r.Snapshots.Read(ctx, reads); err != nil && ctx.Err() == nil {
			// They are read again.
			r.Slog.Warn("the store does not take when entities were read", "reads", len(reads), "error", err)
		}
	}
}
