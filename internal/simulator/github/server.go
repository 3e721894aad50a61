package github

import (
	"bytes"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// Server is the simulated GitHub. It is an http.Handler that serves REST at its
// root and GraphQL at /graphql, and both again below /api as an Enterprise
// server does (/api/v3, /api/graphql). Its own endpoints lie below /_sim.
type Server struct {
	options Options
	world   *world
	audit   *auditor
	limits  *limiter
	hooks   hooks
	nasty   nastiness
	heavy   heaviness
	skew    atomic.Int64 // how far the server's clock is off, in nanoseconds
	apps    appRegistry
	queries *queryCache
	buffers *sync.Pool

	requests atomic.Int64

	tokensMu sync.RWMutex
	revoked  map[string]bool
	grants   map[string]grant

	// tells sends webhooks; the world's lock guards it.
	tells *teller
}

// New builds a simulator; the same options give the same world. It panics when
// the nasty mode they ask for names kinds that do not exist, or when the schema
// that the environment names cannot be read.
func New(o Options) *Server {
	o = o.withDefaults()
	if o.Schema == nil {
		schema, err := schemaOfEnvironment()
		if err != nil {
			panic("simulated GitHub: " + err.Error())
		}
		o.Schema = schema
	}
	audit := newAuditor()
	s := &Server{
		options: o,
		world:   newWorld(o),
		audit:   audit,
		limits:  &limiter{Limits: o.Limits, audit: audit},
		queries: newQueryCache(o.Schema),
		buffers: newBufferPool(),
		revoked: map[string]bool{},
	}
	s.world.grow(o.Until)
	if o.Nasty != nil {
		if err := s.SetNasty(*o.Nasty); err != nil {
			panic("simulated GitHub: " + err.Error())
		}
	}
	return s
}

// SetClockSkew sets the clock that the server shows off by so much: the Date
// header and the ends of the rate windows.
func (s *Server) SetClockSkew(by time.Duration) { s.skew.Store(int64(by)) }

func (s *Server) clockSkew() time.Duration { return time.Duration(s.skew.Load()) }

func (s *Server) now() time.Time { return s.options.Now() }

// Logins lists the accounts of the world.
func (s *Server) Logins() []string {
	s.world.mu.RLock()
	defer s.world.mu.RUnlock()
	out := make([]string, 0, s.options.Accounts)
	for a := range s.options.Accounts {
		if s.world.accountExists(a) {
			out = append(out, s.world.login(a))
		}
	}
	return out
}

// Repos lists an account's repositories that exist, private ones included.
func (s *Server) Repos(login string) []Repo {
	s.world.mu.RLock()
	defer s.world.mu.RUnlock()
	a, ok := s.world.accountByLogin(login)
	if !ok {
		return nil
	}
	var out []Repo
	for _, r := range s.world.ownedRepos(a, a) {
		out = append(out, Repo{Owner: r.owner.login, Name: r.name})
	}
	return out
}

// Token is the account's credential, that of a member for an organisation, and
// empty for an unknown login.
func (s *Server) Token(login string) string { return s.nthToken(login, 1) }

// Token2 is another credential of the same account. Both share one ration.
func (s *Server) Token2(login string) string { return s.nthToken(login, 2) }

func (s *Server) nthToken(login string, nth int) string {
	s.world.mu.RLock()
	defer s.world.mu.RUnlock()
	a, ok := s.world.accountByLogin(login)
	if !ok {
		return ""
	}
	if s.world.isOrganization(a) {
		a = s.world.lead(a)
	}
	return s.world.token(a, nth)
}

// RevokeToken makes a token answer 401 until RestoreToken.
func (s *Server) RevokeToken(token string) { s.setRevoked(token, true) }

// RestoreToken makes a revoked token valid again.
func (s *Server) RestoreToken(token string) { s.setRevoked(token, false) }

func (s *Server) setRevoked(token string, revoked bool) {
	s.tokensMu.Lock()
	defer s.tokensMu.Unlock()
	s.revoked[token] = revoked
}

func (s *Server) isRevoked(token string) bool {
	s.tokensMu.RLock()
	defer s.tokensMu.RUnlock()
	return s.revoked[token]
}

// ServeHTTP answers one request: identify the caller, admit the call, let the
// hooks interfere, render, charge, wait out the latency, write.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if len(r.URL.Path) > 6 && r.URL.Path[:6] == "/_sim/" {
		s.serveSim(w, r)
		return
	}
	c := s.arrive(w, r)
	defer c.depart()
	if !c.identify() || !c.admit() {
		c.write()
		return
	}
	v := c.interfere()
	if !v.fault.replaces() {
		s.tick(c)
		c.render()
	}
	fault := c.spoil(v)
	c.charge(fault)
	if !c.pause(fault) {
		return
	}
	c.deliver(fault)
}

// tick lets the world change at every k-th data request.
func (s *Server) tick(c *call) {
	every := int64(s.options.MutateEvery)
	if every <= 0 || c.number%every != 0 || c.route.endpoint == endpointRateLimit || c.route.endpoint == endpointAccessTokens {
		return
	}
	account := c.subject()
	s.world.mu.Lock()
	s.world.mutate(account, s.now())
	s.world.mu.Unlock()
	s.audit.note(func(a *Audit) { a.Mutations++ })
}

// requestID has the look of GitHub's: hexadecimal groups between colons.
func requestID(seed uint64, n int64) string {
	var b [40]byte
	key := derive(seed, kindFile, uint64(n))
	id := strconv.AppendUint(b[:0], key>>48, 16)
	id = strconv.AppendUint(append(id, ':'), key&0xffffff, 16)
	id = strconv.AppendUint(append(id, ':'), mix(key)>>32, 16)
	id = strconv.AppendUint(append(id, ':'), uint64(n), 16)
	return string(bytes.ToUpper(id))
}
