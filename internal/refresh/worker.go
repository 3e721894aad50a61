package refresh

import (
	"cmp"
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"sluice/internal/backoff"
	"sluice/internal/batch"
	"sluice/internal/domain"
	"sluice/internal/quota/rate"
	"sluice/internal/traces"
)

// WorkerOptions are what a Worker works with. All but the numbers are needed.
type WorkerOptions struct {
	Log       EventLog
	Coalescer Coalescer
	Snapshots Entities
	Requests  Requests
	Letters   DeadLetters
	Rate      rate.Keeper
	// Fetchers are the upstreams by source.
	Fetchers map[string]Fetcher
	// Store and Upstreams, by source, keep the worker away from what fails.
	Store     *backoff.Breaker
	Upstreams map[string]*backoff.Breaker
	// Stored, if set, is told what was saved, so that caches forget it.
	Stored func(ctx context.Context, changes []Change)
	// Parked, if set, is told that a request was put off.
	Parked func()
	// Buried, if set, is told when a dead letter was kept. It does not wait.
	Buried func(at time.Time)
	// Tracer traces refreshes; nil traces nothing.
	Tracer *traces.Tracer
	// Lags, if set, is told how fast the worker is, and keeps LOW back while
	// HIGH lags.
	Lags *Lags
	// HighInFlight and LowInFlight bound the events under way; default 256
	// each.
	HighInFlight, LowInFlight int
	// Tries is how often an upstream that fails is asked; default 3.
	Tries int
	// Backoff is the delay after the first failure; it doubles. Default 500 ms.
	Backoff time.Duration
	// StopTimeout is how long calls that are under way may take to end when the
	// worker stops; default 10 s.
	StopTimeout time.Duration
	// ID names the worker in dead letters.
	ID   string
	Now  func() time.Time
	Slog *slog.Logger
}

// WorkerCounters count since the worker was made.
type WorkerCounters struct {
	Taken, Obsolete, Calls, Stored, Touched, Retried, Dead, Waited, Late atomic.Int64
	Received, Kept                                                       atomic.Int64
	// Parked counts the requests that the upstream has put off.
	Parked atomic.Int64
}

// Worker carries out refreshes: obsolete? reserve, call, save, done, release.
type Worker struct {
	WorkerOptions
	// saves gather results: those of HIGH in small groups, so that none waits for
	// many others.
	saves map[domain.Priority]*batch.Group[save]
	parks *batch.Group[park]
	calls calls
	// needs are the records that somebody asks for because another one needs them.
	needs    needs
	counters WorkerCounters
	late     lateness
}

const (
	highBatch = 20
	lowBatch  = 100
	// savePatience lets results that come together be saved together.
	savePatience = 2 * time.Millisecond
	// highSaves and lowSaves let values be compressed while others are being
	// written: about as many values of each.
	highSaves = 12
	lowSaves  = 3
)

// NewWorker returns a worker that does not run yet.
func NewWorker(o WorkerOptions) (*Worker, error) {
	if o.Log == nil || o.Coalescer == nil || o.Snapshots == nil || o.Requests == nil || o.Letters == nil || o.Rate == nil || o.Store == nil || len(o.Upstreams) != len(o.Fetchers) || len(o.Fetchers) == 0 {
		return nil, domain.Errorf(domain.CodeInvalid, "a refresh worker needs a log, a coalescer, snapshots, a rate, breakers and an upstream")
	}
	o.HighInFlight, o.LowInFlight = cmp.Or(o.HighInFlight, 256), cmp.Or(o.LowInFlight, 256)
	o.Tries, o.Backoff, o.StopTimeout = cmp.Or(o.Tries, 3), cmp.Or(o.Backoff, 500*time.Millisecond), cmp.Or(o.StopTimeout, 10*time.Second)
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Slog == nil {
		o.Slog = slog.New(slog.DiscardHandler)
	}
	w := &Worker{WorkerOptions: o, saves: map[domain.Priority]*batch.Group[save]{}}
	w.saves[domain.PriorityHigh] = batch.New(highBatch, w.applySaves).Patient(savePatience).Trips(highSaves)
	w.saves[domain.PriorityLow] = batch.New(lowBatch, w.applySaves).Patient(savePatience).Trips(lowSaves)
	w.parks = batch.New(lowBatch, w.applyParks).Patient(savePatience)
	return w, nil
}

// Counters returns the worker's counters.
func (w *Worker) Counters() *WorkerCounters { return &w.counters }

// Run works until ctx ends. Then nothing more is taken or called for; calls that
// are under way end, and what they bring is stored, within StopTimeout.
func (w *Worker) Run(ctx context.Context) {
	working, abandon := context.WithCancel(context.WithoutCancel(ctx))
	defer abandon()
	var patience *time.Timer
	stopped := make(chan struct{})
	defer context.AfterFunc(ctx, func() {
		patience = time.AfterFunc(w.StopTimeout, abandon)
		close(stopped)
	})()
	var consumers sync.WaitGroup
	for _, l := range []*consumer{
		{topic: TopicHigh, group: HighWorkers, priority: domain.PriorityHigh, size: highBatch, inFlight: w.HighInFlight},
		{topic: TopicLow, group: LowWorkers, priority: domain.PriorityLow, size: lowBatch, inFlight: w.LowInFlight},
	} {
		l.Worker = w
		consumers.Go(func() { l.serve(ctx, working) })
	}
	consumers.Wait()
	<-stopped
	patience.Stop()
}

// calls are the tasks whose call is under way, by entity.
type calls struct {
	mu sync.Mutex
	by map[Entity]*task
}

// begin notes that a task is about to call. If a call is under way that began
// after what the task asks for was asked, the task follows it instead: it ends
// when that one does.
func (c *calls) begin(t *task) (follows bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.join(t) {
		return true
	}
	if c.by == nil {
		c.by = map[Entity]*task{}
	}
	c.by[t.event.Entity] = t
	return false
}

// follow is begin for a task that is not about to call yet.
func (c *calls) follow(t *task) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.join(t)
}

// join lets a task follow the call that is under way, if that serves it. The
// caller holds the lock.
func (c *calls) join(t *task) bool {
	other := c.by[t.event.Entity]
	if other == nil || other == t || other.version < t.event.Version {
		return false
	}
	other.followers = append(append(other.followers, t), t.followers...)
	t.followers = nil
	return true
}

// end returns the tasks that followed one that ends.
func (c *calls) end(t *task) []*task {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.by[t.event.Entity] == t {
		delete(c.by, t.event.Entity)
	}
	followers := t.followers
	t.followers = nil
	return followers
}

// backendDelays are how long to wait before a log, a keeper or a store that fails
// is asked again.
var backendDelays = backoff.Delays{First: 100 * time.Millisecond, Longest: 5 * time.Second}
