package wiring

import (
	"sluice/internal/config"
	"sluice/internal/document"
	"sluice/internal/document/backfill"
)

// openBackfill lets documents of earlier versions get what columns show that were
// declared since, in the background.
func (s *Service) openBackfill(o Options, fillings document.Fillings) {
	s.columns.fillings = fillings
	if len(s.columns.sources) > 0 && !s.columns.fixed {
		s.background = append(s.background, inferrer{s}.watchColumns)
	}
	store, ok := s.Documents.(backfill.Store)
	if !ok || !o.Config.Service.Roles.Has(config.RoleScheduler) {
		return
	}
	fill := backfill.Backfill{Store: store, Fillings: fillings, Kinds: s.Kinds, Log: o.Engine.Log}
	s.background = append(s.background, fill.Run)
}
