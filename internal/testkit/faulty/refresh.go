package faulty

import (
	"context"
	"time"

	"sluice/internal/domain"
	"sluice/internal/quota/rate"
	"sluice/internal/refresh"
)

// Coalescer is a coalescer with outages.
type Coalescer struct {
	refresh.Coalescer
	plan *Plan
}

var _ refresh.Coalescer = (*Coalescer)(nil)

// NewCoalescer wraps a coalescer.
func NewCoalescer(inner refresh.Coalescer, plan *Plan) *Coalescer { return &Coalescer{inner, plan} }

// Acquire implements refresh.Coalescer.
func (c *Coalescer) Acquire(ctx context.Context, asks ...refresh.Ask) ([]refresh.Grant, error) {
	return get(ctx, c.plan, "Acquire", func() ([]refresh.Grant, error) { return c.Coalescer.Acquire(ctx, asks...) })
}

// Release implements refresh.Coalescer.
func (c *Coalescer) Release(ctx context.Context, locks ...refresh.Lock) error {
	return do(ctx, c.plan, "Release", func() error { return c.Coalescer.Release(ctx, locks...) })
}

// Versions implements refresh.Coalescer.
func (c *Coalescer) Versions(ctx context.Context, entities ...refresh.Entity) ([]int64, error) {
	return get(ctx, c.plan, "Versions", func() ([]int64, error) { return c.Coalescer.Versions(ctx, entities...) })
}

// Cache is a cache with outages.
type Cache struct {
	refresh.Cache
	plan *Plan
}

var _ refresh.Cache = (*Cache)(nil)

// NewCache wraps a cache.
func NewCache(inner refresh.Cache, plan *Plan) *Cache { return &Cache{inner, plan} }

// Get implements refresh.Cache.
func (c *Cache) Get(ctx context.Context, e refresh.Entity, load func(context.Context) (refresh.Cached, error)) (refresh.Cached, error) {
	return get(ctx, c.plan, "Get", func() (refresh.Cached, error) { return c.Cache.Get(ctx, e, load) })
}

// Forget implements refresh.Cache. One that fails is lost: nobody is told.
func (c *Cache) Forget(ctx context.Context, changes ...refresh.Change) {
	_ = do(ctx, c.plan, "Forget", func() error { c.Cache.Forget(ctx, changes...); return nil })
}

// Rate is a keeper of rates with outages.
type Rate struct {
	rate.Keeper
	plan *Plan
}

var _ rate.Keeper = (*Rate)(nil)

// NewRate wraps a keeper of rates.
func NewRate(inner rate.Keeper, plan *Plan) *Rate { return &Rate{inner, plan} }

// Reserve implements rate.Keeper.
func (r *Rate) Reserve(ctx context.Context, upstream string, p domain.Priority, n int) (rate.Grant, error) {
	return get(ctx, r.plan, "Reserve", func() (rate.Grant, error) { return r.Keeper.Reserve(ctx, upstream, p, n) })
}

// Refund implements rate.Keeper.
func (r *Rate) Refund(ctx context.Context, upstream string, p domain.Priority, n int) error {
	return do(ctx, r.plan, "Refund", func() error { return r.Keeper.Refund(ctx, upstream, p, n) })
}

// Pause implements rate.Keeper.
func (r *Rate) Pause(ctx context.Context, upstream string, until time.Time) error {
	return do(ctx, r.plan, "Pause", func() error { return r.Keeper.Pause(ctx, upstream, until) })
}

// Usage implements rate.Keeper.
func (r *Rate) Usage(ctx context.Context, upstream string) (rate.Usage, error) {
	return get(ctx, r.plan, "Usage", func() (rate.Usage, error) { return r.Keeper.Usage(ctx, upstream) })
}
