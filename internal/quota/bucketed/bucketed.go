// Package bucketed grants calls of sources whose rations are built in, by drawing on
// rations: those of a bucket, and of an owner over all of his buckets.
//
//   - bucketed.go: the keeper.
//   - rations.go: the limits of a bucket, as rations.
//   - windows.go: what is shown, and who is known.
//   - earlier.go: what an earlier version stored of windows.
package bucketed

import (
	"context"
	"sync"
	"time"

	"sluice/internal/domain"
	"sluice/internal/quota"
	"sluice/internal/ration/keeper"
)

// Options are what a Keeper needs besides its limits and rations.
type Options struct {
	// Groups tells which groups of rations were ever written down; nil for none.
	Groups func(ctx context.Context) ([]string, error)
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// Keeper implements quota.Keeper by rations.
type Keeper struct {
	rations keeper.Keeper
	opts    Options
	buckets map[string]*bucket
	// lifetime is for how long an owner is shown whom nobody asked for.
	lifetime time.Duration

	mu sync.RWMutex
	// met are the owners that this process was asked for; nextSweep is when to look for
	// those that may be forgotten.
	met       map[string]*owner
	nextSweep time.Time
}

var _ quota.Keeper = (*Keeper)(nil)

// New returns a keeper of these buckets.
func New(cfg quota.Config, rations keeper.Keeper, o Options) *Keeper {
	if o.Now == nil {
		o.Now = time.Now
	}
	k := &Keeper{rations: rations, opts: o, buckets: make(map[string]*bucket, len(cfg.Buckets)), met: make(map[string]*owner), lifetime: 2 * time.Minute}
	busy := atOnce(cfg.Concurrency)
	for name, limits := range cfg.Buckets {
		k.buckets[name] = newBucket(name, limits, busy)
		k.buckets[name].bit = 1 << (len(k.buckets) - 1)
		k.lifetime = max(k.lifetime, 2*limits.Window, 2*limits.PointsPeriod)
	}
	k.nextSweep = o.Now().Add(k.lifetime)
	return k
}

// Reserve implements quota.Keeper.
func (k *Keeper) Reserve(ctx context.Context, ask quota.Ask) (quota.Decision, error) {
	if err := ctx.Err(); err != nil {
		return quota.Decision{}, err
	}
	b, err := k.bucket(ask.Bucket)
	if err != nil {
		return quota.Decision{}, err
	}
	ask.Cost, ask.Points = max(ask.Cost, 1), max(ask.Points, 1)
	o := k.meet(ask.Owner, b)
	d, err := k.rations.Reserve(ctx, b.ask(o.group, &ask))
	if err != nil {
		return quota.Decision{}, err
	}
	if !d.Granted {
		return quota.Decision{RetryAt: d.RetryAt, Reason: b.reason(&d)}, nil
	}
	o.out.Add(1)
	return quota.Decision{Granted: true, Permit: quota.Permit{ID: d.Permit.ID, Ask: ask, GrantedAt: d.Permit.GrantedAt}}, nil
}

// Settle implements quota.Keeper.
func (k *Keeper) Settle(ctx context.Context, p quota.Permit, r quota.Response) error {
	return k.end(ctx, &p, &r, false)
}

// Refund implements quota.Keeper.
func (k *Keeper) Refund(ctx context.Context, p quota.Permit, r quota.Response) error {
	return k.end(ctx, &p, &r, true)
}

// end gives a permit back. Points count calls that were answered, also those that were
// free.
func (k *Keeper) end(ctx context.Context, p *quota.Permit, r *quota.Response, free bool) error {
	b, err := k.bucket(p.Bucket)
	if err != nil {
		return err
	}
	ask := b.ask(k.returned(p, r), &p.Ask)
	answers := make([]keeper.Answer, len(ask.Draws))
	for i := range ask.Draws {
		switch ask.Draws[i].Ration {
		case b.points:
			answers[i].Free = free && !r.Known
		case b.window:
			answers[i] = keeper.Answer{
				Free: free, Cost: r.Cost, Limit: r.Limit, Left: r.Remaining, HasLeft: r.Known, Reset: r.Reset, Exhausted: r.Exhausted, Served: r.Succeeded,
			}
		}
	}
	return k.rations.Settle(ctx, keeper.Permit{ID: p.ID, Ask: ask, GrantedAt: p.GrantedAt}, keeper.Outcome{
		Answers: answers, RetryAfter: min(r.RetryAfter, quota.LongestPark), Backoff: r.Backoff, Well: r.Well(), Date: r.Date,
	})
}

// Reset implements quota.Keeper.
func (k *Keeper) Reset(ctx context.Context, name string) ([]string, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	known, err := k.knows(ctx, name)
	if err != nil {
		return nil, err
	}
	if !known {
		return nil, domain.Errorf(domain.CodeNotFound, "nothing is known about the quota of %q", name)
	}
	if err := k.rations.Lift(ctx, Group(name)); err != nil {
		return nil, err
	}
	windows, err := k.Windows(ctx, name)
	if err != nil {
		return nil, err
	}
	buckets := make([]string, 0, len(windows))
	for _, w := range windows {
		buckets = append(buckets, w.Bucket)
	}
	return buckets, nil
}

func (k *Keeper) bucket(name string) (*bucket, error) {
	b, ok := k.buckets[name]
	if !ok {
		return nil, domain.Errorf(domain.CodeInvalid, "quota bucket %q is not configured", name)
	}
	return b, nil
}
