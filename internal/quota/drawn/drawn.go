// Package drawn lets calls of sources that declare their rations draw on them, and
// leaves all other calls to the keeper of buckets.
//
//   - drawn.go: the keeper.
//   - name.go: whose counts are whose.
//   - windows.go: what is shown of rations, as of one bucket.
package drawn

import (
	"context"
	"sync"

	"sluice/internal/domain"
	"sluice/internal/quota"
	"sluice/internal/ration"
	"sluice/internal/ration/keeper"
)

// Keeper implements quota.Keeper: by rations for calls that draw on some, by another
// for all others.
type Keeper struct {
	buckets quota.Keeper
	rations keeper.Keeper
	groups  Groups

	mu sync.Mutex
	// met are the groups that this process has asked for.
	met map[string]group
}

// Groups tells which groups were ever written down; nil for none.
type Groups func(ctx context.Context) ([]string, error)

var _ quota.Keeper = (*Keeper)(nil)

// New returns a keeper of both.
func New(buckets quota.Keeper, rations keeper.Keeper, groups Groups) *Keeper {
	return &Keeper{buckets: buckets, rations: rations, groups: groups, met: make(map[string]group)}
}

// Reserve implements quota.Keeper.
func (k *Keeper) Reserve(ctx context.Context, ask quota.Ask) (quota.Decision, error) {
	if ask.Drawn == nil {
		return k.buckets.Reserve(ctx, ask)
	}
	drawn := drawOf(&ask)
	k.meet(&ask)
	d, err := k.rations.Reserve(ctx, drawn)
	if err != nil {
		return quota.Decision{}, err
	}
	if d.Granted {
		return quota.Decision{Granted: true, Permit: quota.Permit{ID: d.Permit.ID, Ask: ask, GrantedAt: d.Permit.GrantedAt}}, nil
	}
	reason, alone := refusal(&ask, &drawn, &d)
	return quota.Decision{RetryAt: d.RetryAt, Reason: reason, Alone: alone}, nil
}

// Settle implements quota.Keeper.
func (k *Keeper) Settle(ctx context.Context, p quota.Permit, r quota.Response) error {
	if p.Drawn == nil {
		return k.buckets.Settle(ctx, p, r)
	}
	return k.end(ctx, &p, &r, false)
}

// Refund implements quota.Keeper. A call that was answered counts for the upstream as
// far as anybody knows, whatever the answer was worth.
func (k *Keeper) Refund(ctx context.Context, p quota.Permit, r quota.Response) error {
	if p.Drawn == nil {
		return k.buckets.Refund(ctx, p, r)
	}
	return k.end(ctx, &p, &r, r.Told == nil)
}

func (k *Keeper) end(ctx context.Context, p *quota.Permit, r *quota.Response, free bool) error {
	ask := drawOf(&p.Ask)
	o := keeper.Outcome{RetryAfter: min(r.RetryAfter, quota.LongestPark), Backoff: r.Backoff, Well: r.Succeeded && !r.Backoff && r.RetryAfter <= 0}
	o.Answers = make([]keeper.Answer, len(ask.Draws))
	for i := range ask.Draws {
		if i < len(r.Told) {
			o.Answers[i] = r.Told[i]
		}
		if o.Answers[i].Moved {
			o.Answers[i].Part = partOf(ask.Draws[i].Ration, p.Owner, o.Answers[i].Part)
		}
		o.Answers[i].Free = o.Answers[i].Free || free
	}
	return k.rations.Settle(ctx, keeper.Permit{ID: p.ID, Ask: ask, GrantedAt: p.GrantedAt}, o)
}

// Reset implements quota.Keeper.
func (k *Keeper) Reset(ctx context.Context, owner string) ([]string, error) {
	all, err := k.buckets.Reset(ctx, owner)
	if err != nil && domain.CodeOf(err) != domain.CodeNotFound {
		return nil, err
	}
	groups, failed := k.groupsOf(ctx, owner)
	if failed != nil {
		return nil, failed
	}
	for _, g := range groups {
		if failed := k.rations.Lift(ctx, g.name()); failed != nil {
			return nil, failed
		}
		err = nil
	}
	return all, err
}

// brief is how long a period is at most whose end is waited for as for a minute's.
const brief = 10 * 60

// refusal says why a call may not be made, as it is said of buckets, and whether that
// is about this call and not about others of its bucket.
func refusal(ask *quota.Ask, drawn *keeper.Ask, d *keeper.Decision) (why quota.Reason, alone bool) {
	alone = ask.Drawn.Park == ration.WhoStream
	switch d.Reason {
	case keeper.ReasonParked:
		return quota.ReasonRetryAfter, alone
	case keeper.ReasonBackoff:
		return quota.ReasonBackoff, alone
	case keeper.ReasonTrial:
		return quota.ReasonTrial, alone
	case keeper.ReasonConcurrent, keeper.ReasonSpent, keeper.ReasonKept:
	}
	long := false
	for i := range drawn.Draws {
		if r := drawn.Draws[i].Ration; drawn.Draws[i].Count() == d.Refused {
			long = r.Every.Length.Seconds() > brief
			alone = len(r.Match) > 0 || len(ask.Drawn.Draws[i].Part) > 0
			if ask.Low && r.Low > 0 && d.Reason == keeper.ReasonKept {
				// Others of the lane may be urgent.
				return quota.ReasonShare, true
			}
		}
	}
	switch {
	case d.Reason == keeper.ReasonConcurrent:
		return quota.ReasonConcurrency, alone
	case !long:
		return quota.ReasonPoints, alone
	case d.Reason == keeper.ReasonKept:
		return quota.ReasonFloor, alone
	}
	return quota.ReasonPrimary, alone
}
