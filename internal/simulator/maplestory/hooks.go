package maplestory

import (
	"net/http"
	"strings"
	"sync"
)

// Hook decides the fate of a request; n counts the requests from one. Nil lets
// the request pass. Hooks see what the limits have admitted.
type Hook func(r *http.Request, n int64) *Fault

// Match selects requests.
type Match func(r *http.Request) bool

// Forever is how often a fault befalls that never ends.
const Forever = -1

// OnRequest adds a hook; the first hook that returns a fault decides.
func (s *Server) OnRequest(h Hook) {
	s.hooks.mu.Lock()
	defer s.hooks.mu.Unlock()
	s.hooks.list = append(s.hooks.list, h)
}

// ClearHooks removes every hook.
func (s *Server) ClearHooks() {
	s.hooks.mu.Lock()
	defer s.hooks.mu.Unlock()
	s.hooks.list = nil
}

// FailNext applies the fault to the next n requests that match, or to all of
// them when n is Forever.
func (s *Server) FailNext(match Match, n int, f Fault) {
	left := n // guarded by the hooks' lock
	s.OnRequest(func(r *http.Request, _ int64) *Fault {
		if left == 0 || !match(r) {
			return nil
		}
		if left > 0 {
			left--
		}
		return &f
	})
}

type hooks struct {
	mu   sync.Mutex
	list []Hook
}

func (h *hooks) decide(r *http.Request, n int64) *Fault {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, hook := range h.list {
		if f := hook(r, n); f != nil {
			return f
		}
	}
	return nil
}

// AnyRequest matches everything.
func AnyRequest(*http.Request) bool { return true }

// PathContains matches requests whose path holds part.
func PathContains(part string) Match {
	return func(r *http.Request) bool { return strings.Contains(r.URL.Path, part) }
}

// ForOcid matches requests about a character.
func ForOcid(ocid string) Match {
	return func(r *http.Request) bool { return r.URL.Query().Get("ocid") == ocid }
}
