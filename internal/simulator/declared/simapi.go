package declared

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"
)

// Order is something that happens to the next calls of a stream, or of all.
type Order struct {
	Stream string `json:"stream,omitempty"`
	// Do is a status to answer with, or cut, html, empty, redirect, loop, huge, or
	// revoke, which takes back every token that was given.
	Do    string `json:"do"`
	Times int    `json:"times"`
	// Code is the upstream's own word on an error.
	Code string `json:"code,omitempty"`
}

// api are the addresses that an upstream does not have.
func (s *Server) api() {
	s.mux.HandleFunc("GET /_sim/truth", func(w http.ResponseWriter, _ *http.Request) { reply(w, http.StatusOK, s.Truth()) })
	s.mux.HandleFunc("GET /_sim/audit", func(w http.ResponseWriter, _ *http.Request) { reply(w, http.StatusOK, s.Audit()) })
	s.mux.HandleFunc("POST /_sim/mutate", func(w http.ResponseWriter, r *http.Request) {
		var m Mutation
		if err := json.NewDecoder(r.Body).Decode(&m); err != nil {
			reply(w, http.StatusBadRequest, map[string]any{"message": `give {"Change": 3, "Add": 2, "Remove": 1}`})
			return
		}
		s.Mutate(m)
		w.WriteHeader(http.StatusNoContent)
	})
	s.mux.HandleFunc("POST /_sim/fault", func(w http.ResponseWriter, r *http.Request) {
		var o Order
		if err := json.NewDecoder(r.Body).Decode(&o); err != nil || o.Times < 1 {
			reply(w, http.StatusBadRequest, map[string]any{"message": `give {"do": "503", "times": 2}`})
			return
		}
		s.Order(o)
		w.WriteHeader(http.StatusNoContent)
	})
}

// Truth is what a complete collection must contain.
func (s *Server) Truth() Truth { return s.world.truth() }

// Mutate changes what there is.
func (s *Server) Mutate(m Mutation) { s.world.mutate(m) }

// Audit is what the collector did.
func (s *Server) Audit() Audit {
	s.counts.mu.Lock()
	defer s.counts.mu.Unlock()
	a := s.counts.audit
	a.Beyond, a.Fullest, a.ByStream = maps.Clone(a.Beyond), maps.Clone(a.Fullest), maps.Clone(a.ByStream)
	a.Unknown = slices.Clone(a.Unknown)
	return a
}

// Order lets something happen to the next calls.
func (s *Server) Order(o Order) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.orders = append(s.orders, o)
}

// ordered is what is to happen to a call, "" if nothing.
func (s *Server) ordered(stream string) (do, code string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.orders {
		if o := &s.orders[i]; o.Times > 0 && (o.Stream == "" || o.Stream == stream) {
			o.Times--
			return o.Do, o.Code
		}
	}
	if s.opt.Faults > 0 && s.random.Float64() < s.opt.Faults {
		return []string{"500", "502", "503", "cut", "html"}[s.random.IntN(5)], ""
	}
	return "", ""
}

// fault lets happen what was ordered, and says whether the call is answered by it.
func (s *Server) fault(w http.ResponseWriter, r *http.Request, stream string) bool {
	do, code := s.ordered(stream)
	if do == "" {
		return false
	}
	s.counts.note(func(a *Audit) { a.Faults++ })
	switch do {
	case "cut":
		w.Header().Set("Content-Length", "1000")
		_, _ = w.Write([]byte(`{"cut`))
	case "html":
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte("<html><body>back soon</body></html>"))
	case "empty":
		w.WriteHeader(http.StatusOK)
	case "redirect":
		w.Header().Set("Location", "https://elsewhere.example/take")
		w.WriteHeader(http.StatusFound)
	case "loop":
		w.Header().Set("Location", r.URL.RequestURI())
		w.WriteHeader(http.StatusFound)
	case "revoke":
		s.revoke()
		reply(w, http.StatusUnauthorized, map[string]any{"message": "the token was taken back"})
	case "huge":
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`["` + strings.Repeat("x", 1<<20) + `"]`))
	default:
		status := 0
		for _, d := range do {
			status = status*10 + int(d-'0')
		}
		if status < 200 || status > 599 {
			status = http.StatusInternalServerError
		}
		s.refuse(w, status, code)
	}
	return true
}
