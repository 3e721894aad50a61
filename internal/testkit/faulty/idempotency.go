package faulty

import (
	"context"
	"time"

	"sluice/internal/idempotency"
	"sluice/internal/state"
)

// Keys is a store of requests with a key, with outages.
type Keys struct {
	idempotency.Store
	plan *Plan
}

// NewKeys wraps a store of requests with a key.
func NewKeys(inner idempotency.Store, plan *Plan) *Keys { return &Keys{inner, plan} }

// Claim implements idempotency.Store.
func (k *Keys) Claim(ctx context.Context, r idempotency.Record, now time.Time) (idempotency.Record, bool, error) {
	return getPair(ctx, k.plan, "Claim", func() (idempotency.Record, bool, error) { return k.Store.Claim(ctx, r, now) })
}

// Finish implements idempotency.Store.
func (k *Keys) Finish(ctx context.Context, id idempotency.ID, holder int64, answer state.Sealed, expires time.Time) (bool, error) {
	return get(ctx, k.plan, "Finish", func() (bool, error) { return k.Store.Finish(ctx, id, holder, answer, expires) })
}

// Release implements idempotency.Store.
func (k *Keys) Release(ctx context.Context, id idempotency.ID, holder int64) error {
	return do(ctx, k.plan, "Release", func() error { return k.Store.Release(ctx, id, holder) })
}

// Prune implements idempotency.Store.
func (k *Keys) Prune(ctx context.Context, now time.Time, limit int) (int, error) {
	return get(ctx, k.plan, "Prune", func() (int, error) { return k.Store.Prune(ctx, now, limit) })
}
