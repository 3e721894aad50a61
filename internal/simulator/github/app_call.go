package github

import (
	"fmt"
	"net/http"
	"strconv"
)

const (
	endpointAccessTokens = "access_tokens"
	suspendedMessage     = "This installation has been suspended"
)

// appRoute recognises POST /app/installations/{id}/access_tokens.
func appRoute(method string, segments []string) (route, bool) {
	if method != http.MethodPost || len(segments) != 4 ||
		segments[0] != "app" || segments[1] != "installations" || segments[3] != "access_tokens" {
		return route{}, false
	}
	return route{endpoint: endpointAccessTokens, arg: segments[2]}, true
}

// authenticateApp finds out which app asks for a token. What it asks for draws
// on the app's own ration, not on the installation's.
func (c *call) authenticateApp() bool {
	s := c.server
	in, refused := s.apps.verify(tokenOf(c.req), c.now)
	switch refused {
	case accepted:
	case unknownApp:
		s.audit.note(func(a *Audit) { a.ForeignAuthorization++ })
		c.fail(http.StatusNotFound, string(refused), "rest")
		return false
	default:
		c.fail(http.StatusUnauthorized, string(refused), "rest")
		return false
	}
	c.installation = in
	c.owner = s.limits.owner("app:"+strconv.FormatInt(in.appID(), 10), in.appID(), false)
	return true
}

// authenticateInstallation lets an installation see what its account sees.
func (c *call) authenticateInstallation(token string) bool {
	s := c.server
	in, state := s.apps.recognise(s.options.Seed, token, c.now)
	if state == tokenForeign {
		s.audit.note(func(a *Audit) { a.ForeignAuthorization++ })
	}
	if state != tokenValid || s.isRevoked(token) || !s.hasAccount(in.account) {
		c.unauthorized()
		return false
	}
	if s.apps.standing(in).suspended {
		c.fail(http.StatusForbidden, suspendedMessage, "rest")
		return false
	}
	c.viewer, c.installation = in.account, in
	c.owner = s.limits.installationOwner(in.id())
	return true
}

func (s *Server) hasAccount(a int) bool {
	s.world.mu.RLock()
	defer s.world.mu.RUnlock()
	return s.world.accountExists(a)
}

// installationOwner is an installation's ration, apart from its account's.
func (l *limiter) installationOwner(id int64) *owner {
	label := "installation:" + strconv.FormatInt(id, 10)
	if o, ok := l.owners.Load(label); ok {
		return o.(*owner)
	}
	fresh := &owner{label: label, id: id, installation: true, points: map[string]*recentCalls{}}
	o, _ := l.owners.LoadOrStore(label, fresh)
	return o.(*owner)
}

// serveAccessToken issues a token for the installation that the path names. The
// caller holds the world's lock.
func (c *call) serveAccessToken(w *renderer) {
	s, in := c.server, c.installation
	state := s.apps.standing(in)
	if c.route.arg != strconv.FormatInt(in.id(), 10) || state.removed || !w.world.accountExists(in.account) {
		c.notFound()
		return
	}
	if state.suspended {
		c.fail(http.StatusForbidden, suspendedMessage, "rest/apps/apps")
		return
	}
	expires := c.now.Add(s.options.TokenLifetime)
	c.status = http.StatusCreated
	w.open('{')
	w.key("token").join(s.apps.issue(s.options.Seed, in, expires))
	w.key("expires_at").time(expires.Unix())
	w.key("permissions").raw(`{"contents":"read","issues":"read","metadata":"read","pull_requests":"read"}`)
	w.key("repository_selection").join("all")
	w.close('}')
	s.audit.note(func(a *Audit) { a.TokensMinted++ })
}

// viewerPerson is who GraphQL says is asking.
func (c *call) viewerPerson(w *world) person {
	if c.installation != nil {
		return c.installation.bot()
	}
	return w.person(c.viewer)
}

// name is how GitHub calls an owner whose ration is spent.
func (o *owner) name() string {
	if o.installation {
		return fmt.Sprintf("installation ID %d.", o.id)
	}
	return fmt.Sprintf("user ID %d.", o.id)
}
