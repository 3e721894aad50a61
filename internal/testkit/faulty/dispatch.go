package faulty

import (
	"context"
	"time"

	"sluice/internal/dispatch"
)

// Dispatch is a dispatcher with outages.
type Dispatch struct {
	inner dispatch.Dispatcher
	plan  *Plan
}

var _ dispatch.Dispatcher = (*Dispatch)(nil)

// NewDispatch wraps a dispatcher.
func NewDispatch(inner dispatch.Dispatcher, plan *Plan) *Dispatch {
	return &Dispatch{inner: inner, plan: plan}
}

// Lease implements dispatch.Dispatcher.
func (d *Dispatch) Lease(ctx context.Context, n int) ([]dispatch.Lease, error) {
	return get(ctx, d.plan, "Lease", func() ([]dispatch.Lease, error) { return d.inner.Lease(ctx, n) })
}

// Release implements dispatch.Dispatcher.
func (d *Dispatch) Release(ctx context.Context, lease dispatch.Lease, at time.Time) error {
	return do(ctx, d.plan, "Release", func() error { return d.inner.Release(ctx, lease, at) })
}

// Park implements dispatch.Dispatcher.
func (d *Dispatch) Park(ctx context.Context, lane string, until time.Time) error {
	return do(ctx, d.plan, "Park", func() error { return d.inner.Park(ctx, lane, until) })
}

// Resume implements dispatch.Dispatcher.
func (d *Dispatch) Resume(ctx context.Context, lane string) error {
	return do(ctx, d.plan, "Resume", func() error { return d.inner.Resume(ctx, lane) })
}

// Stats implements dispatch.Dispatcher.
func (d *Dispatch) Stats(ctx context.Context) (dispatch.Stats, error) {
	return get(ctx, d.plan, "Stats", func() (dispatch.Stats, error) { return d.inner.Stats(ctx) })
}

// Push implements dispatch.Dispatcher.
func (d *Dispatch) Push(ctx context.Context, entries ...dispatch.Entry) error {
	return do(ctx, d.plan, "Push", func() error { return d.inner.Push(ctx, entries...) })
}

// Renew implements dispatch.Dispatcher.
func (d *Dispatch) Renew(ctx context.Context, leases ...dispatch.Lease) ([]dispatch.Lease, error) {
	return get(ctx, d.plan, "Renew", func() ([]dispatch.Lease, error) { return d.inner.Renew(ctx, leases...) })
}

// Ack implements dispatch.Dispatcher.
func (d *Dispatch) Ack(ctx context.Context, leases ...dispatch.Lease) error {
	return do(ctx, d.plan, "Ack", func() error { return d.inner.Ack(ctx, leases...) })
}

// Remove implements dispatch.Dispatcher.
func (d *Dispatch) Remove(ctx context.Context, ids ...string) error {
	return do(ctx, d.plan, "Remove", func() error { return d.inner.Remove(ctx, ids...) })
}
