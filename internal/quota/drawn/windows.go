package drawn

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"sluice/internal/quota"
	"sluice/internal/ration/keeper"
)

// Windows implements quota.Keeper. Of a source that declares its rations it shows one
// window for each owner: that of the ration that leaves least.
func (k *Keeper) Windows(ctx context.Context, owner string) ([]quota.Window, error) {
	all, err := k.buckets.Windows(ctx, owner)
	if err != nil {
		return nil, err
	}
	groups, err := k.groupsOf(ctx, owner)
	if err != nil {
		return nil, err
	}
	for _, g := range groups {
		known, err := k.rations.Look(ctx, g.name())
		if err != nil {
			return nil, err
		}
		for _, one := range ownersIn(g, owner, known) {
			if w, ok := tightest(g, one, known); ok {
				all = append(all, w)
			}
		}
	}
	slices.SortFunc(all, func(a, b quota.Window) int {
		return cmp.Or(cmp.Compare(a.Owner, b.Owner), cmp.Compare(a.Bucket, b.Bucket))
	})
	return all, nil
}

// ownersIn are the owners that a group is shown for.
func ownersIn(g group, asked string, known []keeper.Window) []string {
	switch {
	case asked != "":
		return []string{asked}
	case g.owner != "":
		return []string{g.owner}
	}
	var owners []string
	for _, w := range known {
		if gate, ok := strings.CutPrefix(w.Count, keeper.GatePrefix+"owner "); ok {
			owners = append(owners, gate)
		} else if one, _, _ := strings.Cut(w.Part, between); one != "" && w.Parked == "" {
			owners = append(owners, one)
		}
	}
	if len(owners) == 0 {
		owners = append(owners, g.bucket)
	}
	slices.Sort(owners)
	return slices.Compact(owners)
}

// tightest is the window that leaves an owner least.
func tightest(g group, owner string, known []keeper.Window) (quota.Window, bool) {
	var least quota.Window
	found := false
	until, why := least.ParkedUntil, keeper.Reason("")
	for _, w := range known {
		if gate, ok := strings.CutPrefix(w.Count, keeper.GatePrefix); ok {
			if (gate == "source" || gate == "owner "+owner) && w.ParkedUntil.After(until) {
				until, why = w.ParkedUntil, w.Parked
			}
			continue
		}
		part, _, _ := strings.Cut(w.Part, between)
		if part != "" && part != owner && owner != g.bucket {
			continue
		}
		if found && w.Available >= least.Available {
			continue
		}
		found = true
		least = quota.Window{
			Owner: owner, Bucket: g.bucket, Limit: w.Limit, Available: w.Available, InFlight: w.InFlight, Floor: w.Kept, Reset: w.Reset,
		}
	}
	if why == "" {
		return least.Closed(), found
	}
	least.Owner, least.Bucket, least.ParkedUntil, least.Parked = owner, g.bucket, until, quota.ReasonRetryAfter
	if why == keeper.ReasonBackoff {
		least.Parked = quota.ReasonBackoff
	}
	return least, true
}
