// Package wiring puts an engine together from its adapters. It is the one
// place that knows them all; commands, tests and benchmarks get the same
// assembly from here.
package wiring

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"sluice/internal/archive"
	"sluice/internal/dispatch"
	"sluice/internal/document"
	documentmongo "sluice/internal/document/mongo"
	"sluice/internal/domain"
	"sluice/internal/engine"
	"sluice/internal/quota"
	"sluice/internal/quota/rate"
	"sluice/internal/refresh"
	"sluice/internal/source"
	"sluice/internal/sqlitedb"
	"sluice/internal/state"
	"sluice/internal/stats"
	"sluice/internal/timer"
	timermongo "sluice/internal/timer/mongo"
	"sluice/internal/webhook"
)

// Options describes a service.
type Options struct {
	// DataDir holds what is embedded: the database, the key and the lock.
	DataDir string
	// Holder tells other processes who has the data folder.
	Holder string
	// Servers are what several machines share; none means embedded.
	Servers Servers
	// Scheduler lets this process serve what is due for all of them.
	Scheduler bool
	Sources   []source.Source
	Quota     quota.Config
	Engine    engine.Config
	Timers    Timers
	Refresh   Refresh
	// WrapState, WrapDispatch, WrapQuota and MaxPages let tests break parts.
	WrapState    func(state.Store) state.Store
	WrapDispatch func(dispatch.Dispatcher) dispatch.Dispatcher
	WrapQuota    func(quota.Keeper) quota.Keeper
	MaxPages     int
	// Statistics replaces the real statistics, for benchmarks of the engine.
	Statistics engine.Statistics
}

// Timers is how timers are triggered and delivered.
type Timers struct {
	// Keyspace lets key expiry trigger them, where there is Redis.
	Keyspace bool
	Webhook  webhook.Options
	// Hook is told of every completion, at least once; nil is nobody.
	Hook func(ctx context.Context, c timer.Completion) error
	// Server names this process in the log of completions; by default it is the
	// machine's name and the process's number.
	Server string
}

// Servers names the servers to use instead of what is embedded.
type Servers struct {
	// State is mysql://… and Redis redis://…; they go together.
	State, Redis string
	// RedisPrefix begins all keys; "" is the default.
	RedisPrefix string
	// Mongo is mongodb://…; "" keeps documents beside the state.
	Mongo string
	// KeyFile holds the key that seals credentials, the same on every machine.
	KeyFile string
}

// Shared says whether several processes work together.
func (s Servers) Shared() bool { return s.State != "" || s.Redis != "" }

// Check refuses what does not go together.
func (s Servers) Check() error {
	switch {
	case s.Redis != "" && s.State == "":
		return domain.Errorf(domain.CodeInvalid, "--redis needs --state mysql://…: processes on several machines cannot share the embedded database")
	case s.State != "" && s.Redis == "":
		return domain.Errorf(domain.CodeInvalid, "--state needs --redis redis://…: processes that share a database hand each other work and count calls through Redis")
	case s.Shared() && s.KeyFile == "":
		return domain.Errorf(domain.CodeInvalid, "several machines need one key for the credentials they store: make one with `openssl rand -hex 32 > sluice.key` and give it to each with --key-file")
	}
	return nil
}

// Counts tells how often a database was asked.
type Counts interface {
	Transactions() int64
	Reads() int64
}

// Service is an assembled engine with its parts.
type Service struct {
	// DB is the embedded database; nil where there is none.
	DB         *sqlitedb.DB
	SQL        Counts
	State      state.Store
	Documents  document.Reader
	Dispatch   dispatch.Dispatcher
	Quota      quota.Keeper
	Statistics *stats.Computer
	Engine     *engine.Engine
	Timers     *timer.Service
	// Refreshes is nil where no snapshots are kept.
	Refreshes *refresh.Pipeline
	// Archive is nil where old values stay in the store.
	Archive *archive.Archiver
	// Redis tells how Redis fares; nil where there is none.
	Redis func(ctx context.Context) (any, error)

	shared    bool
	rateStore rate.Store
	// aloneArchiving keeps other processes from archiving; nil if there are none.
	aloneArchiving func(ctx context.Context) (release func(), err error)
	// checks prove that the servers answer.
	checks []func(context.Context) error
	// closers end what the service opened, last first.
	closers []func() error
	// background are what runs beside the engine while it is started.
	background []func(context.Context) error
	stop       context.CancelFunc
	stopped    chan struct{}
}

// Open assembles a service; the caller starts it and closes it.
func Open(ctx context.Context, o Options) (*Service, error) {
	if err := o.Servers.Check(); err != nil {
		return nil, err
	}
	if o.Engine.Log == nil {
		o.Engine.Log = slog.New(slog.DiscardHandler)
	}
	s := &Service{shared: o.Servers.Shared()}
	if err := s.assemble(ctx, o); err != nil {
		return nil, errors.Join(err, s.closeAll())
	}
	return s, nil
}

func (s *Service) assemble(ctx context.Context, o Options) error {
	ports := parts{Ports: engine.Ports{Sources: o.Sources}}
	if err := s.openMongo(ctx, o, &ports); err != nil {
		return err
	}
	open := s.openEmbedded
	if s.shared {
		open = s.openShared
		o.Engine.Shared = true
	}
	if err := open(ctx, o, &ports); err != nil {
		return err
	}
	if err := s.openTimers(o, ports.timers); err != nil {
		return err
	}
	if err := s.openPipeline(ctx, o, ports.refresh); err != nil {
		return err
	}
	if o.WrapState != nil {
		ports.State = o.WrapState(ports.State)
	}
	if o.WrapDispatch != nil {
		ports.Dispatch = o.WrapDispatch(ports.Dispatch)
	}
	if o.WrapQuota != nil {
		ports.Quota = o.WrapQuota(ports.Quota)
	}
	s.State, s.Dispatch, s.Quota = ports.State, ports.Dispatch, ports.Quota
	s.Statistics = stats.New(s.Documents, s.State, o.Engine.Now)
	ports.Statistics = s.Statistics
	if o.Statistics != nil {
		ports.Statistics = o.Statistics
	}
	var err error
	s.Engine, err = engine.New(ports.Ports, o.Engine)
	return err
}

// parts are what the adapters are gathered in.
type parts struct {
	engine.Ports
	timers  timer.Options
	refresh refresh.Parts
}

// openMongo opens the separate document store, if there is one.
func (s *Service) openMongo(ctx context.Context, o Options, ports *parts) error {
	if o.Servers.Mongo == "" {
		return nil
	}
	documents, err := documentmongo.Open(ctx, documentmongo.Options{URL: o.Servers.Mongo})
	if err != nil {
		return err
	}
	s.closers = append(s.closers, func() error { return documents.Close(context.WithoutCancel(ctx)) })
	s.checks = append(s.checks, documents.Check)
	s.Documents, ports.Documents = documents, documents
	log, err := timermongo.Open(ctx, timermongo.Options{URL: o.Servers.Mongo})
	if err != nil {
		return err
	}
	s.closers = append(s.closers, func() error { return log.Close(context.WithoutCancel(ctx)) })
	ports.timers.Log = log
	return nil
}

// Check proves that everything the service needs works.
func (s *Service) Check(ctx context.Context) error {
	failed := s.State.Check(ctx)
	for _, check := range s.checks {
		failed = errors.Join(failed, check(ctx))
	}
	return failed
}

// Start sets the service to work.
func (s *Service) Start(ctx context.Context) error {
	if err := s.Engine.Start(ctx); err != nil {
		return err
	}
	if err := s.Timers.Start(ctx); err != nil {
		return err
	}
	if s.Refreshes != nil {
		s.Refreshes.Start(ctx)
	}
	if len(s.background) == 0 || s.stop != nil {
		return nil
	}
	ctx, s.stop = context.WithCancel(context.WithoutCancel(ctx))
	s.stopped = make(chan struct{}, len(s.background))
	for _, run := range s.background {
		go func() {
			// It ends with ctx alone; what goes wrong before is logged and
			// tried again where it happens.
			_ = run(ctx)
			s.stopped <- struct{}{}
		}()
	}
	return nil
}

// Close stops the engine, gracefully until ctx ends, and closes the stores.
func (s *Service) Close(ctx context.Context) error {
	if s.Refreshes != nil {
		s.Refreshes.Stop()
	}
	s.Timers.Stop(ctx)
	err := s.Engine.Stop(ctx)
	if s.stop != nil {
		s.stop()
		for range s.background {
			<-s.stopped
		}
		s.stop = nil
	}
	return errors.Join(err, s.closeAll())
}

func (s *Service) closeAll() error {
	var failed error
	for i := len(s.closers) - 1; i >= 0; i-- {
		failed = errors.Join(failed, s.closers[i]())
	}
	s.closers = nil
	return failed
}

// WaitRun blocks until a run has ended, however it ended, or its account is
// paused.
func (s *Service) WaitRun(ctx context.Context, id int64) (domain.Run, error) {
	changed, end := s.Engine.Watch()
	defer end()
	// Whoever waits for another process looks for himself now and then.
	missed := time.NewTicker(dispatch.MaxWait)
	defer missed.Stop()
	for seen := int64(-1); ; {
		// The engine speaks up for every job; the row is read only when a run
		// has ended, so that waiting costs the engine nothing. What ends in
		// another process is not counted here, but that speaks up seldom.
		if ended := s.Engine.Counters().RunsEnded.Load(); ended != seen || s.shared {
			seen = ended
			run, err := s.State.Run(ctx, id)
			if err != nil || !run.Status.Active() {
				return run, err
			}
		}
		select {
		case <-changed:
		case <-missed.C:
		case <-ctx.Done():
			return domain.Run{}, ctx.Err()
		}
	}
}
