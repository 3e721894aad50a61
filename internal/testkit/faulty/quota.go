package faulty

import (
	"context"

	"sluice/internal/quota"
)

// Quota is a quota keeper with outages.
type Quota struct {
	inner quota.Keeper
	plan  *Plan
}

var _ quota.Keeper = (*Quota)(nil)

// NewQuota wraps a keeper.
func NewQuota(inner quota.Keeper, plan *Plan) *Quota { return &Quota{inner: inner, plan: plan} }

// Reserve implements quota.Keeper.
func (q *Quota) Reserve(ctx context.Context, ask quota.Ask) (quota.Decision, error) {
	return get(ctx, q.plan, "Reserve", func() (quota.Decision, error) { return q.inner.Reserve(ctx, ask) })
}

// Settle implements quota.Keeper.
func (q *Quota) Settle(ctx context.Context, p quota.Permit, r quota.Response) error {
	return do(ctx, q.plan, "Settle", func() error { return q.inner.Settle(ctx, p, r) })
}

// Refund implements quota.Keeper.
func (q *Quota) Refund(ctx context.Context, p quota.Permit, r quota.Response) error {
	return do(ctx, q.plan, "Refund", func() error { return q.inner.Refund(ctx, p, r) })
}

// Windows implements quota.Keeper.
func (q *Quota) Windows(ctx context.Context, owner string) ([]quota.Window, error) {
	return get(ctx, q.plan, "Windows", func() ([]quota.Window, error) { return q.inner.Windows(ctx, owner) })
}

// Reset implements quota.Keeper.
func (q *Quota) Reset(ctx context.Context, owner string) ([]string, error) {
	return get(ctx, q.plan, "Reset", func() ([]string, error) { return q.inner.Reset(ctx, owner) })
}
