// Package web is the dashboard: pages for people, served by the binary beside the
// API. It knows nothing that the API does not tell whoever is logged in: each page is
// made of calls of the API, in this process, with the token of the browser's cookie,
// so that guard, roles, locks and audit log are those of the API.
//
//   - web.go: New puts the dashboard before the API; which path is whose.
//   - call.go: calls of the API in this process.
//   - session.go: login, the cookie, what other sites may not do.
//   - page.go: how a page is rendered; show.go and draw.go: how values and pictures are.
//   - A file for each page: overview.go, accounts.go, runs.go, jobs.go, refresh.go,
//     timers.go, data.go and documents.go, system.go.
//   - act.go: what buttons do; confirm.go: what is asked before.
//
// Pages work without scripts. The script (assets/live.js) listens to the API's event
// stream and takes the parts of the page anew that have changed.
package web

import (
	"context"
	"html/template"
	"net/http"
	"strings"
	"time"

	"sluice/internal/config"
	"sluice/internal/source"
)

// Options configures the dashboard.
type Options struct {
	// Prefix is the path under which a proxy serves the program, such as /sluice; ""
	// for none.
	Prefix string
	// Version is shown on the pages.
	Version string
	// Sources are what can be collected.
	Sources []source.Description
	// Settings tells the settings and where they come from, with secrets masked; nil
	// means that nobody knows.
	Settings func() []config.Explained
	// Roles are what this process does.
	Roles string
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
}

// New puts the dashboard before the handler of the API. Whatever is not a page, and
// whoever does not ask for HTML, gets to the API.
func New(api http.Handler, o Options) http.Handler {
	if o.Now == nil {
		o.Now = time.Now
	}
	o.Prefix = strings.TrimSuffix(o.Prefix, "/")
	s := &site{Options: o, api: api, mux: http.NewServeMux(), origins: http.NewCrossOriginProtection()}
	s.pages = s.parse()
	for pattern, show := range map[string]view{
		"/{$}": s.overview, "/accounts": s.accounts, "/accounts/{id}": s.account, "/runs": s.runs, "/runs/{id}": s.run,
		"/jobs": s.jobs, "/jobs/{id}": s.job, "/refresh": s.refreshes, "/dead-letters": s.deadLetters, "/timers": s.timers,
		"/data": s.data, "/data/{kind}/{id}": s.document, "/system": s.system, "/confirm/{name}": s.confirm,
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
	if s.Prefix != "" {
		// Some proxies take the prefix away, others leave it.
		if rest, has := strings.CutPrefix(r.URL.Path, s.Prefix); has && (rest == "" || rest[0] == '/') {
			r = withPath(r, "/"+strings.TrimPrefix(rest, "/"))
		}
	}
	_, pattern := s.mux.Handler(r)
	if pattern != "" && (!strings.HasPrefix(pattern, "GET ") || strings.HasPrefix(pattern, "GET /assets/") || wantsPage(r)) {
		s.mux.ServeHTTP(w, r)
		return
	}
	if r.Method == http.MethodGet && strings.HasPrefix(r.URL.Path, "/api/v1/") && r.Header.Get("Authorization") == "" {
		// Downloads and event streams of a page: what only reads may be asked for with
		// the cookie, which other sites cannot have sent.
		if token := tokenOf(r); token != "" {
			r = withToken(r, token)
		}
	}
	s.api.ServeHTTP(w, r)
}

func wantsPage(r *http.Request) bool { return strings.Contains(r.Header.Get("Accept"), "text/html") }

// withPath is a request for another path.
func withPath(r *http.Request, path string) *http.Request {
	r = r.Clone(r.Context())
	r.URL.Path, r.URL.RawPath = path, ""
	return r
}

func withToken(r *http.Request, token string) *http.Request {
	r = r.Clone(r.Context())
	r.Header.Del("Cookie")
	r.Header.Set("Authorization", "Bearer "+token)
	return r
}

// view shows a page: which template, with what.
type view func(ctx context.Context, v *visit) (*page, error)
