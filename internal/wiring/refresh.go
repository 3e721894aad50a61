package wiring

import (
	"context"

	"sluice/internal/backend/kafka"
	"sluice/internal/backend/memory"
	"sluice/internal/backend/redis"
	"sluice/internal/backend/relational"
	"sluice/internal/backend/sqlite"
	"sluice/internal/quota/paced"
	"sluice/internal/quota/rate"
	"sluice/internal/ration/keeper"
	"sluice/internal/refresh"
	"sluice/internal/source"
)

// Refresh is whose snapshots are kept fresh, and what they allow.
type Refresh struct {
	// Upstreams by source; none means that there is no refresh pipeline.
	Upstreams map[string]refresh.Upstream
	// Limits are what each of them allows.
	Limits   map[string]rate.Limits
	Settings refresh.Settings
}

// RefreshOf keeps the records of sources fresh.
func RefreshOf(records []source.Records, settings refresh.Settings) Refresh {
	r := Refresh{Upstreams: map[string]refresh.Upstream{}, Limits: map[string]rate.Limits{}, Settings: settings}
	for _, one := range records {
		r.Upstreams[one.Name()], r.Limits[one.Name()] = one, one.Limits()
	}
	return r
}

// tiers are how fresh each record is kept.
func (r Refresh) tiers() refresh.TierOptions {
	return refresh.TierOptions{Of: (&refresh.Parts{Upstreams: r.Upstreams}).Pace()}
}

// cacheBytes is how much of what was read a connection keeps.
const cacheBytes = 64 << 20

func (r Refresh) wanted() bool { return len(r.Upstreams) > 0 }

// refreshEmbedded fills in the parts of a pipeline in one process.
func (s *Service) refreshEmbedded(o Options, db *sqlite.DB, rations keeper.Keeper, p *refresh.Parts) (err error) {
	if !o.Refresh.wanted() {
		return nil
	}
	if p.Snapshots, err = sqlite.NewSnapshots(db, o.Refresh.tiers()); err != nil {
		return err
	}
	p.Coalescer = memory.NewCoalescer(refresh.CoalescerTTLs{}, o.Engine.Now)
	p.Cache = memory.NewCache(memory.CacheOptions{Now: o.Engine.Now})
	p.Log = sqlite.NewEventLog(db, sqlite.EventLogOptions{Log: o.Engine.Log})
	p.Rate, err = paced.New(o.Refresh.Limits, rations, paced.Options{Now: o.Engine.Now})
	return err
}

// refreshShared fills in the parts of a pipeline of several processes.
func (s *Service) refreshShared(o Options, db *relational.DB, p *refresh.Parts) (err error) {
	if !o.Refresh.wanted() {
		return nil
	}
	p.Snapshots, err = relational.NewSnapshots(db, o.Refresh.tiers())
	s.aloneArchiving = func(ctx context.Context) (func(), error) { return db.Alone(ctx, "archive") }
	return err
}

// refreshRedis fills in what several processes share through Redis.
func (s *Service) refreshRedis(ctx context.Context, o Options, db *redis.DB, rations keeper.Keeper, p *refresh.Parts) error {
	if !o.Refresh.wanted() {
		return nil
	}
	// Connections that Redis tells of changes are kept apart from the others.
	caching, err := redis.Open(ctx, redis.Options{URL: o.Config.Servers.Redis, Prefix: o.Config.Servers.RedisPrefix, Cache: cacheBytes, Observe: observeRedis(o)})
	if err != nil {
		return err
	}
	s.closers = append(s.closers, func() error { caching.Close(); return nil })
	p.Cache = redis.NewCache(caching, redis.CacheOptions{Log: o.Engine.Log})
	p.Coalescer = redis.NewCoalescer(db, refresh.CoalescerTTLs{})
	p.Log = redis.NewEventLog(db, redis.EventLogOptions{Log: o.Engine.Log})
	p.Signals = redis.NewSignals(db, db.Key("refresh:stored"), o.Engine.Log)
	p.Rate, err = paced.New(o.Refresh.Limits, rations, paced.Options{})
	return err
}

// openPipeline puts the refresh pipeline together, if there is to be one.
func (s *Service) openPipeline(ctx context.Context, o Options, p refresh.Parts) error {
	if !o.Refresh.wanted() {
		return nil
	}
	if o.Config.Refresh.Kafka != "" {
		log, err := kafka.NewEventLog(ctx, KafkaOptions(o.Config, o.Engine.Log))
		if err != nil {
			return err
		}
		p.Log = log
		s.Fleet.works("refresh log", log)
	}
	s.closers = append(s.closers, closeLog(ctx, p.Log))
	s.checks = append(s.checks, Check{"refresh log", p.Log.Check})
	p.InProcess = !s.shared && o.Config.Refresh.Kafka == ""
	p.Upstreams, p.Now, p.Slog = o.Refresh.Upstreams, o.Engine.Now, o.Engine.Log
	measureRefreshes(o.Meter, o.Refresh.Limits, &p)
	p.Tracer = o.Engine.Tracer
	p.BreakerOpened, p.Buried = s.Notifications.BreakerOpened, s.Notifications.Changed
	if err := s.openArchive(ctx, o, p.Snapshots); err != nil {
		return err
	}
	var err error
	s.Refreshes, err = refresh.NewPipeline(p, o.Refresh.Settings)
	return err
}

func closeLog(ctx context.Context, log refresh.EventLog) func() error {
	return func() error { return log.Close(context.WithoutCancel(ctx)) }
}
