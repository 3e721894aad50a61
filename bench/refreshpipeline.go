package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"sluice/internal/backend/kafka"
	"sluice/internal/config"
	"sluice/internal/domain"
	"sluice/internal/engine/enginetest"
	"sluice/internal/quota/rate"
	"sluice/internal/refresh"
	"sluice/internal/source"
	"sluice/internal/wiring"
)

// upstream answers without a network.
type upstream func(ctx context.Context, key string, sent func()) refresh.Fetched

// Fetch implements refresh.Fetcher.
func (u upstream) Fetch(ctx context.Context, key string, sent func()) refresh.Fetched {
	return u(ctx, key, sent)
}

// CheckKey implements refresh.Upstream.
func (u upstream) CheckKey(key string) (string, error) { return key, nil }

// unlimited is a rate that nobody meets.
var unlimited = rate.Limits{Hard: 900_000_000, Rate: 400_000_000, Burst: 400_000_000, LowRate: 400_000_000, LowBurst: 400_000_000}

// pipeline is a refresh pipeline in this process that nobody limits.
type pipeline struct {
	*refresh.Pipeline
	locks *countedLocks
	close func() error
}

// countedLocks counts the locks that were given up, which is the last thing
// that is done for a refresh.
type countedLocks struct {
	refresh.Coalescer
	released atomic.Int64
}

// Release implements refresh.Coalescer.
func (c *countedLocks) Release(ctx context.Context, locks ...refresh.Lock) error {
	err := c.Coalescer.Release(ctx, locks...)
	if err == nil {
		c.released.Add(int64(len(locks)))
	}
	return err
}

// openPipeline puts a pipeline together on the embedded database in a folder.
func openPipeline(ctx context.Context, dir string, up refresh.Upstream) (*pipeline, error) {
	return assemblePipeline(ctx, wiring.Options{Config: config.Embedded(dir)}, up, "")
}

// openPipeline puts a pipeline together on the fleet's servers and Kafka.
func (f *fleet) openPipeline(ctx context.Context, brokers string, up refresh.Upstream) (*pipeline, error) {
	return assemblePipeline(ctx, wiring.Options{Config: config.Config{Servers: f.Servers}}, up, brokers)
}

func assemblePipeline(ctx context.Context, o wiring.Options, up refresh.Upstream, brokers string) (*pipeline, error) {
	o.Holder, o.Quota, o.Sources = "bench", wiring.NoQuota(), []source.Source{&enginetest.Noop{}}
	o.Config.Service.Roles = config.Roles{config.RoleAPI}
	o.Refresh = wiring.Refresh{
		Upstreams: map[string]refresh.Upstream{gameSource: up}, Limits: map[string]rate.Limits{gameSource: unlimited},
		Settings: refresh.Settings{Works: true},
	}
	svc, err := wiring.Open(ctx, o)
	if err != nil {
		return nil, err
	}
	p := &pipeline{close: func() error { return svc.Close(context.WithoutCancel(ctx)) }}
	if err := p.assemble(ctx, svc.Refreshes.Parts, brokers, o.Config.Servers.RedisPrefix); err != nil {
		return nil, errors.Join(err, p.close())
	}
	// A keeper of the rate lets a second pass first: it does not know what was
	// called before it.
	if err := pause(ctx, 1100*time.Millisecond); err != nil {
		return nil, errors.Join(err, p.close())
	}
	return p, nil
}

// assemble makes a pipeline of a service's parts that counts the locks it gives
// up. If there are brokers, Kafka carries the requests, in topics that are
// nobody else's.
func (p *pipeline) assemble(ctx context.Context, parts refresh.Parts, brokers, prefix string) error {
	p.locks = &countedLocks{Coalescer: parts.Coalescer}
	parts.Coalescer = p.locks
	if brokers != "" {
		log, err := kafka.NewEventLog(ctx, kafka.Options{URL: "kafka://" + brokers, Prefix: prefix + "-", Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			return err
		}
		parts.Log = log
		closeRest := p.close
		p.close = func() error { return errors.Join(log.Close(context.WithoutCancel(ctx)), closeRest()) }
	}
	var err error
	p.Pipeline, err = refresh.NewPipeline(parts, refresh.Settings{Works: true})
	return err
}

// refreshed counts what was carried out.
func (p *pipeline) refreshed() int64 {
	c := p.Worker().Counters()
	return c.Stored.Load() + c.Touched.Load()
}

// ask has every key refreshed. None may be under way.
func (p *pipeline) ask(ctx context.Context, keys []string) error {
	const most = 1000
	entities := make([]refresh.Entity, len(keys))
	for i, key := range keys {
		entities[i] = refresh.Entity{Source: gameSource, Key: key}
	}
	for len(entities) > 0 {
		part := entities[:min(most, len(entities))]
		grants, err := p.Request(ctx, refresh.Request{Entities: part, Priority: domain.PriorityHigh, Reason: refresh.ReasonUserRequest})
		if err != nil {
			return err
		}
		for _, g := range grants {
			if g.Result != refresh.Published {
				return fmt.Errorf("a request for %s is %s", g.Entity, g.Result)
			}
		}
		entities = entities[len(part):]
	}
	return nil
}

// work asks for keys, and only then lets the pipeline work them off. The time
// begins with the first one that is stored, so that joining a group is left out,
// and ends with the last one.
func (p *pipeline) work(ctx context.Context, keys []string) (e effort, err error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Minute)
	defer cancel()
	if err := p.ask(ctx, keys); err != nil {
		return effort{}, err
	}
	before, released := p.refreshed(), p.locks.released.Load()
	if err := p.Start(ctx); err != nil {
		return effort{}, err
	}
	defer func() { err = errors.Join(err, p.Stop(ctx)) }()
	if err := p.await(ctx, "refreshed", p.refreshed, before+1); err != nil {
		return effort{}, err
	}
	first := p.refreshed()
	e, err = timed(func() (int, error) {
		err := p.await(ctx, "refreshed", p.refreshed, before+int64(len(keys)))
		return int(p.refreshed() - first), err
	})
	if err != nil {
		return effort{}, err
	}
	// Whoever is stopped before keeps his locks, and is handed the same again.
	return e, p.await(ctx, "released", p.locks.released.Load, released+int64(len(keys)))
}

// await waits until so many were carried out.
func (p *pipeline) await(ctx context.Context, what string, count func() int64, n int64) error {
	for count() < n {
		if err := pause(ctx, time.Millisecond); err != nil {
			c := p.Worker().Counters()
			return fmt.Errorf("%d of %d were %s (%d obsolete, %d dead): %w", count(), n, what, c.Obsolete.Load(), c.Dead.Load(), err)
		}
	}
	return nil
}
