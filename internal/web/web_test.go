package web_test

import (
	"encoding/base64"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"sluice/internal/httpapi"
	"sluice/internal/httpapi/apitest"
	"sluice/internal/record"
	"sluice/internal/sources"
	"sluice/internal/web"
)

// site is the dashboard of a service, whose API needs a token if one is given.
func site(t *testing.T, token string, o web.Options) http.Handler {
	t.Helper()
	s := apitest.Start(t, apitest.Options{})
	api := httpapi.New(httpapi.Deps{
		Orchestrator: s.Engine, Observer: s.Engine, Reader: s.State, Quota: s.Quota, Statistics: s.Statistics, Documents: s.Documents,
	}, httpapi.Options{APIToken: token})
	if o.Now == nil {
		o.Now = time.Now
	}
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

// TestWhoIsNotKnownAnyMore is not counted as somebody who shows a wrong token.
func TestWhoIsNotKnownAnyMore(t *testing.T) {
	h := site(t, "s3cret", web.Options{})
	c := ask(h, http.MethodPost, "/login", "token=s3cret").Result().Cookies()[0]
	for range 30 {
		// It is not a token, and nobody is kept out for it.
		if w := ask(h, http.MethodGet, "/runs", "", "Accept", html, "Cookie", c.Name+"=cmV2b2tlZA"); w.Code != http.StatusSeeOther {
			t.Errorf("a cookie of nobody: %d", w.Code)
		}
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

// logIn returns the cookie of a login.
func logIn(t *testing.T, h http.Handler, token string) string {
	t.Helper()
	w := ask(h, http.MethodPost, "/login", "token="+token)
	if w.Code != http.StatusSeeOther || len(w.Result().Cookies()) != 1 {
		t.Fatalf("log in: %d %s", w.Code, w.Body)
	}
	c := w.Result().Cookies()[0]
	return c.Name + "=" + c.Value
}

// TestSession is a secret of its own that every process knows, and that ends.
func TestSession(t *testing.T) {
	now := time.Now()
	shared := record.NewMemory()
	o := web.Options{Sessions: shared, Now: func() time.Time { return now }}
	one, other := site(t, "s3cret", o), site(t, "s3cret", o)
	cookie := logIn(t, one, "s3cret")
	for _, secret := range []string{"s3cret", base64.RawURLEncoding.EncodeToString([]byte("s3cret"))} {
		if strings.Contains(cookie, secret) {
			t.Errorf("the cookie %s has the token", cookie)
		}
	}
	kept, err := shared.List(t.Context(), record.Session)
	if err != nil || len(kept) != 1 || strings.Contains(string(kept[0].Value)+kept[0].Name, "s3cret") || strings.Contains(cookie, kept[0].Name) {
		t.Fatalf("kept are %q, %v", kept, err)
	}
	opens := func(h http.Handler, cookie string) bool {
		return ask(h, http.MethodGet, "/runs", "", "Accept", html, "Cookie", cookie).Code == http.StatusOK
	}
	if !opens(one, cookie) || !opens(other, cookie) {
		t.Error("a process does not know the login")
	}
	if opens(site(t, "another", o), cookie) {
		t.Error("a token that is not accepted any more lets somebody in")
	}
	if kept, _ := shared.List(t.Context(), record.Session); len(kept) != 0 {
		t.Error("what is of no use any more is kept")
	}
	cookie = logIn(t, one, "s3cret")
	ask(other, http.MethodPost, "/logout", "", "Cookie", cookie)
	if opens(one, cookie) {
		t.Error("after logging out the cookie still lets somebody in")
	}
	cookie = logIn(t, one, "s3cret")
	now = now.Add(7*24*time.Hour + time.Second)
	if opens(one, cookie) {
		t.Error("the login never ends")
	}
	logIn(t, one, "s3cret")
	if kept, _ := shared.List(t.Context(), record.Session); len(kept) != 1 {
		t.Errorf("%d logins are kept", len(kept))
	}
}

func TestTooManyWrongTokens(t *testing.T) {
	h := site(t, "s3cret", web.Options{})
	var w *httptest.ResponseRecorder
	for range 20 {
		if w = ask(h, http.MethodPost, "/login", "token=wrong", "Accept", html); w.Code != http.StatusUnauthorized {
			break
		}
	}
	if wait, err := strconv.Atoi(w.Header().Get("Retry-After")); w.Code != http.StatusTooManyRequests || err != nil || wait < 1 {
		t.Errorf("%d, Retry-After %q", w.Code, w.Header().Get("Retry-After"))
	}
	if !strings.Contains(w.Body.String(), "too many wrong tokens") || !strings.Contains(w.Body.String(), "<form") {
		t.Errorf("it shows %s", w.Body)
	}
}

func TestPathsAreCleanedBelowThePrefix(t *testing.T) {
	h := site(t, "", web.Options{Prefix: "/sluice"})
	for asked, want := range map[string]string{"/sluice//runs?status=FAILED": "/sluice/runs?status=FAILED", "/sluice/x/../runs": "/sluice/runs", "//runs": "/sluice/runs", "/sluice//api/v1/runs": "/sluice/api/v1/runs"} {
		if w := ask(h, http.MethodGet, asked, "", "Accept", html); w.Header().Get("Location") != want {
			t.Errorf("%s: %d to %q", asked, w.Code, w.Header().Get("Location"))
		}
	}
	if w := ask(h, http.MethodGet, "/sluice/accounts/a%2Fb", "", "Accept", html); w.Code != http.StatusNotFound || !strings.Contains(w.Body.String(), "That did not work") {
		t.Errorf("a name with a slash: %d %s", w.Code, w.Body)
	}
}

// TestWhatIsNotThere is a page for people and a problem for programs.
func TestWhatIsNotThere(t *testing.T) {
	h := site(t, "", web.Options{})
	for _, c := range []struct {
		method, path, allow string
		status              int
	}{
		{http.MethodGet, "/nothing", "", http.StatusNotFound}, {http.MethodPost, "/nothing", "", http.StatusNotFound},
		{http.MethodPost, "/runs", "GET", http.StatusMethodNotAllowed}, {http.MethodGet, "/act/refresh", "POST", http.StatusMethodNotAllowed},
	} {
		w := ask(h, c.method, c.path, "", "Accept", html)
		if w.Code != c.status || !strings.HasPrefix(w.Header().Get("Content-Type"), "text/html") || w.Header().Get("Allow") != c.allow || !strings.Contains(w.Body.String(), "There is no such page") {
			t.Errorf("%s %s: %d %v", c.method, c.path, w.Code, w.Header())
		}
	}
	if w := ask(h, http.MethodGet, "/nothing", "", "Accept", "application/json"); w.Code != http.StatusNotFound || !strings.Contains(w.Header().Get("Content-Type"), "json") {
		t.Errorf("a program gets %d %s", w.Code, w.Header().Get("Content-Type"))
	}
	if w := ask(h, http.MethodGet, "/docs", "", "Accept", html); w.Code != http.StatusOK || !strings.Contains(w.Header().Get("Content-Type"), "html") {
		t.Errorf("the API's description: %d", w.Code)
	}
}

// TestRefusedFormsKeepWhatWasTyped, but no secret.
func TestRefusedFormsKeepWhatWasTyped(t *testing.T) {
	h := site(t, "", web.Options{Sources: sources.Collected()})
	form := url.Values{"source": {"github"}, "login": {"not a login"}, "token": {"hush"}, "next": {"/accounts"}}
	w := ask(h, http.MethodPost, "/act/add-account", form.Encode(), "Accept", html)
	text := w.Body.String()
	if w.Code != http.StatusUnprocessableEntity || !strings.Contains(text, `value="not a login"`) || !strings.Contains(text, `role="alert"`) || strings.Contains(text, "hush") {
		t.Errorf("%d %s", w.Code, text)
	}
	if !strings.Contains(text, `data-here="/accounts"`) {
		t.Error("the page does not know where it is")
	}
}

func TestAssetsAreNamedByWhatTheyHold(t *testing.T) {
	h := site(t, "", web.Options{})
	address := regexp.MustCompile(`/assets/style\.css\?v=[\w-]+`).FindString(ask(h, http.MethodGet, "/login", "", "Accept", html).Body.String())
	if w := ask(h, http.MethodGet, address, ""); w.Code != http.StatusOK || !strings.Contains(w.Header().Get("Cache-Control"), "immutable") {
		t.Errorf("%s: %d %v", address, w.Code, w.Header())
	}
	for _, other := range []string{"/assets/style.css", "/assets/style.css?v=old"} {
		if w := ask(h, http.MethodGet, other, ""); strings.Contains(w.Header().Get("Cache-Control"), "immutable") {
			t.Errorf("%s is kept for ever", other)
		}
	}
}
