package web_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"sluice/internal/httpapi"
	"sluice/internal/httpapi/apitest"
	"sluice/internal/web"
)

// site is the dashboard of a service, whose API needs a token if one is given.
func site(t *testing.T, token string, o web.Options) http.Handler {
	t.Helper()
	s := apitest.Start(t, apitest.Options{})
	api := httpapi.New(httpapi.Deps{
		Orchestrator: s.Engine, Observer: s.Engine, Reader: s.State, Quota: s.Quota, Statistics: s.Statistics, Documents: s.Documents,
	}, httpapi.Options{APIToken: token})
	o.Now = time.Now
	return web.New(api, o)
}

// ask makes a request; headers are pairs.
func ask(h http.Handler, method, path, body string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, "http://localhost"+path, strings.NewReader(body))
	r.RemoteAddr = "127.0.0.1:4711"
	if body != "" {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

const html = "text/html,application/xhtml+xml"

func TestProgramsGetTheAPI(t *testing.T) {
	h := site(t, "", web.Options{})
	for _, accept := range []string{"application/json", "*/*", ""} {
		if w := ask(h, http.MethodGet, "/", "", "Accept", accept); w.Header().Get("Content-Type") != "application/json" {
			t.Errorf("%q gets %s", accept, w.Header().Get("Content-Type"))
		}
	}
	if w := ask(h, http.MethodGet, "/runs", "", "Accept", "application/json"); w.Code != http.StatusNotFound {
		t.Errorf("a page for a program: %d", w.Code)
	}
	w := ask(h, http.MethodGet, "/", "", "Accept", html)
	if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), "Nothing is collected yet") {
		t.Errorf("a browser gets %d %s", w.Code, w.Body)
	}
}

// inline matches what the policy of the pages forbids.
var inline = regexp.MustCompile(`(?i)<script>|<style|\sstyle=|\son[a-z]+=|javascript:|(src|href|action)="?(https?:)?//`)

func TestPagesAreStrict(t *testing.T) {
	h := site(t, "", web.Options{})
	for _, path := range []string{"/", "/accounts", "/runs", "/jobs", "/data", "/dead-letters", "/refresh", "/system", "/login"} {
		w := ask(h, http.MethodGet, path, "", "Accept", html)
		if w.Code != http.StatusOK {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
		if found := inline.FindString(w.Body.String()); found != "" {
			t.Errorf("%s has %q", path, found)
		}
		if policy := w.Header().Get("Content-Security-Policy"); !strings.HasPrefix(policy, "default-src 'none'") || strings.Contains(policy, "unsafe") {
			t.Errorf("%s has the policy %q", path, policy)
		}
	}
}

func TestLogin(t *testing.T) {
	h := site(t, "s3cret", web.Options{})
	w := ask(h, http.MethodGet, "/runs?status=FAILED", "", "Accept", html)
	if got := w.Header().Get("Location"); w.Code != http.StatusSeeOther || got != "/login?next="+url.QueryEscape("/runs?status=FAILED") {
		t.Fatalf("without a token: %d to %s", w.Code, got)
	}
	if w := ask(h, http.MethodPost, "/login", "token=wrong"); w.Code != http.StatusUnauthorized || len(w.Result().Cookies()) > 0 {
		t.Errorf("with a wrong token: %d %v", w.Code, w.Result().Cookies())
	}
	w = ask(h, http.MethodPost, "/login", "token=s3cret&next="+url.QueryEscape("/runs?status=FAILED"), "X-Forwarded-Proto", "https")
	if w.Header().Get("Location") != "/runs?status=FAILED" || len(w.Result().Cookies()) != 1 {
		t.Fatalf("logged in: %d %v", w.Code, w.Header())
	}
	c := w.Result().Cookies()[0]
	if !c.HttpOnly || !c.Secure || c.SameSite != http.SameSiteStrictMode || c.Path != "/" {
		t.Errorf("the cookie is %v", c)
	}
	cookie := c.Name + "=" + c.Value
	if w := ask(h, http.MethodGet, "/runs", "", "Accept", html, "Cookie", cookie); w.Code != http.StatusOK {
		t.Errorf("with the cookie: %d", w.Code)
	}
	if w := ask(h, http.MethodGet, "/api/v1/runs", "", "Cookie", cookie); w.Code != http.StatusOK {
		t.Errorf("reading the API with the cookie: %d", w.Code)
	}
	if w := ask(h, http.MethodPost, "/api/v1/runs", "{}", "Cookie", cookie); w.Code != http.StatusUnauthorized {
		t.Errorf("changing something over the API with the cookie: %d", w.Code)
	}
	for _, elsewhere := range []string{"//evil.example", "https://evil.example/", `/\evil.example`, "evil"} {
		w := ask(h, http.MethodPost, "/login", "token=s3cret&next="+url.QueryEscape(elsewhere))
		if got := w.Header().Get("Location"); got != "/" {
			t.Errorf("%s leads to %s", elsewhere, got)
		}
	}
}

func TestOtherSitesCannotAct(t *testing.T) {
	h := site(t, "", web.Options{})
	if w := ask(h, http.MethodPost, "/act/start-run", "account=1", "Sec-Fetch-Site", "cross-site", "Origin", "https://evil.example"); w.Code != http.StatusUnauthorized {
		t.Errorf("a form of another site: %d", w.Code)
	}
	w := ask(h, http.MethodGet, "/refresh?source=maplestory&key=x", "", "Accept", html, "Sec-Fetch-Site", "cross-site")
	if !strings.Contains(w.Body.String(), "Another site has led you here") {
		t.Errorf("a link of another site shows %s", w.Body)
	}
	if w := ask(h, http.MethodGet, "/", "", "Accept", html, "Sec-Fetch-Site", "none"); strings.Contains(w.Body.String(), "Another site") {
		t.Error("who types the address is kept out")
	}
}

func TestPathPrefix(t *testing.T) {
	h := site(t, "s3cret", web.Options{Prefix: "/sluice"})
	w := ask(h, http.MethodPost, "/sluice/login", "token=s3cret&next=/runs")
	if w.Header().Get("Location") != "/sluice/runs" || w.Result().Cookies()[0].Path != "/sluice/" {
		t.Fatalf("%v", w.Header())
	}
	cookie := w.Result().Cookies()[0].Name + "=" + w.Result().Cookies()[0].Value
	for _, path := range []string{"/sluice/runs", "/runs"} {
		text := ask(h, http.MethodGet, path, "", "Accept", html, "Cookie", cookie).Body.String()
		if !strings.Contains(text, `href="/sluice/accounts"`) || regexp.MustCompile(`(href|src|action)="/(?:[^s]|s[^l])`).MatchString(text) {
			t.Errorf("%s has links without the prefix", path)
		}
	}
	if w := ask(h, http.MethodGet, "/sluice/livez", ""); w.Code != http.StatusOK {
		t.Errorf("the API below the prefix: %d", w.Code)
	}
}

// TestWhoIsNotKnownAnyMore loses the cookie, so that it is not counted as a wrong
// token with every page.
func TestWhoIsNotKnownAnyMore(t *testing.T) {
	h := site(t, "s3cret", web.Options{})
	c := ask(h, http.MethodPost, "/login", "token=s3cret").Result().Cookies()[0]
	w := ask(h, http.MethodGet, "/runs", "", "Accept", html, "Cookie", c.Name+"=cmV2b2tlZA")
	if got := w.Result().Cookies(); w.Code != http.StatusSeeOther || len(got) != 1 || got[0].Name != c.Name || got[0].MaxAge >= 0 {
		t.Errorf("a token that is not accepted: %d %v", w.Code, got)
	}
	if w := ask(h, http.MethodGet, "/runs", "", "Accept", html, "Cookie", c.Name+"="+c.Value); w.Code != http.StatusOK {
		t.Errorf("a good one after it: %d", w.Code)
	}
}

// TestPurgeAsksForTheAccountsName, whatever the form says that is.
func TestPurgeAsksForTheAccountsName(t *testing.T) {
	s := apitest.Start(t, apitest.Options{})
	api := httpapi.New(httpapi.Deps{
		Orchestrator: s.Engine, Observer: s.Engine, Reader: s.State, Quota: s.Quota, Statistics: s.Statistics, Documents: s.Documents,
	}, httpapi.Options{})
	h := web.New(api, web.Options{Now: time.Now})
	who := s.Signup(0)
	w := ask(h, http.MethodPost, "/act/add-account", url.Values{"source": {who.Source}, "login": {who.Login}, "token": {who.Token}}.Encode())
	id, added := strings.CutPrefix(w.Header().Get("Location"), "/accounts/")
	if !added {
		t.Fatalf("add: %d %v", w.Code, w.Header())
	}
	ask(h, http.MethodPost, "/act/purge-account", "account="+id+"&login=other&typed=other&cancel=1")
	if w := ask(h, http.MethodGet, "/api/v1/accounts/"+id, ""); !strings.Contains(w.Body.String(), `"state":"active"`) {
		t.Errorf("after a wrong name it is %d %s", w.Code, w.Body)
	}
	ask(h, http.MethodPost, "/act/purge-account", "account="+id+"&cancel=1&typed="+who.Login)
	if w := ask(h, http.MethodGet, "/api/v1/accounts/"+id, ""); strings.Contains(w.Body.String(), `"state":"active"`) {
		t.Errorf("after its name it is %d %s", w.Code, w.Body)
	}
}
