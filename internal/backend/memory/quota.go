package memory

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"sluice/internal/domain"
	"sluice/internal/quota"
)

// lanesFirst is when a caller refused for concurrency may ask again. Dispatch
// limits what runs per lane before it comes to this, so it is a backstop.
const lanesFirst = 250 * time.Millisecond

// QuotaOptions are what a Quota needs besides its limits.
type QuotaOptions struct {
	// Now is the clock; nil means time.Now.
	Now func() time.Time
	// Restore holds the stored windows of the previous process.
	Restore []domain.QuotaWindow
}

// Quota implements quota.Keeper in the process. It survives a restart by the
// windows it hands out with every decision: stored before the call they pay
// for, they let the next process go on counting where this one stopped.
type Quota struct {
	cfg quota.Config
	now func() time.Time
	// sequence numbers permits and snapshots alike. It starts above everything
	// an earlier process numbered.
	sequence atomic.Uint64

	mu        sync.RWMutex
	owners    map[string]*owner
	nextSweep time.Time
}

var _ quota.Keeper = (*Quota)(nil)

// NewQuota returns a keeper that goes on from the restored windows.
func NewQuota(cfg quota.Config, opts QuotaOptions) *Quota {
	k := &Quota{cfg: cfg, now: opts.Now, owners: make(map[string]*owner)}
	if k.now == nil {
		k.now = time.Now
	}
	now, _ := k.clock()
	first := uint64(max(now.UnixNano(), 1))
	for _, w := range opts.Restore {
		first = max(first, w.Seq)
		k.restore(w, now)
	}
	k.sequence.Store(first)
	k.nextSweep = now.Add(k.lifetime())
	return k
}

// clock reads the time without its monotonic part, as resets are wall-clock
// times and so is what a laptop that slept wakes up to; and with it, for what
// must not depend on a clock that is set.
func (k *Quota) clock() (now, passed time.Time) {
	passed = k.now()
	return passed.Round(0), passed
}

// Reserve implements quota.Keeper.
func (k *Quota) Reserve(ctx context.Context, ask quota.Ask) (quota.Decision, error) {
	if err := ctx.Err(); err != nil {
		return quota.Decision{}, err
	}
	limits, ok := k.cfg.Buckets[ask.Bucket]
	if !ok {
		return quota.Decision{}, domain.Errorf(domain.CodeInvalid, "quota bucket %q is not configured", ask.Bucket)
	}
	ask.Cost, ask.Points = max(ask.Cost, 1), max(ask.Points, 1)
	now, passed := k.clock()
	o := k.lock(ask.Owner, now)
	defer o.mu.Unlock()
	o.touched = now
	b := o.bucket(ask.Bucket, limits)

	retryAt, reason := o.reserve(now, passed, b, ask, k.cfg.Concurrency, &k.sequence)
	if reason != "" {
		if earliest := now.Add(time.Millisecond); retryAt.Before(earliest) {
			retryAt = earliest
		}
		return quota.Decision{RetryAt: retryAt, Reason: reason}, nil
	}
	permit := quota.Permit{ID: b.newest, Ask: ask, GrantedAt: now}
	o.out[permit.ID] = struct{}{}
	return quota.Decision{Granted: true, Permit: permit, Window: k.snapshot(now, passed, o, b, permit.Ask)}, nil
}

// Settle implements quota.Keeper.
func (k *Quota) Settle(_ context.Context, p quota.Permit, r quota.Response) (*domain.QuotaWindow, error) {
	return k.end(p, r, false)
}

// Refund implements quota.Keeper.
func (k *Quota) Refund(_ context.Context, p quota.Permit, r quota.Response) (*domain.QuotaWindow, error) {
	return k.end(p, r, true)
}

// end gives a permit back. It ignores the caller's context: a call that was
// made must be counted even when its caller is being stopped. A permit given
// back twice, or granted by an earlier process, changes no count; what the
// upstream said is learnt all the same.
func (k *Quota) end(p quota.Permit, r quota.Response, free bool) (*domain.QuotaWindow, error) {
	limits, ok := k.cfg.Buckets[p.Bucket]
	if !ok {
		return nil, domain.Errorf(domain.CodeInvalid, "quota bucket %q is not configured", p.Bucket)
	}
	now, passed := k.clock()
	o := k.lock(p.Owner, now)
	defer o.mu.Unlock()
	o.touched = now
	b := o.bucket(p.Bucket, limits)
	o.skew.Observe(r.Date, p.GrantedAt, now)
	o.gate.Answered(now, p.ID, k.sequence.Load(), r)
	if _, held := o.out[p.ID]; held {
		delete(o.out, p.ID)
		b.end(now, passed, &o.skew, p, r, free)
	} else {
		b.count.Advance(now, &o.skew)
		b.count.Learn(now, &o.skew, p, r)
	}
	return k.snapshot(now, passed, o, b, p.Ask), nil
}

// Windows implements quota.Keeper.
func (k *Quota) Windows(ctx context.Context, name string) ([]quota.Window, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	now, _ := k.clock()
	k.mu.RLock()
	defer k.mu.RUnlock()
	var all []quota.Window
	if name != "" {
		if o := k.owners[name]; o != nil {
			all = o.windows(now, name)
		}
	} else {
		for name, o := range k.owners {
			all = append(all, o.windows(now, name)...)
		}
	}
	slices.SortFunc(all, func(a, b quota.Window) int {
		return cmp.Or(cmp.Compare(a.Owner, b.Owner), cmp.Compare(a.Bucket, b.Bucket))
	})
	return all, nil
}

// Reset implements quota.Keeper.
func (k *Quota) Reset(ctx context.Context, name string) ([]domain.QuotaWindow, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	k.mu.RLock()
	known := k.owners[name] != nil
	k.mu.RUnlock()
	if !known {
		return nil, domain.Errorf(domain.CodeNotFound, "nothing is known about the quota of %q", name)
	}
	now, passed := k.clock()
	o := k.lock(name, now)
	defer o.mu.Unlock()
	o.gate.Lift()
	var all []domain.QuotaWindow
	for bucketName, b := range o.buckets {
		b.count.Doubt(now)
		all = append(all, *k.snapshot(now, passed, o, b, quota.Ask{Owner: name, Bucket: bucketName}))
	}
	return all, nil
}

// snapshot is what a process started right after this one needs to know.
func (k *Quota) snapshot(now, passed time.Time, o *owner, b *bucket, ask quota.Ask) *domain.QuotaWindow {
	w := b.count.Snapshot(&o.skew)
	w.Owner, w.Bucket = ask.Owner, ask.Bucket
	w.ParkedUntil = o.gate.Until()
	w.InFlight, w.Points, w.Touched = b.count.Abandoned(), b.held(passed), now
	w.Seq = k.sequence.Add(1)
	return &w
}

// lock returns the owner, locked and certain to be the one in the map.
func (k *Quota) lock(name string, now time.Time) *owner {
	for {
		k.mu.RLock()
		o := k.owners[name]
		k.mu.RUnlock()
		if o == nil {
			o = k.add(name, now)
		}
		o.mu.Lock()
		if !o.forgotten {
			return o
		}
		o.mu.Unlock()
	}
}

func (k *Quota) add(name string, now time.Time) *owner {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !now.Before(k.nextSweep) {
		k.sweep(now)
	}
	o := k.owners[name]
	if o == nil {
		o = newOwner(now)
		k.owners[name] = o
	}
	return o
}

// sweep forgets owners that nobody asked for during two windows. It runs when
// an owner is added, which is the only way memory grows.
func (k *Quota) sweep(now time.Time) {
	lifetime := k.lifetime()
	for name, o := range k.owners {
		o.mu.Lock()
		if len(o.out) == 0 && now.Sub(o.touched) > lifetime && now.After(o.gate.Until()) {
			o.forgotten = true
			delete(k.owners, name)
		}
		o.mu.Unlock()
	}
	k.nextSweep = now.Add(lifetime)
}

// lifetime is two of the longest windows, and never less than what the points
// of a period need to fall out.
func (k *Quota) lifetime() time.Duration {
	longest := time.Minute
	for _, l := range k.cfg.Buckets {
		longest = max(longest, l.Window, l.PointsPeriod)
	}
	return 2 * longest
}
