// Package redis grants calls to upstreams for many processes that share them,
// in Redis: one script decides each ask. A caller without an answer from Redis
// makes no call.
//
// What Redis knows may vanish. Then nothing is granted for a second, and what a
// store holds of the day, which is written down ahead of the calls, is taken
// for used.
package redis

import (
	"context"
	"time"

	"sluice/internal/domain"
	"sluice/internal/quota/rate"
	"sluice/internal/redisdb"
)

const (
	// mostAtOnce bounds what one script is given: Redis serves nobody else
	// meanwhile.
	mostAtOnce = 256
	// tries is how often a state that vanishes again and again is restored for
	// one caller.
	tries = 4
)

// Options are what a Keeper needs besides its limits.
type Options struct {
	// Store survives Redis; nil means that a day begins anew when Redis loses
	// its count.
	Store rate.Store
	// Clock, in tests alone, stands for the server's clock and the wall clock of
	// this process.
	Clock func() time.Time
	// Passed, in tests alone, tells the time that passes for this process.
	Passed func() time.Duration
}

// Keeper implements rate.Keeper on Redis. It has no goroutine while nobody asks.
type Keeper struct {
	upstreams map[string]*upstream
}

var _ rate.Keeper = (*Keeper)(nil)

// New returns a keeper of these upstreams on db. Limits that cannot be kept are
// an error of code invalid.
func New(db *redisdb.DB, limits map[string]rate.Limits, o Options) (*Keeper, error) {
	if o.Passed == nil {
		start := time.Now()
		o.Passed = func() time.Duration { return time.Since(start) }
	}
	k := &Keeper{upstreams: make(map[string]*upstream, len(limits))}
	scripts := loadScripts()
	for name, l := range limits {
		if err := l.Check(); err != nil {
			return nil, domain.Errorf(domain.CodeInvalid, "upstream %s: %w", name, err)
		}
		k.upstreams[name] = newUpstream(db, scripts, name, l, o)
	}
	return k, nil
}

// Reserve implements rate.Keeper. Once Redis is asked, its answer is waited for
// even if ctx ends: calls that are granted to nobody would be lost.
func (k *Keeper) Reserve(ctx context.Context, name string, p domain.Priority, n int) (rate.Grant, error) {
	if err := ctx.Err(); err != nil {
		return rate.Grant{}, err
	}
	u, err := k.upstream(name, p, n)
	if err != nil {
		return rate.Grant{}, err
	}
	a := &asked{low: p == domain.PriorityLow, n: n}
	if err := u.asks.Do(context.WithoutCancel(ctx), a); err != nil {
		return rate.Grant{}, err
	}
	return a.grant, a.err
}

// Refund implements rate.Keeper. It goes on when its caller is being stopped.
func (k *Keeper) Refund(ctx context.Context, name string, p domain.Priority, n int) error {
	u, err := k.upstream(name, p, n)
	if err != nil {
		return err
	}
	var r record
	r.booleans(p == domain.PriorityLow)
	r.integers(int64(n))
	// Calls of a state that is lost are taken for made with it.
	_, err = u.adjust(context.WithoutCancel(ctx), "refund", r)
	return err
}

// Pause implements rate.Keeper. It goes on when its caller is being stopped.
func (k *Keeper) Pause(ctx context.Context, name string, until time.Time) error {
	u, ok := k.upstreams[name]
	if !ok {
		return rate.Unknown(name)
	}
	return u.pause(context.WithoutCancel(ctx), until)
}

// Usage implements rate.Keeper.
func (k *Keeper) Usage(ctx context.Context, name string) (rate.Usage, error) {
	u, ok := k.upstreams[name]
	if !ok {
		return rate.Usage{}, rate.Unknown(name)
	}
	return u.usage(ctx)
}

func (k *Keeper) upstream(name string, p domain.Priority, n int) (*upstream, error) {
	u, ok := k.upstreams[name]
	if !ok {
		return nil, rate.Unknown(name)
	}
	return u, rate.CheckAsk(p, n)
}
