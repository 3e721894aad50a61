// Package redis keeps quota in Redis, for many processes that draw on the same
// rations. The scripts decide by the server's clock; a caller without an
// answer from Redis makes no call.
//
// What Redis knows may vanish. The windows handed out with decisions, stored
// before the call they pay for, then say which rations were being used: those
// are taken for spent until they end, or until an answer of the upstream tells
// what is left.
package redis

import (
	"context"
	"sync/atomic"
	"time"

	"sluice/internal/batch"
	"sluice/internal/domain"
	"sluice/internal/quota"
	"sluice/internal/redisdb"
)

const (
	// permitLife is how long a permit may be out unless Options say otherwise.
	permitLife = 3 * time.Minute
	// lifeMargin is how long an owner's state outlives two of the longest
	// windows.
	lifeMargin = 5 * time.Minute
	// mostAtOnce bounds what one script is given: Redis serves nobody else
	// meanwhile.
	mostAtOnce = 128
	// tries is how often a state that vanishes again and again is restored for
	// one caller.
	tries = 4
)

// Options are what a Keeper needs besides its limits.
type Options struct {
	// Restore reads the stored windows of an owner. It is asked when Redis
	// knows nothing about the owner; nil means that nothing is ever stored.
	Restore func(ctx context.Context, owner string) ([]domain.QuotaWindow, error)
	// PermitLife is how long a permit may be out before its holder is taken
	// for gone, and its call for made without an answer; zero means ten minutes.
	PermitLife time.Duration
	// Clock, in tests alone, stands for the server's clock.
	Clock func() time.Time
}

// Keeper implements quota.Keeper on Redis. It has no goroutine of its own.
type Keeper struct {
	db      *redisdb.DB
	cfg     quota.Config
	opts    Options
	scripts scripts
	buckets map[string]bucket
	// everyBucket is the part of a script's arguments that names all buckets.
	everyBucket []string
	// anyConfig is the configuration of some bucket: all of them hold what is
	// common to the keeper.
	anyConfig string
	groups    groups
	// highest is the highest number of a permit that this keeper was granted.
	highest atomic.Uint64
}

var _ quota.Keeper = (*Keeper)(nil)

// New returns a keeper on db.
func New(db *redisdb.DB, cfg quota.Config, o Options) *Keeper {
	if o.PermitLife <= 0 {
		o.PermitLife = permitLife
	}
	k := &Keeper{db: db, cfg: cfg, opts: o, scripts: loadScripts(), buckets: make(map[string]bucket, len(cfg.Buckets))}
	for name, limits := range cfg.Buckets {
		b := newBucket(name, limits, cfg.Concurrency, o.PermitLife, lifetime(cfg))
		k.buckets[name] = b
		k.everyBucket = append(k.everyBucket, b.field, b.config)
		k.anyConfig = b.config
	}
	k.groups.make = func(owner string) *group {
		return &group{
			owner:   owner,
			reserve: batch.New(mostAtOnce, func(ctx context.Context, asks []*asked) error { k.reserveAll(ctx, owner, asks); return nil }),
			settle:  batch.New(mostAtOnce, func(ctx context.Context, all []*given) error { k.settleAll(ctx, owner, all); return nil }),
		}
	}
	return k
}

// lifetime is two of the longest windows and a margin. What is older says
// nothing about the present, so that an owner who comes back after it begins
// anew.
func lifetime(cfg quota.Config) time.Duration {
	longest := time.Minute
	for _, l := range cfg.Buckets {
		longest = max(longest, l.Window, quota.PeriodOf(l))
	}
	return 2*longest + lifeMargin
}

// Reserve implements quota.Keeper. Once Redis is asked, its answer is waited
// for even if ctx ends: a permit that is granted to nobody would be held until
// its life ends.
func (k *Keeper) Reserve(ctx context.Context, ask quota.Ask) (quota.Decision, error) {
	if err := ctx.Err(); err != nil {
		return quota.Decision{}, err
	}
	b, ok := k.buckets[ask.Bucket]
	if !ok {
		return quota.Decision{}, unknownBucket(ask.Bucket)
	}
	ask.Cost, ask.Points = max(ask.Cost, 1), max(ask.Points, 1)
	a := &asked{Ask: ask, endpoint: b.pointsField(ask.Endpoint)}
	ctx = context.WithoutCancel(ctx)
	g, alone := k.groups.enter(ask.Owner)
	defer k.groups.leave(g)
	if alone {
		k.reserveAll(ctx, ask.Owner, []*asked{a})
	} else if err := g.reserve.Do(ctx, a); err != nil {
		return quota.Decision{}, err
	}
	return a.decision, a.err
}

// Settle implements quota.Keeper.
func (k *Keeper) Settle(ctx context.Context, p quota.Permit, r quota.Response) (*domain.QuotaWindow, error) {
	return k.end(ctx, p, r, false)
}

// Refund implements quota.Keeper.
func (k *Keeper) Refund(ctx context.Context, p quota.Permit, r quota.Response) (*domain.QuotaWindow, error) {
	return k.end(ctx, p, r, true)
}

// end gives a permit back. It goes on when its caller is being stopped: a call
// that was made must be counted all the same.
func (k *Keeper) end(ctx context.Context, p quota.Permit, r quota.Response, free bool) (*domain.QuotaWindow, error) {
	b, ok := k.buckets[p.Bucket]
	if !ok {
		return nil, unknownBucket(p.Bucket)
	}
	item := &given{permit: p, response: r, free: free, endpoint: b.pointsField(p.Endpoint)}
	ctx = context.WithoutCancel(ctx)
	g, alone := k.groups.enter(p.Owner)
	defer k.groups.leave(g)
	if alone {
		k.settleAll(ctx, p.Owner, []*given{item})
	} else if err := g.settle.Do(ctx, item); err != nil {
		return nil, err
	}
	return item.window, item.err
}

func unknownBucket(name string) error {
	return domain.Errorf(domain.CodeInvalid, "quota bucket %q is not configured", name)
}
