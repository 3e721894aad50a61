package maplestory

import (
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Server is the simulated API. It is an http.Handler that serves
// /maplestory/v1; its own endpoints lie below /_sim.
type Server struct {
	options  Options
	keys     map[string]bool
	world    *world
	wardrobe *wardrobe
	audit    *auditor
	hooks    hooks
	nasty    nastiness
	buffers  *sync.Pool

	preparing preparing

	requests    atomic.Int64
	maintenance atomic.Int64 // a Code
	slowness    atomic.Int64 // nanoseconds on top of the latency

	forbiddenMu sync.RWMutex
	forbidden   map[string]bool
}

// New builds a simulator; the same options give the same world. It panics when
// the nasty mode they ask for names kinds that do not exist.
func New(o Options) *Server {
	o = o.withDefaults()
	s := &Server{
		options: o, keys: map[string]bool{}, world: newWorld(o), wardrobe: newWardrobe(o.Seed, o.BodySize),
		audit: newAuditor(), forbidden: map[string]bool{},
		buffers: &sync.Pool{New: func() any { return new([]byte) }},
	}
	for _, key := range o.Keys {
		s.keys[key] = true
	}
	if o.Nasty != nil {
		if err := s.SetNasty(*o.Nasty); err != nil {
			panic("simulated MapleStory: " + err.Error())
		}
	}
	return s
}

// SetMaintenance makes every call answer with a code, such as GameMaintenance,
// APIMaintenance or BeingPrepared, until it is set to OK.
func (s *Server) SetMaintenance(c Code) { s.maintenance.Store(int64(c)) }

// SetSlow delays every answer on top of its latency; zero ends it.
func (s *Server) SetSlow(d time.Duration) { s.slowness.Store(int64(d)) }

// Forbid makes calls with a key answer 403, or ends that.
func (s *Server) Forbid(key string, forbidden bool) {
	s.forbiddenMu.Lock()
	defer s.forbiddenMu.Unlock()
	s.forbidden[key] = forbidden
}

func (s *Server) isForbidden(key string) bool {
	s.forbiddenMu.RLock()
	defer s.forbiddenMu.RUnlock()
	return s.forbidden[key]
}

// Change makes the value of a key ("part:ocid", or an ocid alone for its
// equipment) another one from now on. It reports whether there is such a key.
func (s *Server) Change(key string) bool {
	now := s.options.Now()
	p, ocid, ok := splitKey(key)
	if !ok {
		return false
	}
	character, ok := s.world.character(ocid, now)
	if ok {
		s.world.changes.add(entity(p, character), now)
	}
	return ok
}

// ServeHTTP answers one request: count it, admit it, let the hooks interfere,
// render, wait out the latency, write.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if strings.HasPrefix(r.URL.Path, "/_sim/") {
		s.serveSim(w, r)
		return
	}
	c := s.arrive(w, r)
	defer c.depart()
	var fault *Fault
	if c.admit() {
		if fault = s.hooks.decide(r, c.number); fault == nil {
			fault = s.nasty.befall(c)
		}
		if !fault.replaces() {
			c.answer()
		}
		if fault != nil {
			s.audit.injected(fault.kind())
		}
	}
	if c.pause(fault) {
		c.deliver(fault)
	}
}
