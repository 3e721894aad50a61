package redis

import (
	"context"
	"slices"
	"sync"

	"sluice/internal/quota"
)

// asked is an ask on its way.
type asked struct {
	quota.Ask
	// endpoint is the field of its points.
	endpoint string
	decision quota.Decision
	err      error
}

// What reserve.lua answers for an ask besides 0, which is a plain grant;
// reasons follow from reasonAt on.
const (
	answerStoreFirst = iota + 1
	reasonAt
)

// reasons are in the order of reserve.lua.
var reasons = [...]quota.Reason{
	quota.ReasonPrimary, quota.ReasonFloor, quota.ReasonConcurrency, quota.ReasonPoints, quota.ReasonRetryAfter,
}

// reserveAll decides asks of one owner.
func (k *Keeper) reserveAll(ctx context.Context, owner string, asks []*asked) {
	eachEndpoint(asks, func(a *asked) string { return a.endpoint }, func(same []*asked) {
		sweep, err := k.reserveSame(ctx, owner, same)
		for _, a := range same {
			a.err = err
		}
		if sweep {
			k.tidy(ctx, owner)
		}
	})
}

// eachEndpoint calls do for the items of each endpoint, all at once: the
// scripts then share a round trip.
func eachEndpoint[T any](items []T, endpoint func(T) string, do func([]T)) {
	same := func(item T) bool { return endpoint(item) == endpoint(items[0]) }
	if !slices.ContainsFunc(items, func(item T) bool { return !same(item) }) {
		do(items)
		return
	}
	parts := make(map[string][]T)
	for _, item := range items {
		name := endpoint(item)
		parts[name] = append(parts[name], item)
	}
	var all sync.WaitGroup
	for _, part := range parts {
		all.Go(func() { do(part) })
	}
	all.Wait()
}

// reserveSame decides asks of one owner, bucket and endpoint. It reports
// whether the owner's permits are due to be swept.
func (k *Keeper) reserveSame(ctx context.Context, owner string, asks []*asked) (sweep bool, err error) {
	b := k.buckets[asks[0].Bucket]
	blob := make(record, 0, len(asks)*24)
	for _, a := range asks {
		blob.integers(a.Cost, a.Points, a.Floor)
	}
	args := []string{k.clock(), b.field, asks[0].endpoint, b.config, string(blob)}
	n, err := k.runKnown(ctx, k.scripts.reserve, owner, args, 2+2*len(asks))
	if err != nil {
		return false, err
	}
	now, decisions, stored := fromMicros(n[0]), n[2:2+2*len(asks)], n[2+2*len(asks):]
	for i, a := range asks {
		what, value := decisions[2*i], decisions[2*i+1]
		if what >= reasonAt {
			a.decision = quota.Decision{RetryAt: fromMicros(value), Reason: reasons[what-reasonAt]}
			continue
		}
		k.remember(uint64(value))
		a.decision = quota.Decision{Granted: true, Permit: quota.Permit{ID: uint64(value), Ask: a.Ask, GrantedAt: now}}
		if what == answerStoreFirst {
			a.decision.Window = window(owner, a.Bucket, stored)
		}
	}
	return n[1] == 1, nil
}

// remember keeps the highest number of a permit, so that a state that is made
// anew begins above it even if the server's clock was set back.
func (k *Keeper) remember(id uint64) {
	for {
		seen := k.highest.Load()
		if id <= seen || k.highest.CompareAndSwap(seen, id) {
			return
		}
	}
}
