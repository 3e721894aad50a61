package web

import (
	"encoding/base64"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"sluice/internal/domain"
)

const (
	// flashCookie has what is to be said on the next page.
	flashCookie = "sluice_said"
	// strangersForm bounds what is read of somebody of whom nobody knows who he is.
	strangersForm = 64 << 10
	// largestForm bounds what a form sends.
	largestForm = 256 << 10
	// largestFile bounds one with a file of 256 KiB, whose characters are escaped.
	largestFile = 1 << 20
)

func (s *cookies) setCookie(w http.ResponseWriter, r *http.Request, name, value string, lasts time.Duration) {
	c := &http.Cookie{
		Name: name, Value: base64.RawURLEncoding.EncodeToString([]byte(value)), Path: s.prefix + "/",
		HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: encrypted(r), MaxAge: int(lasts.Seconds()),
	}
	if value == "" {
		c.MaxAge = -1
	}
	http.SetCookie(w, c)
}

// encrypted says whether the browser speaks TLS. A proxy that lies about it can only
// have its own users' cookie refused.
func encrypted(r *http.Request) bool {
	return r.TLS != nil || strings.EqualFold(r.Header.Get("X-Forwarded-Proto"), "https")
}

// say leaves a message for the next page.
func (s *cookies) say(w http.ResponseWriter, r *http.Request, text string) {
	if len(text) > 1500 {
		text = strings.ToValidUTF8(text[:1500], "") + "…"
	}
	s.setCookie(w, r, flashCookie, text, time.Minute)
}

// flash is a message about what was just done.
type flash struct {
	Text string
	Bad  bool
}

// said takes the message that was left.
func (s *cookies) said(w http.ResponseWriter, r *http.Request) *flash {
	c, err := r.Cookie(flashCookie)
	if err != nil {
		return nil
	}
	s.setCookie(w, r, flashCookie, "", 0)
	text, err := base64.RawURLEncoding.DecodeString(c.Value)
	if err != nil || len(text) == 0 {
		return nil
	}
	return &flash{Text: string(text)}
}

// local is a path of the dashboard that somebody may be led to, without detours that
// could lead out of its prefix; others lead to the first page.
func local(path string) string {
	u, err := url.Parse(path)
	if err != nil || len(path) > longestAddress || u.IsAbs() || u.Host != "" || u.Opaque != "" || !strings.HasPrefix(path, "/") || strings.ContainsAny(path, "\\\r\n") {
		return "/"
	}
	address := cleanPath(u.EscapedPath())
	if u.RawQuery != "" {
		address += "?" + u.RawQuery
	}
	return address
}

func (s *site) loginPage(w http.ResponseWriter, r *http.Request) {
	s.showLogin(w, r, http.StatusOK, "")
}

// loginData is what the page to log in shows.
type loginData struct {
	Next, Wrong string
	// Again is when wrong tokens are taken again; zero unless there were too many.
	Again time.Time
	// Lost is a form that was sent when the login had ended, so that it comes back.
	Lost *lostForm
}

func (s *site) showLogin(w http.ResponseWriter, r *http.Request, status int, wrong string) {
	d := &loginData{Next: local(r.FormValue("next")), Wrong: wrong, Lost: lostOf(r.PostForm)}
	if seconds, err := strconv.Atoi(w.Header().Get("Retry-After")); err == nil && status == http.StatusTooManyRequests {
		d.Again = s.Now().Add(time.Duration(seconds) * time.Second)
	}
	s.render(w, r, status, &page{Title: "Log in", Template: "login.html", Bare: true, Data: d}, nil)
}

// login tries a token; the API counts those that are wrong.
func (s *site) login(w http.ResponseWriter, r *http.Request) {
	if !s.fromOwnPage(w, r) {
		return
	}
	token := strings.TrimSpace(r.PostFormValue("token"))
	if token == "" || strings.ContainsAny(token, " \t\r\n") {
		s.showLogin(w, r, http.StatusUnprocessableEntity, "Paste the whole token, without spaces.")
		return
	}
	c, calls, err := s.calling(r, token, "")
	if err == nil {
		_, err = c.Whoami(r.Context())
	}
	if err == nil {
		err = s.begin(w, r, token)
	}
	if err != nil {
		s.showLogin(w, r, calls.status(w, err), message(err))
		return
	}
	if lost := lostOf(r.PostForm); lost != nil {
		lostForms{s}.giveBack(w, withLogin(r, token), lost)
		return
	}
	s.redirect(w, r, local(r.PostFormValue("next")))
}

func (s *site) logout(w http.ResponseWriter, r *http.Request) {
	if !s.fromOwnPage(w, r) {
		return
	}
	if err := s.end(w, r); err != nil {
		s.fail(w, r, nil, domain.Errorf(domain.CodeUnavailable, "this browser has forgotten the login, but the service could not end it: %w; it ends by itself, or with its token: sluice token revoke", err))
		return
	}
	s.redirect(w, r, "/login")
}

// fromOwnPage lets in forms of the dashboard's own pages alone, and reads them.
func (s *site) fromOwnPage(w http.ResponseWriter, r *http.Request) bool {
	if err := s.origins.Check(r); err != nil && !fromProxied(r) {
		s.fail(w, r, nil, domain.Errorf(domain.CodeUnauthorized, "this form was sent by another site, and nothing was done; open the dashboard and try there"))
		return false
	}
	r.Body = http.MaxBytesReader(w, r.Body, s.bound(r))
	if err := r.ParseForm(); err != nil {
		s.fail(w, r, nil, domain.Errorf(domain.CodeInvalid, "the form cannot be read: %w", err))
		return false
	}
	return true
}

// bound is how much is read of a form: little before it is known who sends it.
func (s *site) bound(r *http.Request) int64 {
	if tokenOf(r) == "" {
		c, _, err := s.calling(r, "", "")
		if err == nil {
			_, err = c.Whoami(r.Context())
		}
		if err != nil {
			return strangersForm
		}
	}
	if r.URL.Path == "/act/"+addsSource {
		return largestFile
	}
	return largestForm
}

// fromProxied says whether a form comes from a page that a proxy serves under another
// name than the one that it calls the service by. A browser that tells where it sends
// from tells that better; one that does not is believed what its proxy says, as no site
// can have such a header sent by somebody else's browser.
func fromProxied(r *http.Request) bool {
	from, err := url.Parse(r.Header.Get("Origin"))
	return err == nil && from.Host != "" && r.Header.Get("Sec-Fetch-Site") == "" && from.Host == r.Header.Get("X-Forwarded-Host")
}

// fromElsewhere says whether another site leads here. What it leads to is shown when
// the reader asks for it: looking at a value may spend a call.
func fromElsewhere(r *http.Request) bool {
	site := r.Header.Get("Sec-Fetch-Site")
	return site == "cross-site" || site == "same-site"
}

func (s *site) redirect(w http.ResponseWriter, r *http.Request, path string) {
	http.Redirect(w, r, s.Prefix+path, http.StatusSeeOther)
}
