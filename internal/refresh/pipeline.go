package refresh

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"sluice/internal/breaker"
	"sluice/internal/domain"
	"sluice/internal/quota/rate"
	"sluice/internal/refresh/eventlog"
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
	Log       eventlog.Log
	Coalescer Coalescer
	Snapshots Snapshots
	Rate      rate.Keeper
	Cache     Cache
	Upstreams map[string]Upstream
	// Signals tells other processes what was stored; nil if there are none.
	Signals watch.Signals
	Now     func() time.Time
	Slog    *slog.Logger
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
	// PerSecond is the prefetch target by hour of day; nil is the standard one.
	PerSecond func(hour int) int
	// HighInFlight and LowInFlight bound the events under way.
	HighInFlight, LowInFlight int
}

// Pipeline is everything that keeps snapshots fresh.
type Pipeline struct {
	Parts
	*Undertaker
	requester *Requester
	query     *Query
	worker    *Worker
	lags      *Lags
	prefetch  []*Prefetch
	board     *watch.Board
	breakers  map[string]*breaker.Breaker
	works     bool

	stop context.CancelFunc
	work sync.WaitGroup
}

// The guarded parts.
const (
	breakerRedis    = "redis"
	breakerStore    = "store"
	breakerUpstream = "upstream"
)

// slowStore is how long the store may take before that counts as a failure. The
// upstream's calls end by themselves, and a log that is slow is not in the way.
const slowStore = 2 * time.Second

// NewPipeline puts the parts together.
func NewPipeline(p Parts, s Settings) (*Pipeline, error) {
	if p.Now == nil {
		p.Now = time.Now
	}
	if p.Slog == nil {
		p.Slog = slog.New(slog.DiscardHandler)
	}
	l := &Pipeline{Parts: p, works: s.Works, breakers: map[string]*breaker.Breaker{}}
	for _, name := range []string{breakerRedis, breakerStore, breakerUpstream} {
		options := breaker.Options{OnChange: func(name string, to breaker.State) {
			p.Slog.Warn("breaker", "part", name, "state", to)
		}}
		if name == breakerStore {
			options.Slow = slowStore
		}
		l.breakers[name] = breaker.New(name, options)
	}
	// What hands out locks and carries events fails together: it is guarded as
	// one.
	guarded := &guardedWrites{coalescer: p.Coalescer, log: p.Log, breaker: l.breakers[breakerRedis]}
	l.requester = &Requester{Coalescer: guarded, Log: guarded, Now: p.Now}
	l.lags = NewLags(p.Log, p.Now)
	l.board = watch.New(p.Signals, eventlog.MaxWait)
	l.query = NewQuery(QueryOptions{
		Snapshots: p.Snapshots, Cache: p.Cache, Requester: l.requester, Wait: l.lags, FreshFor: s.FreshFor, Now: p.Now, Slog: p.Slog,
	})
	l.Undertaker = &Undertaker{Letters: p.Snapshots, Requester: l.requester, Now: p.Now, Slog: p.Slog}
	fetchers := make(map[string]Fetcher, len(p.Upstreams))
	for name, upstream := range p.Upstreams {
		fetchers[name] = upstream
		if s.Prefetches {
			l.prefetch = append(l.prefetch, NewPrefetch(PrefetchOptions{
				Source: name, Snapshots: p.Snapshots, Requester: l.requester, Rate: p.Rate, Lags: l.lags,
				DailyReserve: s.DailyReserve, PerSecond: s.PerSecond, Now: p.Now, Slog: p.Slog,
			}))
		}
	}
	var err error
	l.worker, err = NewWorker(WorkerOptions{
		Log: p.Log, Coalescer: p.Coalescer, Snapshots: p.Snapshots, Rate: p.Rate, Fetchers: fetchers,
		Store: l.breakers[breakerStore], Upstream: l.breakers[breakerUpstream], Stored: l.stored, Lags: l.lags,
		HighInFlight: s.HighInFlight, LowInFlight: s.LowInFlight, Now: p.Now, Slog: p.Slog,
	})
	return l, err
}

// stored lets everybody know that values have changed.
func (l *Pipeline) stored(ctx context.Context, changes []Change) {
	l.Cache.Forget(ctx, changes...)
	l.board.Notify()
}

// Start sets the pipeline to work. It may be called twice.
func (l *Pipeline) Start(ctx context.Context) {
	if l.stop != nil {
		return
	}
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	l.stop = stop
	l.work.Go(func() { l.query.Run(running) })
	l.work.Go(func() { l.board.Run(running) })
	if l.works {
		l.work.Go(func() { l.worker.Run(running) })
		l.work.Go(func() { l.Run(running) })
	}
	for _, p := range l.prefetch {
		l.work.Go(func() { p.Run(running) })
	}
}

// Stop ends all that Start began.
func (l *Pipeline) Stop() {
	if l.stop == nil {
		return
	}
	l.stop()
	l.work.Wait()
	l.stop = nil
}

// CheckEntity refuses what cannot be an entity, and puts it into its one
// spelling.
func (l *Pipeline) CheckEntity(e Entity) (Entity, error) {
	upstream, ok := l.Upstreams[e.Source]
	if !ok {
		return e, domain.Errorf(domain.CodeInvalid, "there is no source %q whose snapshots are kept", e.Source)
	}
	key, err := upstream.CheckKey(e.Key)
	return Entity{Source: e.Source, Key: key}, err
}

// Get answers a read.
func (l *Pipeline) Get(ctx context.Context, e Entity) (Answer, error) { return l.query.Get(ctx, e) }

// Request has entities refreshed.
func (l *Pipeline) Request(ctx context.Context, q Request) ([]Grant, error) {
	return l.requester.Request(ctx, q)
}

// Watch returns a channel that gets a token after snapshots were stored, and the
// function that ends it.
func (l *Pipeline) Watch() (changed <-chan struct{}, end func()) { return l.board.Watch() }

// Worker returns the worker, for its counters.
func (l *Pipeline) Worker() *Worker { return l.worker }

// Query returns the query, for its counters.
func (l *Pipeline) Query() *Query { return l.query }

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
