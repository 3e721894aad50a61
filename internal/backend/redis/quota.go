package redis

import (
	"context"
	"time"

	"sluice/internal/batch"
	"sluice/internal/domain"
	"sluice/internal/quota"
)

const (
	// permitLife is how long a permit may be out unless Options say otherwise.
	permitLife = 3 * time.Minute
	// lifeMargin is how long an owner's state outlives two of the longest
	// windows.
	lifeMargin = 5 * time.Minute
	// quotaBatch bounds what one script is given: Redis serves nobody else
	// meanwhile.
	quotaBatch = 128
)

// QuotaOptions are what Quota needs besides its limits.
type QuotaOptions struct {
	// Restore reads the stored windows of an owner. It is asked when Redis knows
	// nothing about the owner, and when this process knows nothing yet: what is
	// stored then tells whether Redis does. nil means that nothing is ever stored.
	Restore func(ctx context.Context, owner string) ([]domain.QuotaWindow, error)
	// PermitLife is how long a permit may be out before its holder is taken
	// for gone, and its call for made without an answer; zero means three minutes.
	PermitLife time.Duration
	// Clock, in tests alone, stands for the server's clock.
	Clock func() time.Time
}

// Quota implements quota.Keeper on Redis. It has no goroutine of its own.
type Quota struct {
	db      *DB
	cfg     quota.Config
	opts    QuotaOptions
	buckets map[string]quotaBucket
	// everyBucket is the part of a script's arguments that names all buckets.
	everyBucket []string
	// anyConfig is the configuration of some bucket: all of them hold what is
	// common to the keeper.
	anyConfig string
	groups    ownerGroups
	highest   sequences
}

var _ quota.Keeper = (*Quota)(nil)

// NewQuota returns a keeper on db.
func NewQuota(db *DB, cfg quota.Config, o QuotaOptions) *Quota {
	if o.PermitLife <= 0 {
		o.PermitLife = permitLife
	}
	k := &Quota{db: db, cfg: cfg, opts: o, buckets: make(map[string]quotaBucket, len(cfg.Buckets))}
	for name, limits := range cfg.Buckets {
		b := newQuotaBucket(name, limits, cfg.Concurrency, o.PermitLife, stateLife(cfg))
		k.buckets[name] = b
		k.everyBucket = append(k.everyBucket, b.field, b.config)
		k.anyConfig = b.config
	}
	k.groups.make = func(owner string) *ownerGroup {
		return &ownerGroup{
			owner:   owner,
			reserve: batch.New(quotaBatch, func(ctx context.Context, asks []*quotaAsk) error { k.reserveAll(ctx, owner, asks); return nil }),
			settle:  batch.New(quotaBatch, func(ctx context.Context, all []*returnedPermit) error { k.settleAll(ctx, owner, all); return nil }),
		}
	}
	return k
}

// stateLife is two of the longest windows and a margin. What is older says
// nothing about the present, so that an owner who comes back after it begins
// anew.
func stateLife(cfg quota.Config) time.Duration {
	longest := time.Minute
	for _, l := range cfg.Buckets {
		longest = max(longest, l.Window, quota.PeriodOf(l))
	}
	return 2*longest + lifeMargin
}

// Reserve implements quota.Keeper. Once Redis is asked, its answer is waited
// for even if ctx ends: a permit that is granted to nobody would be held until
// its life ends.
func (k *Quota) Reserve(ctx context.Context, ask quota.Ask) (quota.Decision, error) {
	if err := ctx.Err(); err != nil {
		return quota.Decision{}, err
	}
	b, ok := k.buckets[ask.Bucket]
	if !ok {
		return quota.Decision{}, unknownBucket(ask.Bucket)
	}
	ask.Cost, ask.Points = max(ask.Cost, 1), max(ask.Points, 1)
	a := &quotaAsk{Ask: ask, endpoint: b.pointsField(ask.Endpoint)}
	ctx = context.WithoutCancel(ctx)
	g, alone := k.groups.enter(ask.Owner)
	defer k.groups.leave(g)
	if alone {
		k.reserveAll(ctx, ask.Owner, []*quotaAsk{a})
	} else if err := g.reserve.Do(ctx, a); err != nil {
		return quota.Decision{}, err
	}
	return a.decision, a.err
}

// Settle implements quota.Keeper.
func (k *Quota) Settle(ctx context.Context, p quota.Permit, r quota.Response) (*domain.QuotaWindow, error) {
	return k.end(ctx, p, r, false)
}

// Refund implements quota.Keeper.
func (k *Quota) Refund(ctx context.Context, p quota.Permit, r quota.Response) (*domain.QuotaWindow, error) {
	return k.end(ctx, p, r, true)
}

// end gives a permit back. It goes on when its caller is being stopped: a call
// that was made must be counted all the same.
func (k *Quota) end(ctx context.Context, p quota.Permit, r quota.Response, free bool) (*domain.QuotaWindow, error) {
	b, ok := k.buckets[p.Bucket]
	if !ok {
		return nil, unknownBucket(p.Bucket)
	}
	item := &returnedPermit{permit: p, response: r, free: free, endpoint: b.pointsField(p.Endpoint)}
	ctx = context.WithoutCancel(ctx)
	g, alone := k.groups.enter(p.Owner)
	defer k.groups.leave(g)
	if alone {
		k.settleAll(ctx, p.Owner, []*returnedPermit{item})
	} else if err := g.settle.Do(ctx, item); err != nil {
		return nil, err
	}
	return item.window, item.err
}

func unknownBucket(name string) error {
	return domain.Errorf(domain.CodeInvalid, "quota bucket %q is not configured", name)
}
