// Package web is the dashboard: pages for people, served by the binary beside the
// API. It knows nothing that the API does not tell whoever is logged in: each page is
// made of calls of the API, in this process, with the token of the browser's cookie,
// so that guard, roles, locks and audit log are those of the API.
//
//   - web.go: New puts the dashboard before the API; which path is whose.
//   - call.go: calls of the API in this process.
//   - session.go: logins, and where they are kept; login.go: how somebody logs in and
//     out, what other sites may not do.
//   - page.go: how a page is rendered; show.go and draw.go: how values and pictures are.
//   - A file for each page: overview.go, accounts.go, runs.go, jobs.go, refresh.go,
//     timers.go, data.go with documents.go and sql.go (chart.go draws), system.go, sinks.go.
//   - act.go: what buttons do; confirm.go: what is asked before.
//
// Pages work without scripts. The script (assets/live.js) listens to the API's event
// stream and takes the parts of the page anew that have changed.
package web

import (
	"context"
	"html/template"
	"maps"
	"net/http"
	"net/netip"
	"net/url"
	"path"
	"strings"
	"time"

	"sluice/internal/config"
	"sluice/internal/domain"
	"sluice/internal/httpapi/answer"
	"sluice/internal/record"
	"sluice/internal/source"
)

// Options configures the dashboard.
type Options struct {
	// Prefix is the path under which a proxy serves the program, such as /sluice; ""
	// for none.
	Prefix string
	// TrustedProxies are whose word is taken for where browsers reach the service.
	TrustedProxies []netip.Prefix
	// Version is shown on the pages.
	Version string
	// Sources are what can be collected.
	Sources []source.Description
	// Settings tells the settings and where they come from, with secrets masked; nil
	// means that nobody knows.
	Settings func() []config.Explained
	// Roles are what this process does.
	Roles string
	// Sessions keeps logins; nil keeps them in this process alone.
	Sessions Sessions
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// site is the dashboard.
type site struct {
	Options
	api     http.Handler
	mux     *http.ServeMux
	pages   map[string]*template.Template
	origins *http.CrossOriginProtection
	rates   rateMeter
	*cookies
	*shown
}

// New puts the dashboard before the handler of the API. Whatever is not a page, and
// whoever does not ask for HTML, gets to the API.
func New(api http.Handler, o Options) http.Handler {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Sessions == nil {
		o.Sessions = record.NewMemory()
	}
	o.Prefix = strings.TrimSuffix(o.Prefix, "/")
	s := &site{Options: o, api: api, mux: http.NewServeMux(), origins: http.NewCrossOriginProtection()}
	s.cookies = &cookies{o.Sessions, o.Prefix, o.Now}
	s.shown = &shown{o.Prefix, o.Now, hashes()}
	s.pages = s.parse()
	data := &dataPages{s}
	for pattern, show := range map[string]view{
		"/{$}": s.overview, "/accounts": s.accounts, "/accounts/{id}": s.account, "/runs": s.runs, "/runs/{id}": s.run,
		"/jobs": s.jobs, "/jobs/{id}": s.job, "/refresh": s.refreshes, "/dead-letters": s.deadLetters, "/timers": s.timers,
		"/data": data.data, "/data/sql": data.sql, "/data/{kind}/{id}": data.document, "/system": s.system, "/sources": s.sources, "/sources/{name}": s.source, "/sinks/{name}": s.sink, "/confirm/{name}": s.confirm,
	} {
		s.mux.Handle("GET "+pattern, s.page(show))
	}
	s.mux.HandleFunc("GET /login", s.loginPage)
	s.mux.HandleFunc("POST /login", s.login)
	s.mux.HandleFunc("POST /logout", s.logout)
	s.mux.HandleFunc("POST /act/{name}", s.act)
	s.mux.HandleFunc("GET /assets/{name}", s.asset)
	return http.HandlerFunc(s.serve)
}

// serve decides whose a request is.
func (s *site) serve(w http.ResponseWriter, r *http.Request) {
	guardAnswer(w.Header())
	r, clean := s.inner(r)
	if !clean {
		http.Redirect(w, r, s.Prefix+r.URL.RequestURI(), http.StatusTemporaryRedirect)
		return
	}
	_, pattern := s.mux.Handler(r)
	mine := pattern != "" && (!strings.HasPrefix(pattern, "GET ") || strings.HasPrefix(pattern, "GET /assets/") || wantsPage(r))
	switch {
	case mine:
		s.mux.ServeHTTP(w, s.known(r))
	case r.Method == http.MethodGet && strings.HasPrefix(r.URL.Path, "/api/v1/") && r.Header.Get("Authorization") == "" && !fromElsewhere(r):
		// Downloads and event streams of a page: what only reads may be asked for with
		// the cookie. Other sites cannot have it sent, but other ports of the host can.
		s.readAPI(w, s.known(r))
	case wantsPage(r) && !strings.HasPrefix(r.URL.Path, "/api/"):
		s.otherwise(w, s.known(r))
	default:
		s.api.ServeHTTP(w, r)
	}
}

// guardAnswer keeps other sites from showing, including or opening what is answered.
func guardAnswer(h http.Header) {
	h.Set("X-Frame-Options", "DENY")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
}

// readAPI answers what a page reads of the API, as long as its login lasts.
func (s *site) readAPI(w http.ResponseWriter, r *http.Request) {
	in := sessionOf(r)
	if in.token == "" {
		s.api.ServeHTTP(w, r)
		return
	}
	answer.While(func(ctx context.Context) bool { return s.lasts(ctx, in.name) }, s.api, w, withToken(r, in.token))
}

// inner is a request without the prefix, which some proxies take away and others
// leave. A path that is not clean is to be asked for as it should be: the muxes lead
// there too, but know nothing of the prefix.
func (s *site) inner(r *http.Request) (_ *http.Request, clean bool) {
	escaped := r.URL.EscapedPath()
	if rest, has := strings.CutPrefix(escaped, s.Prefix); has && (rest == "" || rest[0] == '/') {
		escaped = "/" + strings.TrimPrefix(rest, "/")
	}
	should := cleanPath(escaped)
	if should == r.URL.EscapedPath() {
		return r, true
	}
	plain, err := url.PathUnescape(should)
	if err != nil {
		// The API refuses it.
		return r, true
	}
	r = r.Clone(r.Context())
	r.URL.Path, r.URL.RawPath = plain, should
	return r, should == escaped
}

// cleanPath is a path without detours, also without those that are written with
// percent signs, and with the slash at its end.
func cleanPath(escaped string) string {
	should := path.Clean("/" + dots.Replace(escaped))
	if strings.HasSuffix(escaped, "/") && should != "/" {
		should += "/"
	}
	return should
}

var dots = strings.NewReplacer("%2e", ".", "%2E", ".")

// otherwise shows people, and not JSON, that there is no such page, or that it is
// not for what they do.
func (s *site) otherwise(w http.ResponseWriter, r *http.Request) {
	for _, method := range []string{http.MethodGet, http.MethodPost} {
		other := r.Clone(r.Context())
		other.Method = method
		if _, pattern := s.mux.Handler(other); pattern != "" {
			w.Header().Set("Allow", method)
			s.lost(w, r, http.StatusMethodNotAllowed, domain.Errorf(domain.CodeInvalid, "this address takes %s, and the request was %s", method, shownMethod(r)))
			return
		}
	}
	got := &answer.Held{}
	s.api.ServeHTTP(got, r)
	if got.Ended().Status != http.StatusNotFound && got.Status != http.StatusMethodNotAllowed {
		maps.Copy(w.Header(), got.Header())
		w.WriteHeader(got.Status)
		// A reader that went away gets no more.
		_, _ = w.Write(got.Body.Bytes())
		return
	}
	if allow := got.Header().Get("Allow"); allow != "" {
		w.Header().Set("Allow", allow)
	}
	s.lost(w, r, got.Status, domain.Errorf(domain.CodeNotFound, "there is no page %s", short(r.URL.Path, 100)))
}

// shownMethod is the method of a request, if it is one that people know.
func shownMethod(r *http.Request) string {
	if len(r.Method) > 10 {
		return "another"
	}
	return r.Method
}

// lost says that a page is not to be had, whoever asks.
func (s *site) lost(w http.ResponseWriter, r *http.Request, status int, err error) {
	v, unknown := s.visit(r)
	if unknown != nil {
		v = nil
	}
	s.render(w, r, status, errorPage("There is no such page", err, v), v)
}

func wantsPage(r *http.Request) bool { return strings.Contains(r.Header.Get("Accept"), "text/html") }

func withToken(r *http.Request, token string) *http.Request {
	r = r.Clone(r.Context())
	r.Header.Del("Cookie")
	r.Header.Set("Authorization", "Bearer "+token)
	return r
}

// view shows a page: which template, with what.
type view func(ctx context.Context, v *visit) (*page, error)
