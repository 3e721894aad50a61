package wiring

import (
	"sluice/internal/config"
	"sluice/internal/document"
	"sluice/internal/document/wordindex"
)

// openSearch lets documents be found by their words, where their store has a feed, and
// lets a process that schedules keep the index. Whoever only reads finds what is
// indexed.
func (s *Service) openSearch(o Options, index wordindex.Index) {
	store, ok := s.Documents.(interface {
		wordindex.Documents
		document.Feed
	})
	if !ok || !o.Config.Search {
		return
	}
	s.Search = &wordindex.Searcher{Index: index, Feed: store, Documents: store, Kinds: s.Kinds}
	if !o.Config.Service.Roles.Has(config.RoleScheduler) {
		return
	}
	follower := &wordindex.Follower{Index: index, Feed: store, Documents: store, Kinds: s.Kinds, Log: o.Engine.Log, Watch: s.Engine.Watch}
	s.background = append(s.background, follower.Run)
}
