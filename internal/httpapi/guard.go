package httpapi

import (
	"context"
	"crypto/subtle"
	"log/slog"
	"math"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"sluice/internal/access"
	"sluice/internal/domain"
	"sluice/internal/secret"
)

// Tokens recognises, makes, lists and revokes the tokens of the API;
// *access.Tokens is one.
type Tokens interface {
	// Any says whether there are tokens, Recognise who has one.
	Any(ctx context.Context) bool
	Recognise(ctx context.Context, secret string) (access.Identity, error)
	List(ctx context.Context) ([]access.Token, error)
	Create(ctx context.Context, name string, role access.Role, lasts time.Duration) (access.Token, string, error)
	Revoke(ctx context.Context, name string) error
}

// guard lets to each route whoever has the role that it needs. Where there is no
// token at all, it lets everybody in who speaks to this machine itself.
type guard struct {
	*server
	log    *slog.Logger
	tokens Tokens
	// setting is the digest of the token of the settings, if there is one.
	setting  access.Digest
	guarded  bool
	exposed  bool
	attempts *access.Attempts
	origins  *http.CrossOriginProtection
	refused  func(why access.Refusal)
	audit    *auditor
	next     http.Handler
}

// ServeHTTP implements http.Handler.
func (g *guard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, pattern := g.mux.Handler(r)
	role := g.roleOf(r, pattern)
	who, refusal := g.identify(r, role)
	if refusal != nil {
		if refusal.why != "" {
			g.refused(refusal.why)
		}
		refusal.write(w)
		return
	}
	// For those who measure and trace it: by now it is known who asks.
	r.Pattern = pattern
	if role == everybody {
		if source, is := g.hookOf(r.URL.Path); is {
			who = access.Identity{Actor: access.ActorHook(source)}
		}
	} else if !who.Role.Allows(role) {
		g.refuseRole(w, r, pattern, who, role)
		return
	}
	r = r.WithContext(withCaller(r.Context(), who))
	g.audit.serve(w, r, pattern, who, g.watched(r, who))
}

// refuseRole answers who may not do something; that somebody tried to is logged.
func (g *guard) refuseRole(w http.ResponseWriter, r *http.Request, pattern string, who access.Identity, role access.Role) {
	g.refused(access.RefusedRole)
	g.audit.serve(w, r, pattern, who, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		writeProblem(w, newProblem(domain.CodeUnauthorized, http.StatusForbidden,
			"this needs the role "+string(role)+", and the token has the role "+string(who.Role)))
	}))
}

// refusal is why somebody is not let in; why is "" if that is not his fault.
type refusal struct {
	*problemError
	why    access.Refusal
	header http.Header
}

func (f *refusal) write(w http.ResponseWriter) {
	for name, values := range f.header {
		w.Header()[name] = values
	}
	writeProblem(w, f.problemError)
}

func refuse(why access.Refusal, status int, detail string, header http.Header) *refusal {
	return &refusal{newProblem(domain.CodeUnauthorized, status, detail), why, header}
}

// identify says who a caller is.
func (g *guard) identify(r *http.Request, role access.Role) (access.Identity, *refusal) {
	if who, known := access.IdentityOf(r.Context()); known {
		return who, nil
	}
	if !g.guarded && !g.exposed {
		stranger := g.fromThisMachine(r)
		if role == everybody && stranger == nil {
			// Probes do not ask the store.
			return access.Identity{}, nil
		}
		if !g.tokens.Any(r.Context()) {
			return access.Identity{Actor: access.ActorAnonymous, Role: access.Admin}, stranger
		}
	}
	if role == everybody {
		return access.Identity{}, nil
	}
	shownToken, shown := bearer(r)
	if !shown {
		return access.Identity{}, noToken(access.RefusedNoToken, "this needs an API token of the service, as Authorization: Bearer TOKEN")
	}
	from := callerAddress(r)
	if wait := g.attempts.Wait(from); wait > 0 {
		return access.Identity{}, &refusal{newProblem(domain.CodeUnavailable, http.StatusTooManyRequests,
			"there were too many wrong tokens from this address; try again later"), access.RefusedLockedOut,
			http.Header{"Retry-After": {strconv.Itoa(int(math.Ceil(wait.Seconds())))}}}
	}
	if digest := access.DigestOf(shownToken); g.guarded && subtle.ConstantTimeCompare(digest[:], g.setting[:]) == 1 {
		return access.Identity{Actor: access.ActorSetting, Role: access.Admin}, nil
	}
	who, err := g.tokens.Recognise(r.Context(), shownToken)
	switch code := domain.CodeOf(err); {
	case err == nil:
		return who, nil
	case code == domain.CodeUnauthorized:
		g.attempts.Failed(from)
		g.log.WarnContext(r.Context(), "a wrong token was shown", "remote", r.RemoteAddr, "method", r.Method, "path", secret.Masked(r.URL.Path))
		return access.Identity{}, noToken(access.RefusedWrongToken, err.Error())
	default:
		return access.Identity{}, &refusal{g.problem(r.Context(), "authenticate", err), "", nil}
	}
}

// noToken is the answer to whoever has none, or a wrong one.
func noToken(why access.Refusal, detail string) *refusal {
	return refuse(why, http.StatusUnauthorized, detail, http.Header{"Www-Authenticate": {`Bearer realm="sluice"`}})
}

func (s *server) protected(path string) bool {
	if s.takesHooksAt(path) {
		return false
	}
	for _, prefix := range []string{"/api/v1", "/metrics", "/debug"} {
		if rest, ok := strings.CutPrefix(path, prefix); ok && (rest == "" || rest[0] == '/') {
			return true
		}
	}
	return false
}

// bearer returns the token that a request shows.
func bearer(r *http.Request) (token string, shown bool) {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	token = strings.TrimSpace(token)
	return token, strings.EqualFold(scheme, "Bearer") && token != ""
}

// callerAddress is where a request comes from; the zero address if that is not
// known, which counts as one.
func callerAddress(r *http.Request) netip.Addr {
	from, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return netip.Addr{}
	}
	return from.Addr()
}

// fromThisMachine keeps web pages away from a service without a token. A
// page can point its own name at this machine (DNS rebinding), but then the
// request names that host; and it can post or load blindly, but then the browser
// says that it does so for another site. Loading counts too: reading a snapshot
// may spend a call.
func (g *guard) fromThisMachine(r *http.Request) *refusal {
	if !loopbackHost(r.Host) {
		return refuse(access.RefusedOrigin, http.StatusForbidden,
			"without a token of the API only requests to localhost, 127.0.0.1 or [::1] are served", nil)
	}
	if err := g.origins.Check(r); err != nil || g.protected(r.URL.Path) && fromAnotherSite(r) {
		return refuse(access.RefusedOrigin, http.StatusForbidden, "requests from other origins are not served", nil)
	}
	return nil
}

// fromAnotherSite says whether a browser makes the request for a page that is
// not ours; other ports of this machine are not ours either.
func fromAnotherSite(r *http.Request) bool {
	switch r.Header.Get("Sec-Fetch-Site") {
	case "", "same-origin", "none":
		return false
	}
	return true
}

// loopbackHost accepts what no foreign name can stand for.
func loopbackHost(hostport string) bool {
	host, _, err := net.SplitHostPort(hostport)
	if err != nil {
		host = strings.Trim(hostport, "[]")
	}
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}
