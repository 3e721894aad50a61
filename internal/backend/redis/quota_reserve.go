package redis

import (
	"context"
	"slices"
	"sync"
	"time"

	"sluice/internal/quota"
)

// quotaAsk is an ask on its way.
type quotaAsk struct {
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

// quotaReasons are in the order of reserve.lua.
var quotaReasons = [...]quota.Reason{
	quota.ReasonPrimary, quota.ReasonFloor, quota.ReasonConcurrency, quota.ReasonPoints, quota.ReasonRetryAfter,
	quota.ReasonBackoff, quota.ReasonTrial, quota.ReasonFloorAll,
}

// reserveAll decides asks of one owner.
func (k *Quota) reserveAll(ctx context.Context, owner string, asks []*quotaAsk) {
	eachEndpoint(asks, func(a *quotaAsk) string { return a.endpoint }, func(same []*quotaAsk) {
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
func (k *Quota) reserveSame(ctx context.Context, owner string, asks []*quotaAsk) (sweep bool, err error) {
	b := k.buckets[asks[0].Bucket]
	n, err := k.runKnown(ctx, quotaScripts.reserve, owner, func(seen uint64) []string {
		blob := make(record, 0, 8+len(asks)*24)
		blob.double(float64(seen))
		for _, a := range asks {
			blob.integers(a.Cost, a.Points, a.Floor)
		}
		return []string{k.clock(), b.field, asks[0].endpoint, b.config, string(blob)}
	}, 2+2*len(asks))
	if err != nil {
		return false, err
	}
	now, decisions, stored := fromMicros(n[0]), n[2:2+2*len(asks)], n[2+2*len(asks):]
	here := k.now()
	for i, a := range asks {
		what, value := decisions[2*i], decisions[2*i+1]
		if what >= reasonAt {
			// How long to wait, told by the server's clock, begins now by this
			// process's: the other may be set before the wait is over.
			wait := time.Duration(value-n[0]) * time.Microsecond
			a.decision = quota.Decision{RetryAt: here.Add(wait), Reason: quotaReasons[what-reasonAt]}
			continue
		}
		k.highest.remember(owner, uint64(value))
		a.decision = quota.Decision{Granted: true, Permit: quota.Permit{ID: uint64(value), Ask: a.Ask, GrantedAt: now}}
		if what == answerStoreFirst {
			a.decision.Window = k.window(owner, a.Bucket, n[0], stored)
		}
	}
	return n[1] == 1, nil
}
