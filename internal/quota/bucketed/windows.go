package bucketed

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"sluice/internal/quota"
	"sluice/internal/ration/keeper"
)

// owner is somebody whom this process was asked for.
type owner struct {
	mu sync.Mutex
	// asked are the buckets that were drawn on, and last when, or until when nobody is
	// served; out is how many permits are out.
	asked []*bucket
	last  time.Time
	out   int
}

// meet remembers that an owner's bucket was asked for.
func (k *Keeper) meet(name string, b *bucket) *owner {
	k.mu.RLock()
	o := k.met[name]
	k.mu.RUnlock()
	now := k.opts.Now()
	if o == nil {
		o = k.add(name, now)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if now.After(o.last) {
		o.last = now
	}
	if !slices.Contains(o.asked, b) {
		o.asked = append(o.asked, b)
	}
	return o
}

// add makes room for an owner. Those whom nobody asked for during two windows are
// forgotten then: their rations go on to count.
func (k *Keeper) add(name string, now time.Time) *owner {
	k.mu.Lock()
	defer k.mu.Unlock()
	if now.After(k.nextSweep) {
		k.nextSweep = now.Add(k.lifetime)
		for other, o := range k.met {
			o.mu.Lock()
			if o.out <= 0 && now.Sub(o.last) > k.lifetime {
				delete(k.met, other)
			}
			o.mu.Unlock()
		}
	}
	o := k.met[name]
	if o == nil {
		o = &owner{}
		k.met[name] = o
	}
	return o
}

// granted and returned count the permits of an owner that are out.
func (o *owner) granted() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.out++
}

func (k *Keeper) returned(p *quota.Permit, r *quota.Response) {
	k.mu.RLock()
	o := k.met[p.Owner]
	k.mu.RUnlock()
	if o == nil {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.out = max(o.out-1, 0)
	if until := k.opts.Now().Add(min(r.RetryAfter, quota.LongestPark)); until.After(o.last) {
		o.last = until
	}
}

// knows says whether anything is known of an owner.
func (k *Keeper) knows(ctx context.Context, name string) (bool, error) {
	k.mu.RLock()
	_, met := k.met[name]
	k.mu.RUnlock()
	if met || k.opts.Groups == nil {
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
	var all []quota.Window
	for _, name := range names {
		some, err := k.windows(ctx, name)
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	return all, nil
}

// windows are those of an owner, by bucket: of buckets that this process was asked for,
// and of others of which something is known.
func (k *Keeper) windows(ctx context.Context, name string) (all []quota.Window, err error) {
	var asked []*bucket
	k.mu.RLock()
	o := k.met[name]
	k.mu.RUnlock()
	if o != nil {
		o.mu.Lock()
		asked = slices.Clone(o.asked)
		o.mu.Unlock()
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
		if b == nil || w.Untouched && !slices.Contains(asked, b) {
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
