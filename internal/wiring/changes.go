package wiring

import "sluice/internal/document"

// openChanges finds out what the store of the documents can do beyond storing and
// reading them.
func (s *Service) openChanges() {
	s.Feed, _ = s.Documents.(document.Feed)
	s.Finder, _ = s.Documents.(document.Finder)
	s.Lister, _ = s.Documents.(document.Lister)
}
