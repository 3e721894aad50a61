package redis

import (
	"context"
	"time"

	"sluice/internal/domain"
	"sluice/internal/quota/rate"
)

// rateBatch bounds what one script is given: Redis serves nobody else meanwhile.
const rateBatch = 256

// RateOptions are what Rate needs besides its limits.
type RateOptions struct {
	// Store survives Redis; nil means that a day begins anew when Redis loses
	// its count.
	Store rate.Store
	// Clock, in tests alone, stands for the server's clock and the wall clock of
	// this process.
	Clock func() time.Time
	// Passed, in tests alone, tells the time that passes for this process.
	Passed func() time.Duration
	// Hold, in tests alone, keeps Clock from being moved until release is called:
	// a request tells the time at which it is sent, and is meant to arrive then.
	Hold func() (release func())
}

// Rate implements rate.Keeper on Redis. It has no goroutine while nobody asks.
type Rate struct {
	upstreams map[string]*upstream
}

var _ rate.Keeper = (*Rate)(nil)

// NewRate returns a keeper of these upstreams on db. Limits that cannot be kept are
// an error of code invalid.
func NewRate(db *DB, limits map[string]rate.Limits, o RateOptions) (*Rate, error) {
	if o.Passed == nil {
		start := time.Now()
		o.Passed = func() time.Duration { return time.Since(start) }
	}
	if o.Hold == nil {
		o.Hold = func() func() { return func() {} }
	}
	k := &Rate{upstreams: make(map[string]*upstream, len(limits))}
	for name, l := range limits {
		if err := l.Check(); err != nil {
			return nil, domain.Errorf(domain.CodeInvalid, "upstream %s: %w", name, err)
		}
		k.upstreams[name] = newUpstream(db, name, l, o)
	}
	return k, nil
}

// Reserve implements rate.Keeper. Once Redis is asked, its answer is waited for
// even if ctx ends: calls that are granted to nobody would be lost.
func (k *Rate) Reserve(ctx context.Context, name string, p domain.Priority, n int) (rate.Grant, error) {
	if err := ctx.Err(); err != nil {
		return rate.Grant{}, err
	}
	u, err := k.upstream(name, p, n)
	if err != nil {
		return rate.Grant{}, err
	}
	a := &rateAsk{low: p == domain.PriorityLow, n: n}
	if err := u.asks.Do(context.WithoutCancel(ctx), a); err != nil {
		return rate.Grant{}, err
	}
	return a.grant, a.err
}

// Refund implements rate.Keeper. It goes on when its caller is being stopped.
func (k *Rate) Refund(ctx context.Context, name string, p domain.Priority, n int) error {
	u, err := k.upstream(name, p, n)
	if err != nil {
		return err
	}
	var r record
	r.booleans(p == domain.PriorityLow)
	r.int64s(int64(n))
	// Calls of a state that is lost are taken for made with it.
	_, err = u.adjust(context.WithoutCancel(ctx), "refund", r)
	return err
}

// Pause implements rate.Keeper. It goes on when its caller is being stopped.
func (k *Rate) Pause(ctx context.Context, name string, until time.Time) error {
	u, ok := k.upstreams[name]
	if !ok {
		return rate.Unknown(name)
	}
	return u.pause(context.WithoutCancel(ctx), until)
}

// Usage implements rate.Keeper.
func (k *Rate) Usage(ctx context.Context, name string) (rate.Usage, error) {
	u, ok := k.upstreams[name]
	if !ok {
		return rate.Usage{}, rate.Unknown(name)
	}
	return u.usage(ctx)
}

func (k *Rate) upstream(name string, p domain.Priority, n int) (*upstream, error) {
	u, ok := k.upstreams[name]
	if !ok {
		return nil, rate.Unknown(name)
	}
	return u, rate.CheckAsk(p, n)
}
