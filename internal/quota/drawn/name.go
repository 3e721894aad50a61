package drawn

import (
	"context"
	"slices"
	"strings"

	"sluice/internal/quota"
	"sluice/internal/quota/bucketed"
	"sluice/internal/quota/rate"
	"sluice/internal/ration"
	"sluice/internal/ration/keeper"
)

// group is what calls of a source, or of one of its owners, can draw on at once.
type group struct {
	bucket string
	// owner is "" where rations are everybody's together: a call draws on those and on
	// its owner's in one step, and so all of them are in one place.
	owner string
}

// between separates a source from an owner. Neither has it in its name.
const between = "\x1f"

func (g group) name() string {
	if g.owner == "" {
		return g.bucket
	}
	return g.bucket + between + g.owner
}

func groupNamed(name string) group {
	bucket, owner, _ := strings.Cut(name, between)
	return group{bucket, owner}
}

func groupOf(ask *quota.Ask) group {
	if ask.Drawn.Shared {
		return group{bucket: ask.Bucket}
	}
	return group{ask.Bucket, ask.Owner}
}

// meet remembers a group, for what is shown.
func (k *Keeper) meet(ask *quota.Ask) {
	g := groupOf(ask)
	k.mu.Lock()
	defer k.mu.Unlock()
	k.met[g.name()] = g
}

// groupsOf are the groups that an owner has a part in, all for "".
func (k *Keeper) groupsOf(ctx context.Context, owner string) ([]group, error) {
	all := map[string]group{}
	if k.groups != nil {
		names, err := k.groups(ctx)
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			if !rate.IsGroup(name) && !bucketed.IsGroup(name) {
				all[name] = groupNamed(name)
			}
		}
	}
	k.mu.Lock()
	for name, g := range k.met {
		all[name] = g
	}
	k.mu.Unlock()
	var some []group
	for _, g := range all {
		if owner == "" || g.owner == "" || g.owner == owner {
			some = append(some, g)
		}
	}
	return some, nil
}

// drawOf is an ask as rations are asked.
func drawOf(ask *quota.Ask) keeper.Ask {
	a := keeper.Ask{Group: groupOf(ask).name(), Gate: gateOf(ask), Low: ask.Low, Draws: slices.Clone(ask.Drawn.Draws)}
	keeps := keeping(a.Draws)
	for i := range a.Draws {
		d := &a.Draws[i]
		d.Part = partOf(d.Ration, ask.Owner, d.Part)
		if i == keeps && ask.Floor > 0 {
			d.Keep = ask.Floor
		}
	}
	return a
}

// keeping is the draw that an owner's own floor is about: what keeps something for him
// anyway, else the longest window.
func keeping(draws []keeper.Draw) int {
	at := -1
	for i := range draws {
		r := draws[i].Ration
		if !owned(r) || r.Shape != ration.Fixed {
			continue
		}
		if r.Keep > 0 {
			return i
		}
		if at < 0 || r.Every.Length > draws[at].Ration.Every.Length {
			at = i
		}
	}
	return at
}

// owned says whether each owner has a count of the ration.
func owned(r *ration.Ration) bool {
	return slices.Contains(r.Per, ration.PerOwner) || slices.Contains(r.Per, ration.PerKey)
}

// partOf names whose count it is. All credentials of an owner are one key: who they
// belong to is all that is known here.
func partOf(r *ration.Ration, owner, rest string) string {
	switch {
	case !owned(r):
		return rest
	case rest == "":
		return owner
	}
	return owner + between + rest
}

// gateOf names who waits.
func gateOf(ask *quota.Ask) string {
	switch ask.Drawn.Park {
	case ration.WhoSource:
		return "source"
	case ration.WhoStream:
		return "stream " + ask.Drawn.Stream + between + ask.Owner
	case ration.WhoOwner, ration.WhoKey:
	}
	return "owner " + ask.Owner
}
