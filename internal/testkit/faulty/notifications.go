package faulty

import (
	"context"
	"time"

	"sluice/internal/notify"
)

// Notifications is a store of notifications with outages.
type Notifications struct {
	notify.Store
	plan *Plan
}

// NewNotifications wraps a store of notifications.
func NewNotifications(inner notify.Store, plan *Plan) *Notifications {
	return &Notifications{inner, plan}
}

// Happened implements notify.Store.
func (n *Notifications) Happened(ctx context.Context, since time.Time, limit int) ([]notify.Event, error) {
	return get(ctx, n.plan, "Happened", func() ([]notify.Event, error) { return n.Store.Happened(ctx, since, limit) })
}

// Mark implements notify.Store.
func (n *Notifications) Mark(ctx context.Context) (time.Time, error) {
	return get(ctx, n.plan, "Mark", func() (time.Time, error) { return n.Store.Mark(ctx) })
}

// Record implements notify.Store.
func (n *Notifications) Record(ctx context.Context, r notify.Recording) (int, error) {
	return get(ctx, n.plan, "Record", func() (int, error) { return n.Store.Record(ctx, r) })
}

// Due implements notify.Store.
func (n *Notifications) Due(ctx context.Context, now time.Time, limit int) ([]notify.Message, time.Time, error) {
	return getPair(ctx, n.plan, "Due", func() ([]notify.Message, time.Time, error) { return n.Store.Due(ctx, now, limit) })
}

// Claim implements notify.Store.
func (n *Notifications) Claim(ctx context.Context, id string, seen int64, now time.Time) (notify.Message, bool, error) {
	return getPair(ctx, n.plan, "Claim", func() (notify.Message, bool, error) { return n.Store.Claim(ctx, id, seen, now) })
}

// Settle implements notify.Store.
func (n *Notifications) Settle(ctx context.Context, s notify.Settlement) error {
	return do(ctx, n.plan, "Settle", func() error { return n.Store.Settle(ctx, s) })
}

// Messages implements notify.Store.
func (n *Notifications) Messages(ctx context.Context, q notify.Query) ([]notify.Message, error) {
	return get(ctx, n.plan, "Messages", func() ([]notify.Message, error) { return n.Store.Messages(ctx, q) })
}

// Counts implements notify.Store.
func (n *Notifications) Counts(ctx context.Context) ([]notify.Count, error) {
	return get(ctx, n.plan, "Counts", func() ([]notify.Count, error) { return n.Store.Counts(ctx) })
}

// Retry implements notify.Store.
func (n *Notifications) Retry(ctx context.Context, id string, now time.Time) (notify.Message, error) {
	return get(ctx, n.plan, "Retry", func() (notify.Message, error) { return n.Store.Retry(ctx, id, now) })
}

// Forget implements notify.Store.
func (n *Notifications) Forget(ctx context.Context, before time.Time, limit int) (int, error) {
	return get(ctx, n.plan, "Forget", func() (int, error) { return n.Store.Forget(ctx, before, limit) })
}
