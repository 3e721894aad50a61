package faulty

import (
	"context"

	"sluice/internal/ration/keeper"
)

// Rations is a store of what was drawn on rations, with outages.
type Rations struct {
	keeper.Store
	plan *Plan
}

var _ keeper.Store = (*Rations)(nil)

// NewRations wraps a store of rations.
func NewRations(inner keeper.Store, plan *Plan) *Rations { return &Rations{inner, plan} }

// Load implements keeper.Store.
func (r *Rations) Load(ctx context.Context, group string) ([]keeper.Stored, error) {
	return get(ctx, r.plan, "Load", func() ([]keeper.Stored, error) { return r.Store.Load(ctx, group) })
}

// Save implements keeper.Store.
func (r *Rations) Save(ctx context.Context, all []keeper.Stored) error {
	return do(ctx, r.plan, "Save", func() error { return r.Store.Save(ctx, all) })
}

// Groups implements keeper.Store.
func (r *Rations) Groups(ctx context.Context) ([]string, error) {
	return get(ctx, r.plan, "Groups", func() ([]string, error) { return r.Store.Groups(ctx) })
}
