// Package engine turns runs into jobs, jobs into upstream calls and answers
// into durable outcomes. It knows the ports alone.
//
// Who does what:
//
//	orchestrator  the only way in: accounts, runs, cancel, pause, retry
//	feeder        leases waiting jobs for idle workers, reads their rows
//	worker        reserve → claim → call → commit → acknowledge, one job at a time
//	renewer       keeps the leases of jobs under way alive
//	chores        what is no call: statistics of runs whose last job has ended,
//	              the next run of an account, making up for a dead process,
//	              rebuilding dispatch
//	errands       repeat what a failing part did not take
//	recovery      puts right what a dead process, or a lost dispatcher, left behind
package engine

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"sluice/internal/dispatch"
	"sluice/internal/document"
	"sluice/internal/domain"
	"sluice/internal/pending"
	"sluice/internal/quota"
	"sluice/internal/schedule"
	"sluice/internal/source"
	"sluice/internal/state"
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
	State state.Store
	// Documents is set when documents live in a store of their own; they are
	// then written before the outcome. Nil means that they travel with it.
	Documents document.Writer
	Dispatch  dispatch.Dispatcher
	// Signals tells other processes that something changed; nil if there are
	// none.
	Signals watch.Signals
	// Results keeps what was paid for while the store does not take it, for
	// whoever takes over if this process dies meanwhile. Nil means that only
	// this process can: it has the store to itself.
	Results    pending.Results
	Quota      quota.Keeper
	Sources    []source.Source
	Statistics Statistics
	Vault      Vault
}

// Config tunes an engine. Zero fields take the defaults.
type Config struct {
	Workers     int           // calls under way at once; default 16
	MaxAttempts int           // failures before a job is given up; default 5
	MaxLost     int           // vanished workers before a job is given up; default 20
	BackoffBase time.Duration // first retry delay; default 1 s
	BackoffMax  time.Duration // longest retry delay; default 5 min
	Lease       time.Duration // default dispatch.DefaultLease
	StopTimeout time.Duration // how long Stop lets calls finish; default 30 s
	// PoolTokens lets the owners of other accounts lend calls for public data.
	PoolTokens bool
	// DiscoverOnly dispatches only jobs that find out what there is to
	// collect: what they find is priced and left.
	DiscoverOnly bool
	// StatisticsRetry is how soon failed statistics are tried again; it doubles
	// with every failure. Default 1 min.
	StatisticsRetry time.Duration
	// Harvests says, by source, when accounts are collected again by themselves;
	// those of a source that is not in it are not.
	Harvests map[string]schedule.Policy
	// Shared says that other processes work on the same state and dispatch.
	Shared bool
	// RequestsOnly takes requests and leaves all work to other processes.
	RequestsOnly bool
	Now          func() time.Time
	// Random yields jitter in [0,1); default math/rand.
	Random func() float64
	Log    *slog.Logger
}

func (c Config) withDefaults() Config {
	set(&c.Workers, 16)
	set(&c.MaxAttempts, 5)
	set(&c.MaxLost, 20)
	set(&c.BackoffBase, time.Second)
	set(&c.BackoffMax, 5*time.Minute)
	set(&c.Lease, dispatch.DefaultLease)
	set(&c.StopTimeout, 30*time.Second)
	set(&c.StatisticsRetry, time.Minute)
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Random == nil {
		c.Random = rand.Float64
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return c
}

func set[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// Engine runs collections.
type Engine struct {
	Ports
	cfg     Config
	sources map[string]source.Source

	accounts *accountCache
	runs     *runCache
	waits    *waitBoard
	outages  *outages
	paces    *paces
	rows     *rowCache
	watchers *watch.Board
	renewer  *renewer
	finisher *finisher
	errands  *errands
	acks     *acks
	counters *Counters

	// turn is how long a worker took for a job of late, in nanoseconds.
	turn atomic.Int64

	// replans lets one plan of a next run be made at a time.
	replans sync.Mutex

	tasks chan task
	slots chan struct{}

	lifecycle sync.Mutex
	session   *session // nil while the engine does not run
}

// session is what one Start began.
type session struct {
	// stopFeed keeps new jobs from being begun; stopHard gives up the calls
	// under way.
	stopFeed, stopHard context.CancelFunc
	background         sync.WaitGroup
	done               chan struct{} // closed when nothing of it runs any more
}

// Watch returns a channel that gets a token after something changed, here or,
// while the engine is started, in another process, and the function that ends
// it.
func (e *Engine) Watch() (changed <-chan struct{}, end func()) { return e.watchers.Watch() }

// New checks the parts and returns an engine that is not running yet.
func New(p Ports, cfg Config) (*Engine, error) {
	if p.State == nil || p.Dispatch == nil || p.Quota == nil || p.Statistics == nil || p.Vault == nil || len(p.Sources) == 0 {
		return nil, domain.Errorf(domain.CodeInvalid, "an engine needs state, dispatch, quota, statistics, a vault and a source")
	}
	e := &Engine{Ports: p, cfg: cfg.withDefaults(), sources: map[string]source.Source{}}
	for _, s := range p.Sources {
		e.sources[s.Name()] = s
	}
	e.accounts = newAccountCache(p.State, p.Vault)
	e.runs = newRunCache(p.State)
	e.waits = newWaitBoard(e.cfg.Now)
	e.outages = newOutages(e.cfg)
	e.paces = newPaces()
	e.rows = newRowCache()
	e.watchers = watch.New(p.Signals, dispatch.MaxWait)
	e.counters = &Counters{}
	e.renewer = newRenewer(p.Dispatch, e.cfg)
	e.finisher = newFinisher()
	e.errands = newErrands(e.cfg.Log)
	e.acks = newAcks(e.acknowledgeAll)
	return e, nil
}

// Start recovers what a dead process left, rebuilds dispatch and begins to
// work. It returns when the engine is ready; it may be called twice.
func (e *Engine) Start(ctx context.Context) error {
	e.lifecycle.Lock()
	defer e.lifecycle.Unlock()
	if e.session != nil {
		return nil
	}
	if err := e.recover(ctx); err != nil {
		return err
	}
	base := context.WithoutCancel(ctx)
	feed, stopFeed := context.WithCancel(base)
	hard, stopHard := context.WithCancel(base)
	s := &session{stopFeed: stopFeed, stopHard: stopHard, done: make(chan struct{})}
	e.begin(s, feed, hard)
	e.session = s
	return nil
}

// begin sets all roles to work.
func (e *Engine) begin(s *session, feed, hard context.Context) {
	s.background.Go(func() { e.errands.loop(feed) })
	s.background.Go(func() { e.watchers.Run(feed) })
	if !e.cfg.RequestsOnly {
		e.beginWork(s, feed, hard)
	}
	go func() { s.background.Wait(); close(s.done) }()
}

func (e *Engine) beginWork(s *session, feed, hard context.Context) {
	// Each worker may have one job in hand and one ahead.
	e.tasks = make(chan task, 2*e.cfg.Workers+e.furtherAhead())
	e.slots = make(chan struct{}, cap(e.tasks))
	e.giveSlots(2 * e.cfg.Workers)
	// Leases are renewed until the last worker is done.
	renew, stopRenew := context.WithCancel(hard)
	s.background.Go(func() { e.renewer.loop(renew) })
	var workers sync.WaitGroup
	for range e.cfg.Workers {
		workers.Go(func() { e.work(feed, hard) })
	}
	// The feeder adds chores to them before it ends.
	workers.Go(func() { e.feed(feed, hard, &workers) })
	s.background.Go(func() { workers.Wait(); e.acks.under.Wait(); stopRenew() })
}

// Stop begins no new job, lets those under way finish within the stop timeout,
// or until ctx ends, and then gives up the rest; their jobs are recovered by
// the next start. It may be called twice, also while the first is waiting: a
// second one whose ctx has ended stops at once.
func (e *Engine) Stop(ctx context.Context) error {
	e.lifecycle.Lock()
	s := e.session
	e.lifecycle.Unlock()
	if s == nil {
		return nil
	}
	s.stopFeed()
	err := s.wait(ctx, e.cfg.StopTimeout)
	s.stopHard()
	<-s.done
	e.lifecycle.Lock()
	defer e.lifecycle.Unlock()
	if e.session == s {
		e.session = nil
	}
	return err
}

func (s *session) wait(ctx context.Context, patience time.Duration) error {
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-s.done:
		return nil
	case <-timer.C:
		return errors.New("some calls did not finish in time and were given up; they are repeated at the next start")
	case <-ctx.Done():
		return errors.New("stopped at once; calls under way are repeated at the next start")
	}
}
