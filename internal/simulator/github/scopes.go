package github

import (
	"net/http"
	"slices"
	"strings"
	"time"
)

// defaultScopes are what a token was made for unless SetScopes says otherwise.
var defaultScopes = []string{"read:org", "read:user", "repo"}

// grant is what a token was made for.
type grant struct {
	// unscoped is a fine-grained token, of which no scopes are told.
	unscoped bool
	scopes   []string
	expires  time.Time
}

// SetScopes says what a classic token was made for, which its answers tell. Without
// read:org it sees no teams and only public members; other scopes are not enforced.
func (s *Server) SetScopes(token string, scopes ...string) {
	s.setGrant(token, func(g *grant) { g.scopes, g.unscoped = scopes, false })
}

// SetFineGrained makes a token one whose scopes nobody tells.
func (s *Server) SetFineGrained(token string) {
	s.setGrant(token, func(g *grant) { g.unscoped = true })
}

// SetExpiry says when a token ends, which its answers tell. It is not enforced.
func (s *Server) SetExpiry(token string, at time.Time) {
	s.setGrant(token, func(g *grant) { g.expires = at })
}

func (s *Server) setGrant(token string, change func(*grant)) {
	s.tokensMu.Lock()
	defer s.tokensMu.Unlock()
	g, ok := s.grants[token]
	if !ok {
		g.scopes = defaultScopes
	}
	change(&g)
	if s.grants == nil {
		s.grants = map[string]grant{}
	}
	s.grants[token] = g
}

// grantOf is what the caller's token was made for.
func (c *call) grantOf() grant {
	c.server.tokensMu.RLock()
	defer c.server.tokensMu.RUnlock()
	if g, ok := c.server.grants[tokenOf(c.req)]; ok {
		return g
	}
	return grant{scopes: defaultScopes}
}

// lacks reports whether the caller's token is a classic one without a scope.
func (c *call) lacks(scope string) bool {
	g := c.grantOf()
	return c.viewer >= 0 && c.installation == nil && !g.unscoped && !slices.Contains(g.scopes, scope)
}

// scopeHeaders tell of a user's token what it was made for.
func (c *call) scopeHeaders(h http.Header) {
	if c.viewer < 0 || c.installation != nil {
		return
	}
	g := c.grantOf()
	if !g.unscoped {
		h["X-Oauth-Scopes"] = []string{strings.Join(g.scopes, ", ")}
		h["X-Accepted-Oauth-Scopes"] = []string{c.acceptedScopes()}
	}
	if !g.expires.IsZero() {
		h["Github-Authentication-Token-Expiration"] = []string{g.expires.UTC().Format("2006-01-02 15:04:05 MST")}
	}
}

// acceptedScopes are those that the endpoint takes.
func (c *call) acceptedScopes() string {
	if c.route.endpoint == endpointTeams {
		return "admin:org, read:org, write:org"
	}
	return ""
}
