package wiring

import (
	"context"

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
)

// openShared opens the ports of a service that works with others.
func (s *Service) openShared(ctx context.Context, o Options, ports *engine.Ports) error {
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
	return s.openRedis(ctx, o, store, ports)
}

func (s *Service) openRedis(ctx context.Context, o Options, store state.Store, ports *engine.Ports) error {
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
	return nil
}

// counts are those of a database that does not tell reads from writes.
type counts struct{ db *mysqldb.DB }

// Transactions implements Counts.
func (c counts) Transactions() int64 { return int64(c.db.Transactions()) }

// Reads implements Counts.
func (counts) Reads() int64 { return 0 }
