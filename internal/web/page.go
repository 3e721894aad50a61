package web

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"html/template"
	"net/http"
	"net/url"
	"strings"
	"time"

	"sluice/internal/access"
	"sluice/internal/client"
	"sluice/internal/domain"
	"sluice/internal/httpapi/wire"
)

// pageFiles are all that the dashboard needs: nothing comes from elsewhere.
//
//go:embed templates assets
var pageFiles embed.FS

// policy lets a page use its own style and script, and speak to its own service.
const policy = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// page is what a view shows.
type page struct {
	Title    string
	Template string
	// Nav is the entry of the navigation that it belongs to.
	Nav string
	// Stream is the path of the API's event stream whose events mean that the page has
	// changed; Every is how often it is read anew besides, in seconds. Neither means
	// that nothing moves.
	Stream string
	Every  int
	// Bare pages have no navigation: nobody is logged in.
	Bare bool
	Data any

	// What follows is filled in for every page.
	Who     wire.Caller
	Flash   *flash
	Here    string
	Version string
	// Open says that nobody is asked for a token.
	Open bool
	// refused is the form whose answer the page is; nil for a page that was asked for.
	refused *refusedForm
}

// Refused says whether the page is the answer to a form that was refused.
func (p *page) Refused(action string) bool { return p.refused != nil && p.refused.action == action }

// Typed is what somebody typed into a field of a form that was refused, and otherwise
// what stands there.
func (p *page) Typed(action, name string, otherwise ...string) string {
	if p.Refused(action) {
		return p.refused.form.Get(name)
	}
	return strings.Join(otherwise, "")
}

// TypedFor is the same for a form that each row of a table has.
func (p *page) TypedFor(action, id, name string) string {
	if p.Refused(action) && p.refused.form.Get("id") == id {
		return p.refused.form.Get(name)
	}
	return ""
}

// visit is one look at a page.
type visit struct {
	*client.Client
	calls *inProcess
	r     *http.Request
	who   wire.Caller
	now   time.Time
}

// query is a parameter of the page's address.
func (v *visit) query(name string) string { return strings.TrimSpace(v.r.URL.Query().Get(name)) }

// May says whether whoever looks has a role.
func (p *page) May(role string) bool { return p.Who.Role.Allows(access.Role(role)) }

// longestAddress bounds addresses of pages: each form of a page has it. A statement may
// be longer.
const longestAddress = 8 << 10

// page serves a view.
func (s *site) page(show view) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if len(r.URL.RequestURI()) > longestAddress && r.URL.Path != "/data/sql" {
			r.URL = &url.URL{Path: "/"}
			s.lost(w, r, http.StatusRequestURITooLong, domain.Errorf(domain.CodeInvalid, "the address of the page is too long; ask for less"))
			return
		}
		if fromElsewhere(r) {
			s.render(w, r, http.StatusOK, &page{Title: "Sluice", Template: "elsewhere.html", Bare: true}, nil)
			return
		}
		v, err := s.visit(r)
		if err != nil {
			s.fail(w, r, v, err)
			return
		}
		p, err := show(r.Context(), v)
		if err != nil {
			s.fail(w, r, v, err)
			return
		}
		s.render(w, r, http.StatusOK, p, v)
	})
}

// visit finds out who looks.
func (s *site) visit(r *http.Request) (*visit, error) {
	key := r.PostFormValue(onceField)
	if r.PathValue("name") == makesToken {
		// An answer with a key is kept to be given again, and this one is a secret.
		key = ""
	}
	if err := sessionOf(r).err; err != nil {
		return nil, err
	}
	c, calls, err := s.calling(r, tokenOf(r), key)
	if err != nil {
		return nil, err
	}
	v := &visit{Client: c, calls: calls, r: r, now: s.Now()}
	v.who, err = c.Whoami(r.Context())
	return v, err
}

// fail shows why there is no page.
func (s *site) fail(w http.ResponseWriter, r *http.Request, v *visit, err error) {
	if r.Context().Err() != nil {
		return
	}
	var calls *inProcess
	if v != nil {
		calls = v.calls
	}
	status := calls.status(w, err)
	if status == http.StatusUnauthorized && (v == nil || v.who.Role == "") {
		// A token that is not accepted any more would be counted as a wrong one with every
		// page.
		if v != nil && tokenOf(r) != "" {
			// A store that does not answer keeps what is of no use.
			_ = s.end(w, r)
		}
		if r.Method == http.MethodGet && r.Header.Get(liveHeader) == "" {
			s.redirect(w, r, "/login?next="+url.QueryEscape(r.URL.RequestURI()))
			return
		}
	} else if status == http.StatusUnauthorized {
		status = http.StatusForbidden
	}
	s.render(w, r, status, errorPage("That did not work", err, v), v)
}

// errorData is what a page shows in the place of another.
type errorData struct {
	Text string
	Code domain.Code
	// List is the page that has lists of such things, and Name what it is called; the
	// first page if there is none.
	List, Name string
}

func errorPage(title string, err error, v *visit) *page {
	d := errorData{Text: message(err), Code: domain.CodeOf(err), List: "/", Name: "Overview"}
	if v != nil {
		d.List, d.Name = listOf(v.r.URL.Path)
	}
	return &page{Title: title, Template: "error.html", Bare: v == nil || v.who.Role == "", Data: d}
}

// liveHeader marks a request of the script for the page that it shows already.
const liveHeader = "X-Sluice-Live"

// render writes a page.
func (s *site) render(w http.ResponseWriter, r *http.Request, status int, p *page, v *visit) {
	p.Version, p.Here = s.Version, r.URL.RequestURI()
	if v != nil {
		p.Who = v.who
		p.Open = v.who.Actor == access.ActorAnonymous
	}
	if p.refused = refusedOf(r); p.refused != nil {
		p.Flash = &flash{p.refused.text, p.refused.status != http.StatusOK}
		if status == http.StatusOK {
			status = p.refused.status
		}
	} else if r.Header.Get(liveHeader) == "" {
		p.Flash = s.said(w, r)
	}
	var text bytes.Buffer
	if err := s.pages[p.Template].ExecuteTemplate(&text, "layout.html", p); err != nil {
		http.Error(w, "the page cannot be shown: "+err.Error(), http.StatusInternalServerError)
		return
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", policy)
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Vary", "Accept")
	w.WriteHeader(status)
	// A reader that went away gets no more.
	_, _ = w.Write(text.Bytes())
}

// parse reads the templates of all pages: each has the layout, the parts and its own.
func (s *site) parse() map[string]*template.Template {
	names, err := pageFiles.ReadDir("templates")
	if err != nil {
		panic(err)
	}
	shared := template.Must(template.New("").Funcs(s.functions()).ParseFS(pageFiles, "templates/layout.html", "templates/parts.html"))
	all := map[string]*template.Template{}
	for _, n := range names {
		if n.Name() != "layout.html" && n.Name() != "parts.html" {
			all[n.Name()] = template.Must(template.Must(shared.Clone()).ParseFS(pageFiles, "templates/"+n.Name()))
		}
	}
	return all
}

// statusOf is the status of a page that shows an error.
func statusOf(err error) int {
	switch domain.CodeOf(err) {
	case domain.CodeNotFound:
		return http.StatusNotFound
	case domain.CodeInvalid:
		return http.StatusUnprocessableEntity
	case domain.CodeConflict:
		return http.StatusConflict
	case domain.CodeUnauthorized:
		return http.StatusUnauthorized
	case domain.CodeUnavailable:
		return http.StatusServiceUnavailable
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return http.StatusGatewayTimeout
	}
	return http.StatusInternalServerError
}
