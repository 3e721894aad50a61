// Package wiring puts an engine together from its adapters. It is the one
// place that knows them all; commands, tests and benchmarks get the same
// assembly from here.
package wiring

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"sluice/internal/access"
	"sluice/internal/archive"
	"sluice/internal/backend/sqlite"
	"sluice/internal/config"
	"sluice/internal/dispatch"
	"sluice/internal/document"
	"sluice/internal/document/wordindex"
	"sluice/internal/domain"
	"sluice/internal/engine"
	"sluice/internal/idempotency"
	"sluice/internal/lifecycle"
	"sluice/internal/notify"
	"sluice/internal/query"
	"sluice/internal/quota"
	"sluice/internal/record"
	"sluice/internal/refresh"
	"sluice/internal/sink"
	"sluice/internal/sink/hook"
	"sluice/internal/source"
	"sluice/internal/state"
	"sluice/internal/stats"
	"sluice/internal/timer"
	"sluice/internal/watch"
	"sluice/internal/webhook"
)

// Options describes a service: its settings, and what only code can hand in.
type Options struct {
	// Config are the settings; the zero value is everything embedded, by the
	// defaults of the parts.
	Config config.Config
	// Look says that nothing may be made or migrated: whoever looks at data of
	// another version is told so.
	Look bool
	// Read says that nothing may be changed either: the data folder is not locked,
	// and the service cannot be started.
	Read bool
	// Holder tells other processes who has the data folder.
	Holder  string
	Sources []source.Source
	Quota   quota.Config
	// Added tells, by the records of the store, which other sources there are; nil if
	// there are none. What they grant is added to Quota.
	Added func(ctx context.Context, records record.Store) ([]source.Source, error)
	// Engine is what no setting says, such as its clock, its log and its tracer,
	// which are those of all parts. What it leaves zero is as Config says.
	Engine  engine.Config
	Timers  Timers
	Refresh Refresh
	// Meter measures the parts; nil is nobody.
	Meter Meter
	// WrapState, WrapDispatch, WrapQuota and MaxPages let tests break parts.
	WrapState    func(state.Store) state.Store
	WrapDispatch func(dispatch.Dispatcher) dispatch.Dispatcher
	WrapQuota    func(quota.Keeper) quota.Keeper
	MaxPages     int
	// Inferred, if set, is told that columns were inferred while the service works: its
	// tables have them when it is opened again.
	Inferred func()
	// Version is the program's, for people.
	Version string
	// Statistics replaces the real statistics, for benchmarks of the engine.
	Statistics engine.Statistics
}

// Timers is what no setting says about timers.
type Timers struct {
	Webhook webhook.Options
	// Hook is told of every completion, at least once; nil is nobody.
	Hook func(ctx context.Context, c timer.Completion) error
	// Server names this process in the log of completions; by default it is the
	// machine's name and the process's number.
	Server string
}

// Counts tells how often a database was asked.
type Counts interface {
	Transactions() int64
	Reads() int64
}

// Service is an assembled engine with its parts.
type Service struct {
	// DB is the embedded database; nil where there is none.
	DB    *sqlite.DB
	SQL   Counts
	State state.Store
	// Sources are what is collected in runs, those included that were added.
	Sources []source.Description
	// Kinds are those of the documents, as the sources declare them.
	Kinds document.Kinds
	// Room makes room for documents of kinds that are to be collected later.
	Room      func(ctx context.Context, kinds document.Kinds) error
	columns   columns
	Documents document.Reader
	// Feed, Finder and Lister are of the store of the documents; nil where it has
	// none of it.
	Feed   document.Feed
	Finder document.Finder
	Lister document.Lister
	// Queries answers SQL; nil where nothing does.
	Queries query.Store
	// Search finds documents by their words; nil where no index is kept.
	Search     *wordindex.Searcher
	Dispatch   dispatch.Dispatcher
	Quota      quota.Keeper
	Statistics *stats.Computer
	Engine     *engine.Engine
	Timers     *timer.Service
	// Notifications tells people what happened.
	Notifications *notify.Service
	// Sinks carry documents elsewhere.
	Sinks *sink.Service
	// Refreshes is nil where no snapshots are kept.
	Refreshes *refresh.Pipeline
	// Archive is nil where old values stay in the store.
	Archive *archive.Archiver
	// Fleet is what the installation consists of.
	Fleet *Fleet
	// Redis tells how Redis fares; nil where there is none.
	Redis func(ctx context.Context) (any, error)
	// Tokens are those of the API, and Audit who changed what.
	Tokens *access.Tokens
	Audit  *access.Audit
	// Records are small named values that processes share.
	Records record.Store
	// Signals tells other processes that something changed; nil if there are none.
	Signals watch.Signals
	// Alone keeps other processes from doing what has a name; nil if there are none.
	Alone func(ctx context.Context, what string) (release func(), err error)

	shared bool
	// aloneArchiving keeps other processes from archiving; nil if there are none.
	aloneArchiving func(ctx context.Context) (release func(), err error)
	// Keys keeps the answers to requests that may be sent again.
	Keys *idempotency.Keeper
	// checks prove that the servers answer.
	checks []Check
	// closers end what the service opened, last first.
	closers []func() error
	// background are what runs beside the engine while it is started.
	background []func(context.Context) error
	runner     *lifecycle.Runner
}

// Open assembles a service; the caller starts it and closes it.
func Open(ctx context.Context, o Options) (*Service, error) {
	if err := o.Config.Servers.Validate(); err != nil {
		return nil, err
	}
	// Of what is added below, the stores need to know the times alone.
	o.Engine = o.Config.Engine(o.Engine)
	if o.Engine.Log == nil {
		o.Engine.Log = slog.New(slog.DiscardHandler)
	}
	s := &Service{shared: o.Config.Servers.Shared(), runner: lifecycle.NewRunner(), Fleet: newFleet(o)}
	if err := s.assemble(ctx, &o); err != nil {
		return nil, errors.Join(err, s.closeAll())
	}
	return s, nil
}

func (s *Service) assemble(ctx context.Context, o *Options) error {
	ports := parts{}
	open := s.openEmbedded
	if s.shared {
		open = s.openShared
	}
	if err := open(ctx, o, &ports); err != nil {
		return err
	}
	s.Room = func(ctx context.Context, kinds document.Kinds) error {
		_, err := s.columns.reopen(ctx, kinds)
		return err
	}
	return s.join(ctx, *o, ports)
}

// join puts the engine together from what was opened.
func (s *Service) join(ctx context.Context, o Options, ports parts) error {
	s.openChanges()
	ports.timers.Store = measureTimers(o.Meter, ports.timers.Store)
	if err := s.openNotifications(&o, ports.notifications); err != nil {
		return err
	}
	if err := s.openTimers(o, ports.timers); err != nil {
		return err
	}
	if err := s.openPipeline(ctx, o, ports.refresh); err != nil {
		return err
	}
	if o.WrapState != nil {
		ports.store = o.WrapState(ports.store)
	}
	if o.WrapDispatch != nil {
		ports.Dispatch = o.WrapDispatch(ports.Dispatch)
	}
	if o.WrapQuota != nil {
		ports.Quota = o.WrapQuota(ports.Quota)
	}
	ports.State = state.PartsOf(ports.store)
	s.measureEngine(&o, &ports)
	ports.Feed, ports.Collected = s.Feed, s.Documents
	s.State, s.Dispatch, s.Quota = ports.store, ports.Dispatch, ports.Quota
	s.Statistics = stats.New(s.Documents, s.State, s.Kinds, o.Engine.Now)
	ports.Statistics = s.Statistics
	if o.Statistics != nil {
		ports.Statistics = o.Statistics
	}
	var err error
	if s.Engine, err = engine.New(ports.Ports, o.Engine); err != nil {
		return err
	}
	s.openSearch(o, ports.words)
	return s.openSinks(o, ports.sinks) //nolint:contextcheck // opening a target asks nothing of it yet
}

// parts are what the adapters are gathered in.
type parts struct {
	engine.Ports
	store   state.Store
	timers  timer.Options
	refresh refresh.Parts
	// notifications are where those are kept.
	notifications notify.Store
	// words is the index of what documents say, beside them.
	words wordindex.Index
	// sinks is where is kept what their targets cannot keep.
	sinks hook.Store
}

// Check proves that something works that the service needs.
type Check struct {
	Name  string
	Check func(ctx context.Context) error
}

// Checks are what prove that the service works.
func (s *Service) Checks() []Check {
	engine := func(context.Context) error { return s.Engine.Err() }
	return append([]Check{{"engine", engine}, {"state", s.State.Check}}, s.checks...)
}

// Check proves that everything the service needs works.
func (s *Service) Check(ctx context.Context) error {
	var failed error
	for _, check := range s.Checks() {
		failed = errors.Join(failed, check.Check(ctx))
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
		if err := s.Refreshes.Start(ctx); err != nil {
			return err
		}
	}
	return s.runner.Start(ctx, func(context.Context) error { return nil }, s.run)
}

// run lets what is beside the engine work until ctx ends.
func (s *Service) run(ctx, _ context.Context) {
	var parts []func(context.Context)
	for _, run := range s.background {
		// It ends with ctx alone; what goes wrong before is logged and tried
		// again where it happens.
		parts = append(parts, func(ctx context.Context) { _ = run(ctx) })
	}
	lifecycle.Group(ctx, parts...)
}

// Close stops the engine, gracefully until ctx ends, and closes the stores.
func (s *Service) Close(ctx context.Context) error {
	var failed error
	if s.Refreshes != nil {
		failed = s.Refreshes.Stop(ctx)
	}
	failed = errors.Join(failed, s.Timers.Stop(ctx), s.Engine.Stop(ctx))
	s.runner.Stop()
	s.columns.settle(ctx, s)
	return errors.Join(failed, s.closeAll())
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
	// Whoever waits for another process checks now and then on its own.
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
		case <-s.Engine.Failed():
			return domain.Run{}, s.Engine.Err()
		case <-ctx.Done():
			return domain.Run{}, ctx.Err()
		}
	}
}
