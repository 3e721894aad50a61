// Package paced grants calls to upstreams that are asked hundreds of times a second, by
// drawing on rations.
//
//   - paced.go: the keeper.
//   - rations.go: what an upstream allows, as rations.
//   - days.go: on which dates a call is counted.
package paced

import (
	"context"
	"time"

	"sluice/internal/domain"
	"sluice/internal/quota/rate"
	"sluice/internal/ration/keeper"
)

// Options are what a Keeper needs besides its limits and rations.
type Options struct {
	// Now is the wall clock, by which days are told; nil means time.Now.
	Now func() time.Time
	// Passed tells the time that passes, on a clock that nobody sets; nil means the
	// time since the keeper was made.
	Passed func() time.Duration
}

// Keeper implements rate.Keeper by rations.
type Keeper struct {
	rations   keeper.Keeper
	upstreams map[string]*upstream
	start     time.Time
	opts      Options
}

var _ rate.Keeper = (*Keeper)(nil)

// New returns a keeper of these upstreams. Limits that cannot be kept are an error of
// code invalid.
func New(limits map[string]rate.Limits, rations keeper.Keeper, o Options) (*Keeper, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	k := &Keeper{rations: rations, upstreams: make(map[string]*upstream, len(limits)), start: o.Now(), opts: o}
	for name, l := range limits {
		if err := l.Check(); err != nil {
			return nil, domain.Errorf(domain.CodeInvalid, "upstream %s: %w", name, err)
		}
		k.upstreams[name] = newUpstream(name, l)
	}
	return k, nil
}

// clock returns the time of day and the time that has passed. Unless a test says
// otherwise one look at the clock tells both: Go's times know what has passed.
func (k *Keeper) clock() (now time.Time, passed time.Duration) {
	now = k.opts.Now()
	if k.opts.Passed != nil {
		return now, k.opts.Passed()
	}
	return now, now.Sub(k.start)
}

// Reserve implements rate.Keeper.
func (k *Keeper) Reserve(ctx context.Context, name string, p domain.Priority, n int) (rate.Grant, error) {
	u, err := k.upstream(name, p, n)
	if err != nil {
		return rate.Grant{}, err
	}
	now, passed := k.clock()
	today := u.today(now, passed)
	ask := today.ask(p)
	ask.At = now
	g, err := k.rations.Take(ctx, ask, n)
	if err != nil {
		return rate.Grant{}, err
	}
	if g.Calls == n {
		return rate.Grant{Calls: n}, nil
	}
	grant := rate.Grant{Calls: g.Calls, RetryAt: g.RetryAt, Reason: reasonOf(&g)}
	if grant.Reason == rate.ReasonDaily {
		if until := now.Add(today.left(g.Refused, now, passed)); until.Before(grant.RetryAt) {
			grant.RetryAt = until
		}
	}
	return grant, nil
}

// Refund implements rate.Keeper.
func (k *Keeper) Refund(ctx context.Context, name string, p domain.Priority, n int) error {
	u, err := k.upstream(name, p, n)
	if err != nil {
		return err
	}
	now, passed := k.clock()
	today := u.today(now, passed)
	if now.Sub(today.Start) < refundGrace {
		return nil
	}
	ask := today.ask(p)
	ask.Draws = ask.Draws[:today.dates]
	return k.rations.Return(ctx, ask, n)
}

// Pause implements rate.Keeper.
func (k *Keeper) Pause(ctx context.Context, name string, until time.Time) error {
	u, ok := k.upstreams[name]
	if !ok {
		return rate.Unknown(name)
	}
	now, _ := k.clock()
	return k.rations.Park(ctx, u.group, gate, until.Sub(now))
}

// Usage implements rate.Keeper.
func (k *Keeper) Usage(ctx context.Context, name string) (rate.Usage, error) {
	u, ok := k.upstreams[name]
	if !ok {
		return rate.Usage{}, rate.Unknown(name)
	}
	now, passed := k.clock()
	today := u.today(now, passed)
	draw := keeper.Draw{Ration: u.day, Part: today.String()}
	known, err := k.rations.Look(ctx, u.group, draw)
	if err != nil {
		return rate.Usage{}, err
	}
	usage := rate.Usage{
		Day: today.String(), Daily: u.limits.Daily, ResetsAt: today.End, PerSecond: u.limits.Rate, LowPerSecond: u.limits.LowRate,
	}
	for _, w := range known {
		switch w.Count {
		case draw.Count():
			usage.Used, usage.UsedLow = int64(w.Spent), int64(w.Low)
		case keeper.GatePrefix + gate:
			usage.PausedTill = w.ParkedUntil
		}
	}
	return usage, nil
}

func (k *Keeper) upstream(name string, p domain.Priority, n int) (*upstream, error) {
	u, ok := k.upstreams[name]
	if !ok {
		return nil, rate.Unknown(name)
	}
	return u, rate.CheckAsk(p, n)
}
