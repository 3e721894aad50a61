package memory

import (
	"context"
	"time"

	"sluice/internal/domain"
	"sluice/internal/quota/rate"
)

// RateOptions are what a Rate needs besides its limits.
type RateOptions struct {
	// Store survives the process; nil means that every process begins the day
	// anew.
	Store rate.Store
	// Now is the wall clock, by which days are told; nil means time.Now.
	Now func() time.Time
	// Passed tells the time that passes, on a clock that nobody sets; nil means
	// the time since the keeper was made.
	Passed func() time.Duration
}

// Rate implements rate.Keeper in the process: it grants calls to upstreams.
// What was granted before the process began is not known: it waits for a
// second, and takes what is written down of the day for used.
type Rate struct {
	upstreams map[string]*upstream
}

var _ rate.Keeper = (*Rate)(nil)

// NewRate returns a keeper of these upstreams. Limits that cannot be kept are an
// error of code invalid.
func NewRate(limits map[string]rate.Limits, o RateOptions) (*Rate, error) {
	k, c := &Rate{upstreams: make(map[string]*upstream, len(limits))}, newRateClock(o)
	for name, l := range limits {
		if err := l.Check(); err != nil {
			return nil, domain.Errorf(domain.CodeInvalid, "upstream %s: %w", name, err)
		}
		k.upstreams[name] = newUpstream(name, l, o.Store, c)
	}
	return k, nil
}

// Reserve implements rate.Keeper.
func (k *Rate) Reserve(ctx context.Context, name string, p domain.Priority, n int) (rate.Grant, error) {
	if err := ctx.Err(); err != nil {
		return rate.Grant{}, err
	}
	u, err := k.upstream(name, p, n)
	if err != nil {
		return rate.Grant{}, err
	}
	return u.reserve(ctx, p, int64(n))
}

// Refund implements rate.Keeper.
func (k *Rate) Refund(_ context.Context, name string, p domain.Priority, n int) error {
	u, err := k.upstream(name, p, n)
	if err != nil {
		return err
	}
	_, passed := u.clock.read()
	u.mu.Lock()
	defer u.mu.Unlock()
	u.meter.Advance(&u.terms, passed)
	u.meter.Refund(&u.terms, p, int64(n))
	return nil
}

// Pause implements rate.Keeper.
func (k *Rate) Pause(_ context.Context, name string, until time.Time) error {
	u, ok := k.upstreams[name]
	if !ok {
		return rate.Unknown(name)
	}
	now, passed := u.clock.read()
	u.mu.Lock()
	defer u.mu.Unlock()
	u.meter.Advance(&u.terms, passed)
	u.meter.Pause(until.Sub(now).Microseconds())
	return nil
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
