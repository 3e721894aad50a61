package redis

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"

	"sluice/internal/domain"
	"sluice/internal/quota"
)

// Windows implements quota.Keeper.
func (k *Quota) Windows(ctx context.Context, owner string) ([]quota.Window, error) {
	var all []quota.Window
	var err error
	if owner != "" {
		all, _, err = k.windowsOf(ctx, owner)
	} else {
		all, err = k.everyWindow(ctx)
	}
	if err != nil {
		return nil, err
	}
	slices.SortFunc(all, func(a, b quota.Window) int {
		return cmp.Or(cmp.Compare(a.Owner, b.Owner), cmp.Compare(a.Bucket, b.Bucket))
	})
	return all, nil
}

// windowsOf lists an owner's windows, and tells whether anything is known
// about the owner.
func (k *Quota) windowsOf(ctx context.Context, owner string) (all []quota.Window, known bool, err error) {
	n, err := k.run(ctx, quotaScripts.windows, owner, append([]string{k.clock()}, k.everyBucket...))
	if err != nil || len(n) == 0 {
		return nil, false, err
	}
	parked, why, rest := n[1], n[2], n[3:]
	for i := 0; 6*i < len(rest); i++ {
		b := rest[6*i:]
		if b[0] == 0 {
			continue
		}
		w := quota.Window{
			Owner: owner, Bucket: k.everyBucket[2*i][len("b:"):], Limit: int(b[1]),
			Available: int(b[2]), InFlight: int(b[3]), Floor: int(b[4]), Reset: fromMicros(b[5]),
		}
		if why >= reasonAt {
			w.ParkedUntil, w.Parked = fromMicros(parked), quotaReasons[why-reasonAt]
		} else {
			w = w.Closed()
		}
		all = append(all, w)
	}
	return all, true, nil
}

// Reset implements quota.Keeper.
func (k *Quota) Reset(ctx context.Context, owner string) ([]domain.QuotaWindow, error) {
	args := func(uint64) []string { return append([]string{k.clock()}, k.everyBucket...) }
	n, err := k.run(ctx, quotaScripts.reset, owner, args(0))
	if err != nil {
		return nil, err
	}
	if len(n) == 0 {
		stored, err := k.stored(ctx, owner)
		if err != nil {
			return nil, err
		}
		if len(stored) == 0 {
			return nil, domain.Errorf(domain.CodeNotFound, "nothing is known about the quota of %q", owner)
		}
		if n, err = k.runKnown(ctx, quotaScripts.reset, owner, args, 1); err != nil {
			return nil, err
		}
	}
	var all []domain.QuotaWindow
	for i := 0; 1+6*i < len(n); i++ {
		if b := n[1+6*i:]; b[0] == 1 {
			k.highest.remember(owner, uint64(b[1]))
			all = append(all, *k.window(owner, k.everyBucket[2*i][len("b:"):], n[0], b[1:]))
		}
	}
	return all, nil
}

// listKey is where owners are listed, for people to see. No decision depends
// on it, so that it may be in another slot than they are.
func (k *Quota) listKey() string { return k.db.Key("quota:owners") }

// list adds an owner to the list. If that fails the owner is merely not seen
// until its permits are swept.
func (k *Quota) list(ctx context.Context, owner string) {
	c := k.db.Client
	_ = c.Do(ctx, c.B().Sadd().Key(k.listKey()).Member(owner).Build()).Error()
}

// everyWindow lists the windows of all owners.
func (k *Quota) everyWindow(ctx context.Context) ([]quota.Window, error) {
	c := k.db.Client
	owners, err := c.Do(ctx, c.B().Smembers().Key(k.listKey()).Build()).AsStrSlice()
	if err != nil {
		return nil, failure(err)
	}
	var (
		mu   sync.Mutex
		all  []quota.Window
		errs []error
	)
	for some := range slices.Chunk(owners, quotaBatch) {
		var asked sync.WaitGroup
		for _, owner := range some {
			asked.Go(func() {
				windows, err := k.listed(ctx, owner)
				mu.Lock()
				defer mu.Unlock()
				all = append(all, windows...)
				errs = append(errs, err)
			})
		}
		asked.Wait()
	}
	return all, errors.Join(errs...)
}

// listed returns the windows of a listed owner, and takes one off the list
// that nothing is known about any more.
func (k *Quota) listed(ctx context.Context, owner string) ([]quota.Window, error) {
	windows, known, err := k.windowsOf(ctx, owner)
	if err != nil || known {
		return windows, err
	}
	c := k.db.Client
	if err := c.Do(ctx, c.B().Srem().Key(k.listKey()).Member(owner).Build()).Error(); err != nil {
		return nil, failure(err)
	}
	// It may have come back meanwhile, and listed itself before it was taken off.
	windows, known, err = k.windowsOf(ctx, owner)
	if known {
		k.list(ctx, owner)
	}
	return windows, err
}
