package maplestory

import (
	"sync"
	"time"
)

// preparing is which values the API is not done with yet: their calls answer
// OPENAPI00009, for as long as it takes.
type preparing struct {
	mu    sync.RWMutex
	until map[uint64]time.Time // by entity; the zero time: until it is ended
}

// SetPreparing makes a key ("part:ocid", or an ocid alone for its equipment)
// answer that it is being prepared, until an instant or, with the zero time,
// until EndPreparing. It reports whether there is such a key.
func (s *Server) SetPreparing(key string, until time.Time) bool {
	p, ocid, ok := splitKey(key)
	if !ok {
		return false
	}
	character, ok := s.world.character(ocid, s.options.Now())
	if ok {
		s.preparing.begin(entity(p, character), until)
	}
	return ok
}

// EndPreparing lets every value be ready.
func (s *Server) EndPreparing() {
	s.preparing.mu.Lock()
	defer s.preparing.mu.Unlock()
	s.preparing.until = nil
}

func (p *preparing) begin(id uint64, until time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.until == nil {
		p.until = map[uint64]time.Time{}
	}
	p.until[id] = until
}

func (p *preparing) at(id uint64, now time.Time) bool {
	p.mu.RLock()
	defer p.mu.RUnlock()
	until, ok := p.until[id]
	return ok && (until.IsZero() || now.Before(until))
}
