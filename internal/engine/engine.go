// Package engine turns runs into jobs, jobs into upstream calls and answers
// into durable outcomes. It knows the ports alone.
//
// Engine is the front: Start, Stop, and what people ask for, which it embeds.
// Its parts, each with one job, from those that need nothing of the others on:
//
//	core            what all share: ports, caches, counters (core.go, caches.go,
//	                waits.go, halt.go); the queue of what is tried again
//	                (retry_queue.go)
//	delivery        makes jobs and chores known to dispatch, gives leases back
//	                (delivery.go); notes of requests under way (intent.go)
//	runControl      begins, changes, ends and continues runs (run_control.go)
//	harvestPlanner  when accounts are collected again (harvest.go)
//	requests        accounts, rations, single jobs (requests.go, quotareset.go)
//	forecaster      how far a run is and when it ends (progress.go, forecast.go;
//	                the arithmetic is in package forecast)
//	dryRunner       what a collection would take (dryrun.go)
//	choreRunner     what is no call (chores.go): statistics (statistics.go), runs
//	                whose turn has come (harvest_chore.go), recovery (recovery.go)
//	permits         calls from the rations of owners, and lent ones (lending.go,
//	                loans.go)
//	outcomePolicy   what an answer means for its job (outcome.go, policy.go)
//	committer       outcome → store → dispatch → acknowledge (commit.go)
//	pool            the call path (pool.go): the feeder leases jobs (feeder.go),
//	                a worker does reserve → claim → call → commit (worker.go,
//	                takeover.go, park.go), the renewer keeps leases (renewer.go)
package engine

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"sluice/internal/dispatch"
	"sluice/internal/document"
	"sluice/internal/domain"
	"sluice/internal/lifecycle"
	"sluice/internal/quota"
	"sluice/internal/schedule"
	"sluice/internal/source"
	"sluice/internal/state"
	"sluice/internal/traces"
	"sluice/internal/watch"
)

// Statistics computes what is stored when a run completes.
type Statistics interface {
	Compute(ctx context.Context, run domain.Run) ([]byte, error)
}

// Vault seals and opens credentials.
type Vault interface {
	Seal(plain, owner string) (state.Sealed, error)
	Open(s state.Sealed, owner string) (string, error)
	Name(secret string) string
}

// Ports are what an engine works with.
type Ports struct {
	State state.Parts
	// Documents is set when documents live in a store of their own; they are
	// then written before the outcome. Nil means that they travel with it.
	Documents document.Writer
	// Collected reads what was collected, wherever it is stored; nil means that no
	// account copies from another.
	Collected document.Reader
	// Feed is the documents' log of changes; nil if they have none.
	Feed     document.Feed
	Dispatch dispatch.Dispatcher
	// Signals tells other processes that something changed; nil if there are
	// none.
	Signals watch.Signals
	// Results keeps what was paid for while the store does not take it, for
	// whoever takes over if this process dies meanwhile. Nil means that only
	// this process can: it has the store to itself.
	Results    state.Pending
	Quota      quota.Keeper
	Sources    []source.Source
	Statistics Statistics
	Vault      Vault
	// Origins keeps which request began a run; nil means that nobody asks.
	Origins state.Origins
}

// Notices is told what people should hear of. It never waits.
type Notices interface {
	// Changed says that an account was paused or a run ended badly, at or after an
	// instant; the store tells which.
	Changed(since time.Time)
	// FloorReached says that only what its owner keeps is left of a ration.
	FloorReached(a domain.Account, why string, until time.Time)
}

// noNotices tells nobody.
type noNotices struct{}

// Changed implements Notices.
func (noNotices) Changed(time.Time) {}

// FloorReached implements Notices.
func (noNotices) FloorReached(domain.Account, string, time.Time) {}

// The defaults of what can be set.
const (
	DefaultWorkers   = 16
	DefaultRetention = 30 * 24 * time.Hour
	// DefaultChangesKept is how long changes are kept.
	DefaultChangesKept = 30 * 24 * time.Hour
)

// Config tunes an engine. Zero fields take the defaults.
type Config struct {
	Workers     int           // calls under way at once; default DefaultWorkers
	MaxAttempts int           // failures before a job is given up; default 5
	MaxLost     int           // vanished workers before a job is given up; default 20
	BackoffBase time.Duration // first retry delay; default 1 s
	BackoffMax  time.Duration // longest retry delay; default 5 min
	Lease       time.Duration // default dispatch.DefaultLease
	StopTimeout time.Duration // how long Stop lets calls finish; default 30 s
	// PoolTokens lets the owners of other accounts lend calls for public data.
	PoolTokens bool
	// StatisticsRetry is how soon failed statistics are tried again; it doubles
	// with every failure. Default 1 min.
	StatisticsRetry time.Duration
	// Retention is how long the jobs of runs that have ended are kept, besides
	// those of each account's newest run; default DefaultRetention, negative for
	// ever.
	Retention time.Duration
	// ChangesKept is how long the feed of changes keeps them; zero for ever.
	ChangesKept time.Duration
	// Harvests says, by source, when accounts are collected again by themselves;
	// those of a source that is not in it are not.
	Harvests map[string]schedule.Policy
	// Shared says that other processes work on the same state and dispatch.
	Shared bool
	// RequestsOnly takes requests and leaves all work to other processes.
	RequestsOnly bool
	Now          func() time.Time
	// Tracer traces jobs and their calls; nil traces nothing.
	Tracer *traces.Tracer
	// Notices is told what people should hear of; nil is nobody.
	Notices Notices
	// Unknown is told of sources that accounts have and this process has not; nil is
	// nobody. It does not wait.
	Unknown func(source string)
	// Random yields jitter in [0,1); default math/rand.
	Random func() float64
	Log    *slog.Logger
	// Observer measures what workers do; nil is nobody.
	Observer Observer
}

func (c Config) withDefaults() Config {
	setDefault(&c.Workers, DefaultWorkers)
	setDefault(&c.MaxAttempts, 5)
	setDefault(&c.MaxLost, 20)
	setDefault(&c.BackoffBase, time.Second)
	setDefault(&c.BackoffMax, 5*time.Minute)
	setDefault(&c.Lease, dispatch.DefaultLease)
	setDefault(&c.StopTimeout, 30*time.Second)
	setDefault(&c.StatisticsRetry, time.Minute)
	setDefault(&c.Retention, DefaultRetention)
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Random == nil {
		c.Random = rand.Float64
	}
	if c.Unknown == nil {
		c.Unknown = func(string) {}
	}
	if c.Notices == nil {
		c.Notices = noNotices{}
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return c
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// Engine runs collections. It is the front of its parts: each does one job and
// is made by a function of its own.
type Engine struct {
	*core
	*requests
	*runControl
	*harvestPlanner
	*forecaster
	*dryRunner

	pool   *pool
	chores *choreRunner

	runner *lifecycle.Runner
}

var _ lifecycle.Service = (*Engine)(nil)

// New checks the parts and returns an engine that is not running yet.
func New(p Ports, cfg Config) (*Engine, error) {
	if p.State == (state.Parts{}) || p.Dispatch == nil || p.Quota == nil || p.Statistics == nil || p.Vault == nil || len(p.Sources) == 0 {
		return nil, domain.Errorf(domain.CodeInvalid, "an engine needs state, dispatch, quota, statistics, a vault and a source")
	}
	c := newCore(p, cfg.withDefaults())
	d := newDelivery(c)
	control, planner, ps := newRunControl(c, d), newHarvestPlanner(c, d), newPermits(c)
	chores := newChoreRunner(c, d, control, planner)
	return &Engine{
		core:       c,
		requests:   &requests{core: c, delivery: d, control: control, planner: planner},
		runControl: control, harvestPlanner: planner,
		forecaster: &forecaster{core: c},
		dryRunner:  &dryRunner{core: c, permits: ps},
		chores:     chores,
		pool:       newPool(c, d, control, planner, ps, chores),
		runner:     lifecycle.NewRunner(),
	}, nil
}

// Start recovers what a dead process left, rebuilds dispatch and begins to
// work. It returns when the engine is ready; it may be called twice.
func (e *Engine) Start(ctx context.Context) error {
	return e.runner.Start(ctx, func(ctx context.Context) error { return errors.Join(e.Err(), e.chores.recover(ctx)) }, e.run)
}

// run works until feed ends: no new job is begun then. Calls under way are given
// up when hard ends.
func (e *Engine) run(feed, hard context.Context) {
	feed, stopFeed := context.WithCancel(feed)
	defer stopFeed()
	var background sync.WaitGroup
	background.Go(func() { e.retries.loop(feed) })
	background.Go(func() { e.watchers.Run(feed) })
	background.Go(func() {
		select {
		case <-e.halted.done:
			stopFeed()
		case <-feed.Done():
		}
	})
	if !e.cfg.RequestsOnly {
		background.Go(func() { e.pool.run(feed, hard) })
	}
	background.Wait()
}

// Stop begins no new job, lets those under way finish within the stop timeout,
// or until ctx ends, and then gives up the rest; their jobs are recovered by
// the next start. It may be called twice, also while the first is waiting: a
// second one whose ctx has ended stops at once.
func (e *Engine) Stop(ctx context.Context) error {
	switch err := e.runner.StopWithin(ctx, e.cfg.StopTimeout); {
	case errors.Is(err, lifecycle.ErrTimeout):
		return errors.New("some calls did not finish in time and were given up; they are repeated at the next start")
	case errors.Is(err, lifecycle.ErrHurried):
		return errors.New("stopped at once; calls under way are repeated at the next start")
	}
	return nil
}
