package faulty

import (
	"context"
	"time"

	"sluice/internal/access"
)

// Tokens is a store of tokens with outages.
type Tokens struct {
	access.TokenStore
	plan *Plan
}

// NewTokens wraps a store of tokens.
func NewTokens(inner access.TokenStore, plan *Plan) *Tokens { return &Tokens{inner, plan} }

// AddToken implements access.TokenStore.
func (s *Tokens) AddToken(ctx context.Context, t access.StoredToken, guarded bool) error {
	return do(ctx, s.plan, "AddToken", func() error { return s.TokenStore.AddToken(ctx, t, guarded) })
}

// Tokens implements access.TokenStore.
func (s *Tokens) Tokens(ctx context.Context) ([]access.StoredToken, error) {
	return get(ctx, s.plan, "Tokens", func() ([]access.StoredToken, error) { return s.TokenStore.Tokens(ctx) })
}

// RemoveToken implements access.TokenStore.
func (s *Tokens) RemoveToken(ctx context.Context, name string, now time.Time, guarded bool) error {
	return do(ctx, s.plan, "RemoveToken", func() error { return s.TokenStore.RemoveToken(ctx, name, now, guarded) })
}

// TouchToken implements access.TokenStore.
func (s *Tokens) TouchToken(ctx context.Context, name string, at time.Time) error {
	return do(ctx, s.plan, "TouchToken", func() error { return s.TokenStore.TouchToken(ctx, name, at) })
}

// Audit is an audit log with outages.
type Audit struct {
	access.AuditStore
	plan *Plan
}

// NewAudit wraps an audit log.
func NewAudit(inner access.AuditStore, plan *Plan) *Audit { return &Audit{inner, plan} }

// Record implements access.AuditStore.
func (s *Audit) Record(ctx context.Context, entries ...access.Entry) error {
	return do(ctx, s.plan, "Record", func() error { return s.AuditStore.Record(ctx, entries...) })
}

// Entries implements access.AuditStore.
func (s *Audit) Entries(ctx context.Context, q access.Query) ([]access.Entry, error) {
	return get(ctx, s.plan, "Entries", func() ([]access.Entry, error) { return s.AuditStore.Entries(ctx, q) })
}

// RemoveEntries implements access.AuditStore.
func (s *Audit) RemoveEntries(ctx context.Context, before string, most int) (int, error) {
	return get(ctx, s.plan, "RemoveEntries", func() (int, error) { return s.AuditStore.RemoveEntries(ctx, before, most) })
}
