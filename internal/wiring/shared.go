package wiring

import (
	"context"
	"time"

	"sluice/internal/backend/mysql"
	"sluice/internal/backend/postgres"
	"sluice/internal/backend/redis"
	"sluice/internal/backend/relational"
	"sluice/internal/config"
	"sluice/internal/dispatch"
	"sluice/internal/document"
	"sluice/internal/engine"
	"sluice/internal/idempotency"
	"sluice/internal/query"
	"sluice/internal/ration/keeper"
	"sluice/internal/state"
)

// openSQL opens the database of a URL, by its scheme. Who looks makes no tables.
func openSQL(ctx context.Context, url string, look bool) (*relational.DB, error) {
	if postgres.Speaks(url) {
		return postgres.Open(ctx, postgres.Options{URL: url, Look: look})
	}
	return mysql.Open(ctx, mysql.Options{URL: url, Look: look})
}

// openShared opens the ports of a service that works with others.
func (s *Service) openShared(ctx context.Context, o *Options, ports *parts) error {
	db, err := openSQL(ctx, o.Config.Servers.State, o.Look)
	if err != nil {
		return err
	}
	s.closers = append(s.closers, db.Close)
	s.SQL, s.Records = counts{db}, relational.NewRecords(db)
	s.Alone = db.Alone
	s.Fleet.works("state", db)
	s.columns.reopen = func(ctx context.Context, kinds document.Kinds) (document.Reader, error) {
		return relational.NewDocuments(ctx, db, kinds)
	}
	if err := s.openSources(ctx, o, ports); err != nil {
		return err
	}
	var beside relational.DocumentWriter
	if s.Documents == nil {
		documents, err := relational.NewDocuments(ctx, db, s.Kinds)
		if err != nil {
			return err
		}
		s.Documents, beside, ports.words = documents, documents, relational.NewWords(db)
		if err := s.openQueries(o.Config.Servers.SQLReader); err != nil {
			return err
		}
	}
	store := relational.NewState(db, beside, o.Engine.Now)
	if ports.Vault, err = openVault(ctx, *o, store); err != nil {
		return err
	}
	if err := s.openAccess(ctx, *o, relational.NewAccess(db)); err != nil {
		return err
	}
	ports.store = store
	s.openBackfill(*o, relational.NewFillings(db))
	s.Keys = idempotency.NewKeeper(relational.NewIdempotency(db), ports.Vault, o.Engine.Now)
	ports.timers.Store = relational.NewTimers(db)
	ports.sinks = relational.NewSinks(db)
	ports.notifications, ports.Origins = relational.NewNotifications(db), relational.NewOrigins(db)
	if err := s.refreshShared(*o, db, &ports.refresh); err != nil {
		return err
	}
	return s.openRedis(ctx, *o, store, relational.NewRations(db), ports)
}

// openQueries opens what answers SQL, if there is a user for it.
func (s *Service) openQueries(url string) error {
	if url == "" {
		return nil
	}
	open := mysql.OpenQueries
	if postgres.Speaks(url) {
		open = postgres.OpenQueries
	}
	queries, err := open(url)
	if err != nil {
		return err
	}
	s.closers = append(s.closers, queries.Close)
	s.Queries = query.NewLimited(queries, 0)
	return nil
}

func (s *Service) openRedis(ctx context.Context, o Options, store state.Quotas, stored keeper.Store, ports *parts) error {
	db, err := redis.Open(ctx, redis.Options{URL: o.Config.Servers.Redis, Prefix: o.Config.Servers.RedisPrefix, Observe: observeRedis(o)})
	if err != nil {
		return err
	}
	s.closers = append(s.closers, func() error { db.Close(); return nil })
	s.checks = append(s.checks, Check{"redis", db.Ping})
	s.meets(db, o)
	dispatcher, err := redis.NewDispatcher(ctx, db, s.observeScheduler(o, redis.DispatcherOptions{
		Lease: o.Engine.Lease, LaneLimit: o.Quota.Concurrency, OnLoss: engine.OnLoss(), OnLead: engine.OnLead, Log: o.Engine.Log,
	}))
	if err != nil {
		return err
	}
	//nolint:contextcheck // it gives itself the time it needs, whatever became of the caller
	s.closers = append(s.closers, func() error { dispatcher.Close(); return nil })
	if o.Config.Service.Roles.Has(config.RoleScheduler) {
		s.background = append(s.background, dispatcher.Schedule)
	}
	ports.Dispatch, ports.Signals = dispatcher, dispatcher
	changes := redis.NewSignals(db, db.Key("sources:changed"), o.Engine.Log)
	s.closers = append(s.closers, func() error { changes.Close(); return nil })
	s.Signals = changes
	rations := redis.NewRations(db, redis.RationsOptions{Store: stored})
	if err := openQuota(ctx, o, store, rations, stored, ports); err != nil {
		return err
	}
	ports.Results = redis.NewResults(db, redis.ResultsOptions{})
	s.Redis = func(ctx context.Context) (any, error) { return describeRedis(ctx, db, dispatcher) }
	if err := s.refreshRedis(ctx, o, db, rations, &ports.refresh); err != nil {
		return err
	}
	return s.openTrigger(ctx, o, db, ports)
}

// observeRedis lets commands be measured.
func observeRedis(o Options) func(command string, took time.Duration, failed error) {
	if o.Meter == nil {
		return nil
	}
	return o.Meter.RedisCommand
}

// observeScheduler lets the scheduler be watched.
func (s *Service) observeScheduler(o Options, d redis.DispatcherOptions) redis.DispatcherOptions {
	d.Leads = s.Fleet.leads.Store
	if o.Meter != nil {
		d.Slept = o.Meter.SchedulerSlept
		d.Leads = func(leads bool) {
			s.Fleet.leads.Store(leads)
			o.Meter.SchedulerLeads(leads)
		}
	}
	return d
}

// openTrigger opens what fires timers for all processes.
func (s *Service) openTrigger(ctx context.Context, o Options, db *redis.DB, ports *parts) error {
	options := redis.DueSetOptions{Log: o.Engine.Log}
	ports.timers.Signals = redis.NewTimerSignals(db, o.Engine.Log)
	if o.Config.Timers.Trigger != config.TriggerKeyspace {
		trigger, err := redis.NewTimerDueSet(ctx, db, options)
		if err != nil {
			return err
		}
		s.closers = append(s.closers, func() error { trigger.Close(); return nil })
		ports.timers.Trigger = trigger
		return nil
	}
	trigger, err := redis.NewKeyspaceTrigger(ctx, db, options)
	if err != nil {
		return err
	}
	s.closers = append(s.closers, func() error { trigger.Close(); return nil })
	ports.timers.Trigger = trigger
	return nil
}

// RedisStats is what is told about Redis.
type RedisStats struct {
	Nodes []redis.NodeStats `json:"nodes"`
	// Lengths are how many entries the system's own keys hold.
	Lengths  map[string]int64 `json:"lengths"`
	Dispatch dispatch.Stats   `json:"dispatch"`
}

func describeRedis(ctx context.Context, db *redis.DB, d dispatch.Dispatcher) (RedisStats, error) {
	var out RedisStats
	var err error
	if out.Nodes, err = db.Stats(ctx); err != nil {
		return out, err
	}
	out.Lengths, err = db.Lengths(ctx,
		[]string{db.Key("due:timers"), db.Key("jobs:delayed"), db.Key("jobs:leases")},
		[]string{db.Key("jobs:high"), db.Key("jobs:low")})
	if err != nil {
		return out, err
	}
	out.Dispatch, err = d.Stats(ctx)
	return out, err
}

// counts are those of a database that counts from zero up.
type counts struct{ db *relational.DB }

// Transactions implements Counts.
func (c counts) Transactions() int64 { return int64(c.db.Transactions()) }

// Reads implements Counts.
func (c counts) Reads() int64 { return int64(c.db.Reads()) }
