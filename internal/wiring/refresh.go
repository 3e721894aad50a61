package wiring

import (
	"context"

	"sluice/internal/backend/kafka"
	"sluice/internal/backend/memory"
	"sluice/internal/backend/redis"
	"sluice/internal/backend/relational"
	"sluice/internal/backend/sqlite"
	"sluice/internal/quota/rate"
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

// RefreshOf keeps the records of sources fresh. Of the settings, the hours and the
// day's reserve are those of the first.
func RefreshOf(records []source.Records, settings refresh.Settings) Refresh {
	r := Refresh{Upstreams: map[string]refresh.Upstream{}, Limits: map[string]rate.Limits{}, Settings: settings}
	for i, one := range records {
		limits := one.Limits()
		if i == 0 {
			r.Settings.Zone, r.Settings.DailyReserve = limits.Zone, limits.DailyReserve
		}
		r.Upstreams[one.Name()], r.Limits[one.Name()] = one, limits
	}
	return r
}

// cacheBytes is how much of what was read a connection keeps.
const cacheBytes = 64 << 20

func (r Refresh) wanted() bool { return len(r.Upstreams) > 0 }

// refreshEmbedded fills in the parts of a pipeline in one process.
func (s *Service) refreshEmbedded(o Options, db *sqlite.DB, p *refresh.Parts) (err error) {
	if !o.Refresh.wanted() {
		return nil
	}
	if p.Snapshots, err = sqlite.NewSnapshots(db, refresh.TierOptions{}); err != nil {
		return err
	}
	p.Coalescer = memory.NewCoalescer(refresh.CoalescerTTLs{}, o.Engine.Now)
	p.Cache = memory.NewCache(memory.CacheOptions{Now: o.Engine.Now})
	p.Log = sqlite.NewEventLog(db, sqlite.EventLogOptions{Log: o.Engine.Log})
	p.Rate, err = memory.NewRate(o.Refresh.Limits, memory.RateOptions{Store: sqlite.NewRateDays(db), Now: o.Engine.Now})
	return err
}

// refreshShared fills in the parts of a pipeline of several processes.
func (s *Service) refreshShared(o Options, db *relational.DB, p *refresh.Parts) (err error) {
	if !o.Refresh.wanted() {
		return nil
	}
	p.Snapshots, err = relational.NewSnapshots(db, refresh.TierOptions{})
	s.aloneArchiving = func(ctx context.Context) (func(), error) { return db.Alone(ctx, "archive") }
	s.rateStore = relational.NewRateDays(db)
	return err
}

// refreshRedis fills in what several processes share through Redis.
func (s *Service) refreshRedis(ctx context.Context, o Options, db *redis.DB, p *refresh.Parts) error {
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
	p.Rate, err = redis.NewRate(db, o.Refresh.Limits, redis.RateOptions{Store: s.rateStore})
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
