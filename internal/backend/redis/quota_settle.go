package redis

import (
	"context"

	"sluice/internal/domain"
	"sluice/internal/quota"
)

// returnedPermit is a permit on its way back.
type returnedPermit struct {
	permit   quota.Permit
	response quota.Response
	// free is set for a call that cost nothing.
	free bool
	// endpoint is the field of its points.
	endpoint string
	window   *domain.QuotaWindow
	err      error
}

// settleAll gives back permits of one owner.
func (k *Quota) settleAll(ctx context.Context, owner string, all []*returnedPermit) {
	eachEndpoint(all, func(g *returnedPermit) string { return g.endpoint }, func(same []*returnedPermit) {
		err := k.settleSame(ctx, owner, same)
		for _, g := range same {
			g.err = err
		}
	})
}

// settleSame gives back permits of one owner, bucket and endpoint.
func (k *Quota) settleSame(ctx context.Context, owner string, all []*returnedPermit) error {
	b := k.buckets[all[0].permit.Bucket]
	n, err := k.runKnown(ctx, quotaScripts.settle, owner, func(seen uint64) []string {
		var blob record
		blob.double(float64(seen))
		args := make([]string, 5, 5+len(all))
		for _, g := range all {
			blob.answer(g)
			args = append(args, permitField(g.permit.ID))
		}
		args[0], args[1], args[2], args[3], args[4] = k.clock(), b.field, all[0].endpoint, b.config, string(blob)
		return args
	}, 1+len(all))
	if err != nil {
		return err
	}
	changed, stored := n[1:1+len(all)], n[1+len(all):]
	for i, g := range all {
		if changed[i] == 1 {
			g.window = k.window(owner, b.name, n[0], stored)
		}
	}
	return nil
}

// answer adds what read_answer of settle.lua reads.
func (r *record) answer(g *returnedPermit) {
	p, a := g.permit, g.response
	r.double(float64(p.ID))
	r.integers(p.Cost, p.Points)
	r.times(p.GrantedAt)
	r.booleans(g.free, a.Known)
	r.integers(a.Limit, a.Remaining)
	r.times(a.Reset, a.Date)
	r.integers(a.Cost)
	r.booleans(a.Exhausted)
	r.durations(a.RetryAfter)
	r.booleans(a.Backoff, a.Succeeded)
}
