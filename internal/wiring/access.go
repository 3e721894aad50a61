package wiring

import (
	"context"

	"sluice/internal/access"
)

// accessStore keeps who may do what, and who did.
type accessStore interface {
	access.TokenStore
	access.AuditStore
}

// openAccess reads which tokens there are, so that a store which does not answer
// later opens no door.
func (s *Service) openAccess(ctx context.Context, o Options, store accessStore) error {
	s.Tokens = access.NewTokens(access.TokensOptions{
		Store: store, Guarded: o.Config.HTTP.Token != "", Now: o.Engine.Now, Log: o.Engine.Log,
	})
	s.Audit = access.NewAudit(access.AuditOptions{
		Store: store, Keep: o.Config.HTTP.KeepAudit, Now: o.Engine.Now, Log: o.Engine.Log,
	})
	return s.Tokens.Load(ctx)
}
