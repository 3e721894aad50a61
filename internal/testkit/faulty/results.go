package faulty

import (
	"context"

	"sluice/internal/state"
)

// Results is a store of results with outages.
type Results struct {
	state.Pending
	plan *Plan
}

var _ state.Pending = (*Results)(nil)

// NewResults wraps a store of results.
func NewResults(inner state.Pending, plan *Plan) *Results { return &Results{inner, plan} }

// Keep implements state.Pending.
func (r *Results) Keep(ctx context.Context, o state.Outcome) error {
	return do(ctx, r.plan, "Keep", func() error { return r.Pending.Keep(ctx, o) })
}

// Take implements state.Pending.
func (r *Results) Take(ctx context.Context, job int64) (state.Outcome, bool, error) {
	return getPair(ctx, r.plan, "Take", func() (state.Outcome, bool, error) { return r.Pending.Take(ctx, job) })
}

// Drop implements state.Pending.
func (r *Results) Drop(ctx context.Context, jobs ...int64) error {
	return do(ctx, r.plan, "Drop", func() error { return r.Pending.Drop(ctx, jobs...) })
}
