package refresh

import (
	"cmp"
	"context"
	"log/slog"
	"maps"
	"slices"
	"time"

	"sluice/internal/backoff"
	"sluice/internal/domain"
	"sluice/internal/lifecycle"
	"sluice/internal/quota/rate"
	"sluice/internal/ration/keeper"
	"sluice/internal/source"
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
	// DailyReserve is what of a day's calls is not spent on prefetching, where an
	// upstream does not say more itself.
	DailyReserve int64
	// PerSecond is the prefetch target of all processes by hour of day; nil is the
	// standard one. Zone is where the hours are; nil is where the upstream counts its
	// days.
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
	l := &Pipeline{Parts: p, works: s.Works, runner: lifecycle.NewRunner()}
	l.openBreakers()
	l.counts = &counted{snapshots: p.Snapshots, now: p.Now, first: keeper.NewTurn(), by: map[string]count{}, busy: map[string]bool{}}
	// What hands out locks and carries events fails together: one breaker
	// protects both.
	writes := &breakerWrites{coalescer: p.Coalescer, log: p.Log, breaker: l.breakers[breakerRedis]}
	if p.InProcess {
		delete(l.breakers, breakerRedis)
	}
	l.requester = &Requester{Coalescer: writes, Requests: p.Snapshots, Marks: p.Snapshots, Log: writes, Lasting: p.Log.Lasting(), marking: keeper.NewTurn(), Now: p.Now}
	l.requester.accepts = newAccepts(p.Snapshots)
	l.waker = NewWaker(WakerOptions{Requests: p.Snapshots, Marks: p.Snapshots, Log: p.Log, Alone: p.Signals == nil, Now: p.Now, Slog: p.Slog})
	l.lags = NewLags(p.Log, p.Rate, slices.Collect(maps.Keys(p.Upstreams)), p.Now)
	l.requester.Published = l.lags.Published
	l.changes = watch.New(p.Signals, MaxTakeWait)
	l.reader = NewReader(ReaderOptions{
		Snapshots: p.Snapshots, Requests: p.Snapshots, Cache: p.Cache, Requester: l.requester, Wait: l.lags, FreshFor: s.FreshFor, Pace: p.Pace(), Now: p.Now, Slog: p.Slog,
	})
	l.deadLetters = &DeadLetterQueue{Letters: p.Snapshots, Requester: l.requester, Now: p.Now, Slog: p.Slog}
	fetchers, breakers := make(map[string]Fetcher, len(p.Upstreams)), make(map[string]*backoff.Breaker, len(p.Upstreams))
	for name, upstream := range p.Upstreams {
		fetchers[name], breakers[name] = upstream, l.breakers[breakerOf(name, len(p.Upstreams))]
		if s.Prefetches {
			l.prefetch = append(l.prefetch, l.prefetchOf(name, s))
		}
	}
	var err error
	l.worker, err = NewWorker(WorkerOptions{
		Log: p.Log, Coalescer: p.Coalescer, Snapshots: p.Snapshots, Requests: p.Snapshots, Letters: p.Snapshots, Rate: p.Rate, Fetchers: fetchers,
		Store: l.breakers[breakerStore], Upstreams: breakers, Stored: l.stored, Parked: l.waker.Parked, Buried: p.Buried, Tracer: p.Tracer, Lags: l.lags,
		HighInFlight: s.HighInFlight, LowInFlight: s.LowInFlight, StopTimeout: s.StopTimeout, ID: s.WorkerID, Now: p.Now, Slog: p.Slog,
	})
	return l, err
}

func (l *Pipeline) openBreakers() {
	var upstreams []string
	for name := range l.Upstreams {
		upstreams = append(upstreams, breakerOf(name, len(l.Upstreams)))
	}
	l.breakers = newBreakers(l.Slog, l.BreakerOpened, upstreams...)
}

// prefetchOf refreshes what is due of a source, by what that allows.
func (l *Pipeline) prefetchOf(name string, s Settings) *Prefetch {
	o := PrefetchOptions{
		Source: name, Snapshots: l.Snapshots, Requester: l.requester, Rate: l.Rate, Lags: l.lags,
		DailyReserve: s.DailyReserve, PerSecond: s.PerSecond, Zone: s.Zone, Now: l.Now, Slog: l.Slog,
	}
	if limited, ok := as[interface{ Limits() rate.Limits }](l.Upstreams[name]); ok {
		limits := limited.Limits()
		o.DailyReserve, o.Zone = max(s.DailyReserve, limits.DailyReserve), cmp.Or(s.Zone, limits.Zone)
	}
	return NewPrefetch(o)
}

// as finds what else an upstream is, behind what was put in front of it.
func as[T any](u Upstream) (found T, ok bool) {
	for u != nil {
		if found, ok = u.(T); ok {
			return found, true
		}
		wrapped, isWrapped := u.(interface{ Unwrap() Upstream })
		if !isWrapped {
			break
		}
		u = wrapped.Unwrap()
	}
	return found, false
}

// Pace is how fresh each entity is kept, nil if all are kept alike.
func (p *Parts) Pace() func(e Entity) source.Pace {
	paced := map[string]source.Paced{}
	for name, upstream := range p.Upstreams {
		if one, ok := as[source.Paced](upstream); ok {
			paced[name] = one
		}
	}
	if len(paced) == 0 {
		return nil
	}
	return func(e Entity) source.Pace {
		if one := paced[e.Source]; one != nil {
			return one.Pace(e.Key)
		}
		return source.Pace{}
	}
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

// History lists the stored values of an entity, the newest first.
func (l *Pipeline) History(ctx context.Context, q PastQuery) ([]PastValue, error) {
	return l.Snapshots.PastValues(ctx, q)
}

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
