package wiring

import (
	"context"

	"sluice/internal/dispatch"
	dispatchredis "sluice/internal/dispatch/redis"
	documentmysql "sluice/internal/document/mysql"
	"sluice/internal/engine"
	"sluice/internal/mysqldb"
	pendingredis "sluice/internal/pending/redis"
	"sluice/internal/quota"
	quotaredis "sluice/internal/quota/redis"
	"sluice/internal/redisdb"
	"sluice/internal/state"
	statemysql "sluice/internal/state/mysql"
	timermysql "sluice/internal/timer/mysql"
	timerredis "sluice/internal/timer/redis"
)

// openShared opens the ports of a service that works with others.
func (s *Service) openShared(ctx context.Context, o Options, ports *parts) error {
	db, err := mysqldb.Open(ctx, mysqldb.Options{URL: o.Servers.State})
	if err != nil {
		return err
	}
	s.closers = append(s.closers, db.Close)
	s.SQL = counts{db}
	var beside statemysql.DocumentWriter
	if s.Documents == nil {
		documents, err := documentmysql.New(db)
		if err != nil {
			return err
		}
		s.Documents, beside = documents, documents
	}
	store, err := statemysql.Open(ctx, db, beside, o.Engine.Now)
	if err != nil {
		return err
	}
	if ports.Vault, err = openVault(o); err != nil {
		return err
	}
	ports.State = store
	ports.timers.Store = timermysql.New(db)
	if err := s.refreshShared(o, db, &ports.refresh); err != nil {
		return err
	}
	return s.openRedis(ctx, o, store, ports)
}

func (s *Service) openRedis(ctx context.Context, o Options, store state.Store, ports *parts) error {
	db, err := redisdb.Open(ctx, redisdb.Options{URL: o.Servers.Redis, Prefix: o.Servers.RedisPrefix})
	if err != nil {
		return err
	}
	s.closers = append(s.closers, func() error { db.Close(); return nil })
	s.checks = append(s.checks, db.Ping)
	dispatcher, err := dispatchredis.New(ctx, db, dispatchredis.Options{
		Lease: o.Engine.Lease, LaneLimit: o.Quota.Concurrency, OnLoss: engine.OnLoss(), Log: o.Engine.Log,
	})
	if err != nil {
		return err
	}
	//nolint:contextcheck // it gives itself the time it needs, whatever became of the caller
	s.closers = append(s.closers, func() error { dispatcher.Close(); return nil })
	if o.Scheduler {
		s.background = append(s.background, dispatcher.Schedule)
	}
	ports.Dispatch, ports.Signals = dispatcher, dispatcher
	ports.Quota = quota.Unlimited{}
	if len(o.Quota.Buckets) > 0 {
		ports.Quota = quotaredis.New(db, o.Quota, quotaredis.Options{Restore: store.QuotaWindows})
	}
	ports.Results = pendingredis.New(db, pendingredis.Options{})
	s.Redis = func(ctx context.Context) (any, error) { return describeRedis(ctx, db, dispatcher) }
	if err := s.refreshRedis(ctx, o, db, &ports.refresh); err != nil {
		return err
	}
	return s.openTrigger(ctx, o, db, ports)
}

// openTrigger opens what fires timers for all processes.
func (s *Service) openTrigger(ctx context.Context, o Options, db *redisdb.DB, ports *parts) error {
	options := timerredis.Options{Log: o.Engine.Log}
	ports.timers.Signals = timerredis.NewSignals(db, o.Engine.Log)
	if !o.Timers.Keyspace {
		trigger, err := timerredis.New(ctx, db, options)
		if err != nil {
			return err
		}
		s.closers = append(s.closers, func() error { trigger.Close(); return nil })
		ports.timers.Trigger = trigger
		return nil
	}
	trigger, err := timerredis.NewKeyspace(ctx, db, options)
	if err != nil {
		return err
	}
	s.closers = append(s.closers, func() error { trigger.Close(); return nil })
	ports.timers.Trigger = trigger
	return nil
}

// RedisStats is what is told about Redis.
type RedisStats struct {
	Nodes []redisdb.NodeStats `json:"nodes"`
	// Lengths are how many entries the system's own keys hold.
	Lengths  map[string]int64 `json:"lengths"`
	Dispatch dispatch.Stats   `json:"dispatch"`
}

func describeRedis(ctx context.Context, db *redisdb.DB, d dispatch.Dispatcher) (RedisStats, error) {
	var out RedisStats
	var err error
	if out.Nodes, err = db.Stats(ctx); err != nil {
		return out, err
	}
	out.Lengths, err = db.Lengths(ctx,
		[]string{db.Key("timers:due"), db.Key("jobs:delayed"), db.Key("jobs:leases")},
		[]string{db.Key("jobs:high"), db.Key("jobs:low")})
	if err != nil {
		return out, err
	}
	out.Dispatch, err = d.Stats(ctx)
	return out, err
}

// counts are those of a database that does not tell reads from writes.
type counts struct{ db *mysqldb.DB }

// Transactions implements Counts.
func (c counts) Transactions() int64 { return int64(c.db.Transactions()) }

// Reads implements Counts.
func (counts) Reads() int64 { return 0 }
