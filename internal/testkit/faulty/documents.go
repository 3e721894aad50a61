package faulty

import (
	"context"

	"sluice/internal/document"
)

// Documents is a document store with outages.
type Documents struct {
	inner document.Store
	plan  *Plan
}

var _ document.Store = (*Documents)(nil)

// NewDocuments wraps a store.
func NewDocuments(inner document.Store, plan *Plan) *Documents {
	return &Documents{inner: inner, plan: plan}
}

// MarkDeleted implements document.Writer.
func (d *Documents) MarkDeleted(ctx context.Context, absences []document.Absence) error {
	return do(ctx, d.plan, "MarkDeleted", func() error { return d.inner.MarkDeleted(ctx, absences) })
}

// Upsert implements document.Writer.
func (d *Documents) Upsert(ctx context.Context, docs []document.Document) error {
	return do(ctx, d.plan, "Upsert", func() error { return d.inner.Upsert(ctx, docs) })
}

// Get implements document.Reader.
func (d *Documents) Get(ctx context.Context, key document.Key) (document.Document, bool, error) {
	return getPair(ctx, d.plan, "Get", func() (document.Document, bool, error) { return d.inner.Get(ctx, key) })
}

// Scan implements document.Reader.
func (d *Documents) Scan(ctx context.Context, q document.Query, fn func(*document.Document) error) error {
	return do(ctx, d.plan, "Scan", func() error { return d.inner.Scan(ctx, q, fn) })
}

// Count implements document.Reader.
func (d *Documents) Count(ctx context.Context, account int64) (map[document.Kind]int64, error) {
	return get(ctx, d.plan, "Count", func() (map[document.Kind]int64, error) { return d.inner.Count(ctx, account) })
}

// Purge implements document.Writer.
func (d *Documents) Purge(ctx context.Context, account int64, most int) (int64, error) {
	return get(ctx, d.plan, "Purge", func() (int64, error) { return d.inner.Purge(ctx, account, most) })
}
