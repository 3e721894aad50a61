package web_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"sluice/internal/document"
	"sluice/internal/document/documenttest"
	"sluice/internal/httpapi"
	"sluice/internal/httpapi/apitest"
	"sluice/internal/record"
	"sluice/internal/source"
	"sluice/internal/source/github"
	"sluice/internal/web"
)

// hostile are texts that an upstream may send, and that would act on a page which
// takes them for its own.
var hostile = []string{
	`<script>alert(1)</script>`, `"><img src=x onerror=alert(1)>`, `'onmouseover='alert(1)`, `</textarea><svg onload=alert(1)>`, `</title><script>alert(1)</script>`,
	`{{.Who}}`, "a\r\nSet-Cookie: x=1", `javascript:alert(1)`, "\u202eevil", "x\x00y",
}

// acts matches what none of them may become.
var acts = strings.NewReplacer("&lt;", "", "&#34;", "", "&#39;", "")

func harmless(t *testing.T, where, text string) {
	t.Helper()
	for _, bad := range []string{"<script>alert", "<img src=x", "<svg onload", "onmouseover='alert", `href="javascript:`, "<title></title><script"} {
		if strings.Contains(text, bad) {
			t.Errorf("%s has %s", where, bad)
		}
	}
	if found := inline.FindString(acts.Replace(strings.ReplaceAll(text, "javascript:alert(1)", ""))); strings.Contains(found, "<") {
		t.Errorf("%s has %q", where, found)
	}
}

// TestDocumentsCannotAct stores documents whose every text is hostile, and opens
// every page that shows some of it.
func TestDocumentsCannotAct(t *testing.T) {
	s, shelf := apitest.Start(t, apitest.Options{}), documenttest.NewMemory(github.Kinds())
	api := httpapi.New(httpapi.Deps{
		Orchestrator: s.Engine, Observer: s.Engine, Reader: s.State, Quota: s.Quota, Statistics: s.Statistics, Documents: shelf,
		Lister: shelf, Finder: shelf, Feed: shelf, Queries: s.Queries, Records: record.NewMemory(), Sources: []source.Description{github.Describe()},
	}, httpapi.Options{})
	h := web.New(api, web.Options{Sources: []source.Description{github.Describe()}})
	who := s.Signup(0)
	added := ask(h, http.MethodPost, "/act/add-account", url.Values{"source": {who.Source}, "login": {who.Login}, "token": {who.Token}}.Encode())
	if added.Code != http.StatusSeeOther {
		t.Fatalf("add: %d %s", added.Code, added.Body)
	}
	now := time.Now().UTC()
	for i, bad := range hostile {
		raw, err := json.Marshal(map[string]string{"html_url": bad, "title": bad})
		if err != nil {
			t.Fatal(err)
		}
		d := document.Document{
			Key: document.Key{Account: 1, Kind: github.KindIssue, Name: fmt.Sprint(100 + i)}, Version: now, SeenAt: now, Raw: raw,
			Fields: document.Fields{Repository: 1, Number: int64(i + 1), Title: bad, Author: bad, State: bad, CreatedAt: now, UpdatedAt: now},
		}
		d.Set("labels", document.List(bad))
		d.Set("url", document.Text(bad))
		if err := shelf.Upsert(t.Context(), []document.Document{d}); err != nil {
			t.Fatal(err)
		}
	}
	paths := []string{"/data?kind=issues", "/data?q=alert"}
	for i, bad := range hostile {
		name := strings.ReplaceAll(bad, "\x00", "")
		paths = append(paths, fmt.Sprintf("/data/issues/%d?account=%s", 100+i, who.Login), "/data/issues/"+url.PathEscape(name)+"?account="+who.Login)
		paths = append(paths, "/data/sql?sql="+url.QueryEscape("SELECT '"+strings.ReplaceAll(name, "'", "''")+"' AS a, 1 AS \""+strings.ReplaceAll(name, `"`, "")+"\""))
		for _, parameter := range []string{"/data?kind=issues&state=", "/data?q=", "/data?kind=", "/data/sql?sql=", "/data/sql?query=", "/jobs?type=", "/jobs?run=", "/jobs?error=", "/runs?account=", "/runs?status=", "/accounts?login=", "/dead-letters?why=", "/confirm/retry-jobs?type=", "/confirm/retry-jobs?run=", "/confirm/discard?why=", "/system?actor=", "/login?next="} {
			paths = append(paths, parameter+url.QueryEscape(bad))
		}
	}
	for _, path := range paths {
		w := ask(h, http.MethodGet, path, "", "Accept", html)
		if w.Code == http.StatusInternalServerError {
			t.Errorf("%s: %d", path, w.Code)
		}
		harmless(t, path, w.Body.String())
		if strings.Contains(w.Body.String(), "ZgotmplZ") {
			t.Errorf("%s has a link that leads nowhere", path)
		}
		for name, values := range w.Header() {
			if strings.ContainsAny(strings.Join(values, ""), "\r\n") || name == "Set-Cookie" && strings.Contains(strings.Join(values, ""), "x=1") {
				t.Errorf("%s answers with %s: %q", path, name, values)
			}
		}
	}
	if text := ask(h, http.MethodGet, "/data?kind=issues", "", "Accept", html).Body.String(); !strings.Contains(text, "&lt;script&gt;alert(1)") {
		t.Error("what is stored is not shown")
	}
}

// TestOtherPagesOfTheHostCannotUseTheCookie: browsers send it for every port of a host.
func TestOtherPagesOfTheHostCannotUseTheCookie(t *testing.T) {
	h := site(t, "s3cret", web.Options{})
	cookie := logIn(t, h, "s3cret")
	for from, want := range map[string]int{"same-origin": http.StatusOK, "none": http.StatusOK, "": http.StatusOK, "same-site": http.StatusUnauthorized, "cross-site": http.StatusUnauthorized} {
		if w := ask(h, http.MethodGet, "/api/v1/runs", "", "Cookie", cookie, "Sec-Fetch-Site", from); w.Code != want {
			t.Errorf("for %q the API answers %d", from, w.Code)
		}
	}
}

// TestNobodyFramesOrKeeps looks at what pages, answers of the API and files tell
// browsers.
func TestNobodyFramesOrKeeps(t *testing.T) {
	h := site(t, "", web.Options{})
	for path, kept := range map[string]bool{"/": false, "/runs": false, "/login": false, "/nothing": false, "/api/v1/runs": false, "/docs": false, "/assets/live.js": true} {
		w := ask(h, http.MethodGet, path, "", "Accept", html)
		for name, want := range map[string]string{"X-Frame-Options": "DENY", "Cross-Origin-Resource-Policy": "same-origin", "Cross-Origin-Opener-Policy": "same-origin", "X-Content-Type-Options": "nosniff"} {
			if got := w.Header().Get(name); got != want {
				t.Errorf("%s has %s: %q", path, name, got)
			}
		}
		if !kept && w.Header().Get("Cache-Control") != "no-store" {
			t.Errorf("%s is kept: %q", path, w.Header().Get("Cache-Control"))
		}
		if strings.HasPrefix(w.Header().Get("Content-Type"), "text/html") && !strings.Contains(w.Header().Get("Content-Security-Policy"), "frame-ancestors 'none'") {
			t.Errorf("%s may be framed: %q", path, w.Header().Get("Content-Security-Policy"))
		}
	}
}

// TestNobodyIsLedElsewhere, whatever a form says where to go next.
func TestNobodyIsLedElsewhere(t *testing.T) {
	for _, prefix := range []string{"", "/sluice"} {
		h := site(t, "s3cret", web.Options{Prefix: prefix})
		for _, next := range []string{
			"//evil.example", "///evil.example", "/\\evil.example", "/\t/evil.example", "/.//evil.example", "/..//evil.example", "/../admin", "/%2e%2e/admin", "/x/../../admin",
			"https:evil.example", "https://evil.example", "javascript:alert(1)", "data:text/html,x", "/%0d%0aSet-Cookie:x=1", "/%5cevil.example", "/" + strings.Repeat("a", 40_000),
		} {
			w := ask(h, http.MethodPost, prefix+"/login", url.Values{"token": {"s3cret"}, "next": {next}}.Encode())
			to, err := url.Parse(w.Header().Get("Location"))
			if err != nil || w.Code != http.StatusSeeOther || to.Host != "" || to.Scheme != "" || !strings.HasPrefix(to.Path, prefix+"/") || strings.HasPrefix(to.Path, "//") || len(to.Path) > 4096 || strings.Contains(to.Path, "..") {
				t.Errorf("%.60q leads to %.60q (%d, %v)", next, w.Header().Get("Location"), w.Code, err)
			}
			if len(w.Result().Cookies()) != 1 {
				t.Errorf("%.60q sets %v", next, w.Result().Cookies())
			}
		}
	}
}

// TestPathsStayWhereTheyAre: no path leads out of the prefix or into other files.
func TestPathsStayWhereTheyAre(t *testing.T) {
	for _, prefix := range []string{"", "/sluice"} {
		h := site(t, "", web.Options{Prefix: prefix})
		for _, path := range []string{
			"/assets/..%2ftemplates%2flayout.html", "/assets/%2e%2e/templates/layout.html", "/assets/../templates/layout.html", "/assets/", "/assets/%2e", "/assets/..", "/assets/..%5cx",
			"/%2e%2e/%2e%2e/etc/passwd", "/..%2f..%2fetc/passwd", "/%2e%2e/runs", "/%2f%2fevil.example", "//evil.example/%2e%2e", "/accounts/%2e%2e%2f%2e%2e", "/data/%2e%2e/x",
		} {
			w := ask(h, http.MethodGet, prefix+path, "", "Accept", html)
			if strings.Contains(w.Body.String(), "{{define") {
				t.Errorf("%s shows a template", path)
			}
			if to := w.Header().Get("Location"); to != "" && (strings.HasPrefix(to, "//") || !strings.HasPrefix(to, prefix+"/")) {
				t.Errorf("%s leads to %s", prefix+path, to)
			}
			if w.Code >= http.StatusInternalServerError {
				t.Errorf("%s: %d", path, w.Code)
			}
		}
	}
}

// TestLongAddresses: an address stands in every form of a page, so that a long one would
// make a page that is many times as long.
func TestLongAddresses(t *testing.T) {
	h := site(t, "", web.Options{})
	long := strings.Repeat("x", 20<<10)
	for _, path := range []string{"/dead-letters?why=" + long, "/jobs?type=" + long, "/accounts/" + long, "/confirm/retry-jobs?type=" + long} {
		if w := ask(h, http.MethodGet, path, "", "Accept", html); w.Code != http.StatusRequestURITooLong || w.Body.Len() > 10<<10 {
			t.Errorf("%.30s: %d with %d bytes", path, w.Code, w.Body.Len())
		}
	}
	many := strings.Repeat("a=1&", 1000)
	if w := ask(h, http.MethodGet, "/confirm/retry-jobs?"+many+"evil=1&error=timeout&next=//evil.example", "", "Accept", html); strings.Contains(w.Body.String(), `name="evil"`) || strings.Contains(w.Body.String(), `value="//evil.example"`) {
		t.Error("a question takes over fields that nobody knows")
	}
	if w := ask(h, http.MethodPost, "/login", "token="+strings.Repeat("x", 1<<20)); w.Code != http.StatusUnprocessableEntity {
		t.Errorf("a long form: %d", w.Code)
	}
}

// TestRefusedFormsStayOnPages: where a form says that it stands need not be a page.
func TestRefusedFormsStayOnPages(t *testing.T) {
	h := site(t, "", web.Options{Prefix: "/sluice"})
	for _, next := range []string{"/nothing", "/logout", "/x//y", "/api/v1/runs", "/act/set-timer"} {
		w := ask(h, http.MethodPost, "/sluice/act/cancel-run", url.Values{"run": {"0"}, "next": {next}}.Encode(), "Accept", html)
		if text := w.Body.String(); !strings.HasPrefix(w.Header().Get("Content-Type"), "text/html") || !strings.Contains(text, "there is nothing with the number") || w.Header().Get("Content-Security-Policy") == "" {
			t.Errorf("%s: %d %s", next, w.Code, text)
		}
	}
}

// TestStreamsEndWithTheLogin, in whatever process somebody logs out.
func TestStreamsEndWithTheLogin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		beats := make(chan struct{})
		api := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/api/v1/events" {
				w.WriteHeader(http.StatusOK)
				_, _ = w.Write([]byte(`{"actor":"x","role":"admin"}`))
				return
			}
			defer close(beats)
			for r.Context().Err() == nil {
				time.Sleep(5 * time.Second)
				if _, err := w.Write([]byte(": heartbeat\n\n")); err != nil {
					return
				}
			}
		})
		shared := record.NewMemory()
		one, other := web.New(api, web.Options{Sessions: shared}), web.New(api, web.Options{Sessions: shared})
		cookie := logIn(t, one, "s3cret")
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		r := httptest.NewRequestWithContext(ctx, http.MethodGet, "http://localhost/api/v1/events", http.NoBody)
		r.Header.Set("Cookie", cookie)
		stream := httptest.NewRecorder()
		go one.ServeHTTP(stream, r)
		time.Sleep(time.Minute)
		select {
		case <-beats:
			t.Fatal("the stream ends by itself")
		default:
		}
		ask(other, http.MethodPost, "/logout", "", "Cookie", cookie)
		time.Sleep(time.Minute)
		select {
		case <-beats:
		default:
			t.Error("the stream goes on after logging out")
		}
	})
}
