package bucketed

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"sluice/internal/quota"
	"sluice/internal/ration/keeper"
)

// owner is somebody whom this process was asked for.
type owner struct {
	group string
	// asked are the buckets that were drawn on, a bit for each; last is when, or until when
	// nobody is served, in nanoseconds since 1970; out is how many permits are out.
	asked     atomic.Uint64
	last, out atomic.Int64
}

// meet remembers that an owner's bucket was asked for.
func (k *Keeper) meet(name string, b *bucket) *owner {
	o, now := k.find(name), k.opts.Now()
	if o == nil {
		o = k.add(name, now)
	}
	o.serves(now)
	if o.asked.Load()&b.bit == 0 {
		o.asked.Or(b.bit)
	}
	return o
}

func (k *Keeper) find(name string) *owner {
	k.mu.RLock()
	defer k.mu.RUnlock()
	return k.met[name]
}

// serves notes an instant at which the owner is of interest; a later one stands.
func (o *owner) serves(at time.Time) {
	for last := o.last.Load(); at.UnixNano() > last && !o.last.CompareAndSwap(last, at.UnixNano()); last = o.last.Load() {
		continue
	}
}

// add makes room for an owner. Those whom nobody asked for during two windows are
// forgotten then: their rations go on to count.
func (k *Keeper) add(name string, now time.Time) *owner {
	k.mu.Lock()
	defer k.mu.Unlock()
	if now.After(k.nextSweep) {
		k.nextSweep = now.Add(k.lifetime)
		for other, o := range k.met {
			if o.out.Load() <= 0 && now.UnixNano()-o.last.Load() > int64(k.lifetime) {
				delete(k.met, other)
			}
		}
	}
	o := k.met[name]
	if o == nil {
		o = &owner{group: Group(name)}
		k.met[name] = o
	}
	return o
}

// returned notes that a permit of an owner has come back, and returns his group.
func (k *Keeper) returned(p *quota.Permit, r *quota.Response) (group string) {
	o := k.find(p.Owner)
	if o == nil {
		return Group(p.Owner)
	}
	o.out.Add(-1)
	if r.RetryAfter > 0 {
		o.serves(k.opts.Now().Add(min(r.RetryAfter, quota.LongestPark)))
	}
	return o.group
}

// knows says whether anything is known of an owner.
func (k *Keeper) knows(ctx context.Context, name string) (bool, error) {
	if met := k.find(name) != nil; met || k.opts.Groups == nil {
		return met, nil
	}
	groups, err := k.opts.Groups(ctx)
	return slices.Contains(groups, Group(name)), err
}

// known are all owners of whom anything is known.
func (k *Keeper) known(ctx context.Context) ([]string, error) {
	var names []string
	if k.opts.Groups != nil {
		groups, err := k.opts.Groups(ctx)
		if err != nil {
			return nil, err
		}
		for _, group := range groups {
			if name, ok := strings.CutPrefix(group, groupPrefix); ok {
				names = append(names, name)
			}
		}
	}
	k.mu.RLock()
	for name := range k.met {
		names = append(names, name)
	}
	k.mu.RUnlock()
	slices.Sort(names)
	return slices.Compact(names), nil
}

// lookedAtOnce is how many owners are looked at in one trip to a server.
const lookedAtOnce = 64

// Windows implements quota.Keeper.
func (k *Keeper) Windows(ctx context.Context, name string) ([]quota.Window, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if name != "" {
		return k.windows(ctx, name)
	}
	names, err := k.known(ctx)
	if err != nil {
		return nil, err
	}
	all, errs := make([][]quota.Window, len(names)), make([]error, len(names))
	for from := 0; from < len(names); from += lookedAtOnce {
		var asked sync.WaitGroup
		for i := from; i < min(from+lookedAtOnce, len(names)); i++ {
			asked.Go(func() { all[i], errs[i] = k.windows(ctx, names[i]) })
		}
		asked.Wait()
	}
	return slices.Concat(all...), errors.Join(errs...)
}

// windows are those of an owner, by bucket: of buckets that this process was asked for,
// and of others of which something is known.
func (k *Keeper) windows(ctx context.Context, name string) (all []quota.Window, err error) {
	asked := uint64(0)
	if o := k.find(name); o != nil {
		asked = o.asked.Load()
	}
	draws := make([]keeper.Draw, 0, len(k.buckets))
	for _, b := range k.buckets {
		draws = append(draws, keeper.Draw{Ration: b.window, Cost: 1})
	}
	known, err := k.rations.Look(ctx, Group(name), draws...)
	if err != nil {
		return nil, err
	}
	until, why := time.Time{}, keeper.Reason("")
	for _, w := range known {
		if w.Count == keeper.GatePrefix+gate {
			until, why = w.ParkedUntil, w.Parked
		}
	}
	for _, w := range known {
		b := k.buckets[w.Count]
		if b == nil || w.Untouched && asked&b.bit == 0 {
			continue
		}
		shown := quota.Window{Owner: name, Bucket: b.name, Limit: w.Limit, Available: w.Available, InFlight: w.InFlight, Floor: w.Kept, Reset: w.Reset}
		if why != "" {
			shown.ParkedUntil, shown.Parked = until, parked(why)
		} else {
			shown = shown.Closed()
		}
		all = append(all, shown)
	}
	slices.SortFunc(all, func(a, b quota.Window) int { return cmp.Compare(a.Bucket, b.Bucket) })
	return all, nil
}
