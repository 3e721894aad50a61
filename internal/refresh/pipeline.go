package refresh

import (
	"context"
	"log/slog"
	"time"

	"sluice/internal/backoff"
	"sluice/internal/domain"
	"sluice/internal/lifecycle"
	"sluice/internal/quota/rate"
	"sluice/internal/traces"
	"sluice/internal/watch"
)

// Upstream is a source whose records are kept fresh.
type Upstream interface {
	Fetcher
	// CheckKey refuses what cannot be a key, and puts it into its one spelling.
	CheckKey(key string) (string, error)
}

// Parts are the adapters that a pipeline is made of. All but Signals and Slog
// are needed.
type Parts struct {
	Log       EventLog
	Coalescer Coalescer
	Snapshots Snapshots
	Rate      rate.Keeper
	Cache     Cache
	Upstreams map[string]Upstream
	// Signals tells other processes what was stored; nil if there are none.
	Signals watch.Signals
	// InProcess says that locks and events are kept by this process and its
	// store, so that there is no Redis whose breaker could be told about.
	InProcess bool
	// BreakerOpened and Buried, if set, are told of what people should hear of:
	// that a part is left alone, and that a dead letter was kept. They do not wait.
	BreakerOpened func(part string)
	Buried        func(at time.Time)
	// Tracer traces refreshes; nil traces nothing.
	Tracer *traces.Tracer
	Now    func() time.Time
	Slog   *slog.Logger
}

// Settings is what a process does and how.
type Settings struct {
	// Works lets this process carry out refreshes, Prefetches what is due
	// before anybody asks.
	Works, Prefetches bool
	// FreshFor is how long a value counts as fresh; zero is 1 h.
	FreshFor time.Duration
	// DailyReserve is what of a day's calls is not spent on prefetching.
	DailyReserve int64
	// PerSecond is the prefetch target of all processes by hour of day; nil is the
	// standard one. Zone is where the hours are; nil is UTC.
	PerSecond func(hour int) int
	Zone      *time.Location
	// HighInFlight and LowInFlight bound the events under way.
	HighInFlight, LowInFlight int
	// StopTimeout is how long calls that are under way may take to end when the
	// pipeline stops; zero is 10 s.
	StopTimeout time.Duration
	// WorkerID names this process in dead letters.
	WorkerID string
}

// Pipeline is everything that keeps snapshots fresh.
type Pipeline struct {
	Parts
	requester   *Requester
	reader      *Reader
	deadLetters *DeadLetterQueue
	worker      *Worker
	waker       *Waker
	counts      *counted
	lags        *Lags
	prefetch    []*Prefetch
	changes     *watch.Broadcaster
	breakers    map[string]*backoff.Breaker
	works       bool

	runner *lifecycle.Runner
}

var _ lifecycle.Service = (*Pipeline)(nil)

// NewPipeline puts the parts together.
func NewPipeline(p Parts, s Settings) (*Pipeline, error) {
	if p.Now == nil {
		p.Now = time.Now
	}
	if p.Slog == nil {
		p.Slog = slog.New(slog.DiscardHandler)
	}
	l := &Pipeline{Parts: p, works: s.Works, breakers: newBreakers(p.Slog, p.BreakerOpened), runner: lifecycle.NewRunner()}
	l.counts = &counted{snapshots: p.Snapshots, now: p.Now, by: map[string]count{}, busy: map[string]bool{}}
	// What hands out locks and carries events fails together: one breaker
	// protects both.
	writes := &breakerWrites{coalescer: p.Coalescer, log: p.Log, breaker: l.breakers[breakerRedis]}
	if p.InProcess {
		delete(l.breakers, breakerRedis)
	}
	l.requester = &Requester{Coalescer: writes, Requests: p.Snapshots, Marks: p.Snapshots, Log: writes, Lasting: p.Log.Lasting(), Now: p.Now}
	l.requester.accepts = newAccepts(p.Snapshots)
	l.waker = NewWaker(WakerOptions{Requests: p.Snapshots, Marks: p.Snapshots, Log: p.Log, Alone: p.Signals == nil, Now: p.Now, Slog: p.Slog})
	l.lags = NewLags(p.Log, p.Rate, onlySource(p.Upstreams), p.Now)
	l.requester.Published = l.lags.Published
	l.changes = watch.New(p.Signals, MaxTakeWait)
	l.reader = NewReader(ReaderOptions{
		Snapshots: p.Snapshots, Requests: p.Snapshots, Cache: p.Cache, Requester: l.requester, Wait: l.lags, FreshFor: s.FreshFor, Now: p.Now, Slog: p.Slog,
	})
	l.deadLetters = &DeadLetterQueue{Letters: p.Snapshots, Requester: l.requester, Now: p.Now, Slog: p.Slog}
	fetchers := make(map[string]Fetcher, len(p.Upstreams))
	for name, upstream := range p.Upstreams {
		fetchers[name] = upstream
		if s.Prefetches {
			l.prefetch = append(l.prefetch, NewPrefetch(PrefetchOptions{
				Source: name, Snapshots: p.Snapshots, Requester: l.requester, Rate: p.Rate, Lags: l.lags,
				DailyReserve: s.DailyReserve, PerSecond: s.PerSecond, Zone: s.Zone, Now: p.Now, Slog: p.Slog,
			}))
		}
	}
	var err error
	l.worker, err = NewWorker(WorkerOptions{
		Log: p.Log, Coalescer: p.Coalescer, Snapshots: p.Snapshots, Requests: p.Snapshots, Letters: p.Snapshots, Rate: p.Rate, Fetchers: fetchers,
		Store: l.breakers[breakerStore], Upstream: l.breakers[breakerUpstream], Stored: l.stored, Parked: l.waker.Parked, Buried: p.Buried, Tracer: p.Tracer, Lags: l.lags,
		HighInFlight: s.HighInFlight, LowInFlight: s.LowInFlight, StopTimeout: s.StopTimeout, ID: s.WorkerID, Now: p.Now, Slog: p.Slog,
	})
	return l, err
}

// stored lets everybody know that values have changed.
func (l *Pipeline) stored(ctx context.Context, changes []Change) {
	l.Cache.Forget(ctx, changes...)
	l.changes.Notify()
}

// Start sets the pipeline to work. It is ready at once, and may be called twice.
func (l *Pipeline) Start(ctx context.Context) error {
	return l.runner.Start(ctx, func(context.Context) error { return nil }, l.run)
}

func (l *Pipeline) run(ctx, _ context.Context) {
	parts := []func(context.Context){l.reader.Run, l.changes.Run, l.lags.Run}
	if l.works {
		parts = append(parts, l.worker.Run, l.waker.Run, l.deadLetters.Run)
	}
	for _, p := range l.prefetch {
		parts = append(parts, p.Run)
	}
	lifecycle.Group(ctx, parts...)
}

// Stop ends all that Start began. Calls that are under way end, and what they
// bring is stored, within StopTimeout, however soon ctx ends; nothing is called
// for after that.
func (l *Pipeline) Stop(context.Context) error {
	l.runner.Stop()
	return nil
}

// CheckEntity refuses what cannot be an entity, and puts it into its one
// spelling.
func (l *Pipeline) CheckEntity(e Entity) (Entity, error) {
	upstream, ok := l.Upstreams[e.Source]
	if !ok {
		return e, domain.Errorf(domain.CodeInvalid, "no snapshots are kept of that source")
	}
	key, err := upstream.CheckKey(e.Key)
	return Entity{Source: e.Source, Key: key}, err
}

// Get answers a read.
func (l *Pipeline) Get(ctx context.Context, e Entity) (Answer, error) { return l.reader.Get(ctx, e) }

// Request has entities refreshed.
func (l *Pipeline) Request(ctx context.Context, q Request) ([]Grant, error) {
	grants, err := l.requester.Request(ctx, q)
	if err == nil {
		l.reader.Asked(q.Entities)
	}
	return grants, err
}

// Watch returns a channel that gets a token after snapshots were stored, and the
// function that ends it.
func (l *Pipeline) Watch() (changed <-chan struct{}, end func()) { return l.changes.Watch() }

// Worker returns the worker, for its counters.
func (l *Pipeline) Worker() *Worker { return l.worker }

// Reader returns the reader, for its counters.
func (l *Pipeline) Reader() *Reader { return l.reader }

// DeadLetter shows a dead letter.
func (l *Pipeline) DeadLetter(ctx context.Context, id string) (DeadLetter, error) {
	return l.Snapshots.DeadLetter(ctx, id)
}

// DeadLetterList lists dead letters.
func (l *Pipeline) DeadLetterList(ctx context.Context, q DeadLetterQuery) ([]DeadLetter, error) {
	return l.Snapshots.DeadLetterList(ctx, q)
}

// DeadLetterCounts counts dead letters by cause.
func (l *Pipeline) DeadLetterCounts(ctx context.Context) (map[string]int64, error) {
	return l.Snapshots.DeadLetterCounts(ctx)
}

// Redrive publishes the requests of dead letters again; see DeadLetterQueue.
func (l *Pipeline) Redrive(ctx context.Context, ids ...string) (int, error) {
	return l.deadLetters.Redrive(ctx, ids...)
}

// RedriveWhy is Redrive of all dead letters with one cause.
func (l *Pipeline) RedriveWhy(ctx context.Context, why string) (int, error) {
	return l.deadLetters.RedriveWhy(ctx, why)
}

// Discard removes dead letters and returns how many there were.
func (l *Pipeline) Discard(ctx context.Context, ids ...string) (int, error) {
	return l.deadLetters.Discard(ctx, ids...)
}

// onlySource is the source that refreshes are limited by. Where there are several
// it is the first.
func onlySource(upstreams map[string]Upstream) (first string) {
	for name := range upstreams {
		if first == "" || name < first {
			first = name
		}
	}
	return first
}
