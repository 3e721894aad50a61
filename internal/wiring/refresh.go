package wiring

import (
	"context"

	"sluice/internal/mysqldb"
	"sluice/internal/quota/rate"
	ratememory "sluice/internal/quota/rate/memory"
	ratemysql "sluice/internal/quota/rate/mysql"
	rateredis "sluice/internal/quota/rate/redis"
	ratesqlite "sluice/internal/quota/rate/sqlite"
	"sluice/internal/redisdb"
	"sluice/internal/refresh"
	cachememory "sluice/internal/refresh/cache/memory"
	cacheredis "sluice/internal/refresh/cache/redis"
	"sluice/internal/refresh/coalesce"
	coalescememory "sluice/internal/refresh/coalesce/memory"
	coalesceredis "sluice/internal/refresh/coalesce/redis"
	"sluice/internal/refresh/eventlog"
	eventlogembedded "sluice/internal/refresh/eventlog/embedded"
	eventlogkafka "sluice/internal/refresh/eventlog/kafka"
	eventlogredis "sluice/internal/refresh/eventlog/redis"
	refreshmysql "sluice/internal/refresh/mysql"
	refreshsqlite "sluice/internal/refresh/sqlite"
	"sluice/internal/sqlitedb"
)

// Refresh is whose snapshots are kept fresh, and how.
type Refresh struct {
	// Upstreams by source; none means that there is no refresh pipeline.
	Upstreams map[string]refresh.Upstream
	// Limits are what each of them allows.
	Limits   map[string]rate.Limits
	Settings refresh.Settings
	// Kafka names brokers; "" is Redis, or the embedded database.
	Kafka string
	// Archive is a folder or a bucket for values that are older than 30 days;
	// "" keeps them in the store.
	Archive string
}

// cacheBytes is how much of what was read a connection keeps.
const cacheBytes = 64 << 20

func (r Refresh) wanted() bool { return len(r.Upstreams) > 0 }

// refreshEmbedded fills in the parts of a pipeline in one process.
func (s *Service) refreshEmbedded(o Options, db *sqlitedb.DB, p *refresh.Parts) (err error) {
	if !o.Refresh.wanted() {
		return nil
	}
	if p.Snapshots, err = refreshsqlite.New(db, refresh.TierOptions{}); err != nil {
		return err
	}
	p.Coalescer = coalescememory.New(coalesce.Lives{}, o.Engine.Now)
	p.Cache = cachememory.New(cachememory.Options{Now: o.Engine.Now})
	p.Log = eventlogembedded.New(db, eventlogembedded.Options{Log: o.Engine.Log})
	p.Rate, err = ratememory.New(o.Refresh.Limits, ratememory.Options{Store: ratesqlite.New(db), Now: o.Engine.Now})
	return err
}

// refreshShared fills in the parts of a pipeline of several processes.
func (s *Service) refreshShared(o Options, db *mysqldb.DB, p *refresh.Parts) (err error) {
	if !o.Refresh.wanted() {
		return nil
	}
	p.Snapshots, err = refreshmysql.New(db, refresh.TierOptions{})
	s.aloneArchiving = func(ctx context.Context) (func(), error) { return db.Alone(ctx, "archive") }
	s.rateStore = ratemysql.New(db)
	return err
}

// refreshRedis fills in what several processes share through Redis.
func (s *Service) refreshRedis(ctx context.Context, o Options, db *redisdb.DB, p *refresh.Parts) error {
	if !o.Refresh.wanted() {
		return nil
	}
	// Connections that Redis tells of changes are kept apart from the others.
	caching, err := redisdb.Open(ctx, redisdb.Options{URL: o.Servers.Redis, Prefix: o.Servers.RedisPrefix, Cache: cacheBytes})
	if err != nil {
		return err
	}
	s.closers = append(s.closers, func() error { caching.Close(); return nil })
	p.Cache = cacheredis.New(caching, cacheredis.Options{Log: o.Engine.Log})
	p.Coalescer = coalesceredis.New(db, coalesce.Lives{})
	p.Log = eventlogredis.New(db, eventlogredis.Options{Log: o.Engine.Log})
	p.Signals = redisdb.NewSignals(db, db.Key("refresh:stored"), o.Engine.Log)
	p.Rate, err = rateredis.New(db, o.Refresh.Limits, rateredis.Options{Store: s.rateStore})
	return err
}

// openPipeline puts the refresh pipeline together, if there is to be one.
func (s *Service) openPipeline(ctx context.Context, o Options, p refresh.Parts) error {
	if !o.Refresh.wanted() {
		return nil
	}
	if o.Refresh.Kafka != "" {
		log, err := eventlogkafka.Open(ctx, eventlogkafka.Options{URL: "kafka://" + o.Refresh.Kafka, Log: o.Engine.Log})
		if err != nil {
			return err
		}
		p.Log = log
	}
	s.closers = append(s.closers, closeLog(ctx, p.Log))
	s.checks = append(s.checks, p.Log.Check)
	p.Upstreams, p.Now, p.Slog = o.Refresh.Upstreams, o.Engine.Now, o.Engine.Log
	if err := s.openArchive(ctx, o, p.Snapshots); err != nil {
		return err
	}
	var err error
	s.Refreshes, err = refresh.NewPipeline(p, o.Refresh.Settings)
	return err
}

func closeLog(ctx context.Context, log eventlog.Log) func() error {
	return func() error { return log.Close(context.WithoutCancel(ctx)) }
}
