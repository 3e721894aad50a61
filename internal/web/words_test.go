package web_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"sluice/internal/httpapi"
	"sluice/internal/httpapi/apitest"
	"sluice/internal/web"
)

// TestPagesSayItInTheirOwnWords: what the API calls its parameters, routes and variables
// means nothing to who looks at a page.
func TestPagesSayItInTheirOwnWords(t *testing.T) {
	s := apitest.Start(t, apitest.Options{})
	h := web.New(httpapi.New(httpapi.Deps{
		Orchestrator: s.Engine, Observer: s.Engine, Reader: s.State, Quota: s.Quota, Statistics: s.Statistics, Documents: s.Documents, Timers: s.Timers,
	}, httpapi.Options{}), web.Options{})
	api := regexp.MustCompile(`\((query|path|body)\b|/api/v1|SLUICE_[A-Z]+_TOKEN|at is not a time|next_cursor`)
	said := func(text string) string {
		_, rest, _ := strings.Cut(text, "<main")
		return rest
	}
	for path, want := range map[string]string{
		"/jobs?status=BOGUS": "there is no state", "/runs?status=BOGUS": "there is no state", "/jobs?cursor=old": "begin at its first page", "/runs?cursor=old": "begin at its first page",
		"/jobs/abc": `href="/jobs"`, "/runs/999999": `href="/runs"`, "/accounts/nobody": "add it on the page of the accounts", "/accounts?cursor=old": "begin at its first page",
	} {
		w := ask(h, http.MethodGet, path, "", "Accept", html)
		text := said(w.Body.String())
		if w.Code < http.StatusBadRequest || !strings.Contains(text, want) || api.MatchString(text) {
			t.Errorf("%s: %d %s", path, w.Code, text)
		}
	}
	for _, form := range []url.Values{{"id": {"a"}, "when": {"tomorrow"}}, {"id": {"a"}, "when": {"-5m"}}} {
		form.Set("next", "/timers")
		w := ask(h, http.MethodPost, "/act/set-timer", form.Encode(), "Accept", html)
		if text := said(w.Body.String()); w.Code != http.StatusUnprocessableEntity || !strings.Contains(text, "When is neither") || api.MatchString(text) {
			t.Errorf("%v: %d %s", form, w.Code, text)
		}
	}
	if got := web.InPageWords("GitHub does not accept the token of a (401 x); make a new one in GitHub's settings under developer settings and give it with SLUICE_GITHUB_TOKEN or --token-file"); strings.Contains(got, "SLUICE") {
		t.Error(got)
	}
}

// TestAPausedAccountIsNotRun: the button says why, and what a page shows of an account
// that is paused elsewhere is exchanged with its head.
func TestAPausedAccountIsNotRun(t *testing.T) {
	s := apitest.Start(t, apitest.Options{})
	h := web.New(httpapi.New(httpapi.Deps{
		Orchestrator: s.Engine, Observer: s.Engine, Reader: s.State, Quota: s.Quota, Statistics: s.Statistics, Documents: s.Documents,
	}, httpapi.Options{}), web.Options{})
	account, err := s.Engine.PutAccount(t.Context(), s.Signup(0))
	if err != nil {
		t.Fatal(err)
	}
	head := func() string {
		_, rest, _ := strings.Cut(ask(h, http.MethodGet, fmt.Sprintf("/accounts/%d", account.ID), "", "Accept", html).Body.String(), `id="part-head" data-part>`)
		head, _, _ := strings.Cut(rest, `<div id="part-account"`)
		return head
	}
	if before := head(); !strings.Contains(before, ">active<") || !strings.Contains(before, `action="/act/start-run"`) {
		t.Errorf("of an active one: %s", before)
	}
	if err := s.Engine.PauseAccount(t.Context(), account.ID, "a holiday"); err != nil {
		t.Fatal(err)
	}
	if after := head(); !strings.Contains(after, ">paused<") || !strings.Contains(after, `disabled title="It is paused`) || strings.Contains(after, `action="/act/start-run"`) || !strings.Contains(after, "a holiday") {
		t.Errorf("of a paused one: %s", after)
	}
}

// TestTooManyWrongTokensSayWhen on the page too.
func TestTooManyWrongTokensSayWhen(t *testing.T) {
	h := site(t, "s3cret", web.Options{})
	var w *httptest.ResponseRecorder
	for range 20 {
		if w = ask(h, http.MethodPost, "/login", "token=wrong", "Accept", html); w.Code == http.StatusTooManyRequests {
			break
		}
	}
	if !regexp.MustCompile(`try again later: <time [^>]*data-until>in \d+ (s|min)`).MatchString(w.Body.String()) {
		t.Errorf("it shows %s", w.Body)
	}
}

// TestALoginReplacesTheOneBefore it in the same browser, which nobody could end any more.
func TestALoginReplacesTheOneBefore(t *testing.T) {
	h := site(t, "s3cret", web.Options{})
	opens := func(cookie string) bool {
		return ask(h, http.MethodGet, "/runs", "", "Accept", html, "Cookie", cookie).Code == http.StatusOK
	}
	first := logIn(t, h, "s3cret")
	if w := ask(h, http.MethodPost, "/login", "token=wrong", "Cookie", first); w.Code != http.StatusUnauthorized || !opens(first) {
		t.Errorf("a wrong token ends the login that there is: %d", w.Code)
	}
	c := ask(h, http.MethodPost, "/login", "token=s3cret", "Cookie", first).Result().Cookies()[0]
	if opens(first) || !opens(c.Name+"="+c.Value) {
		t.Errorf("of the first %v, of the second %v", opens(first), opens(c.Name+"="+c.Value))
	}
}

// TestDocsBelowThePrefix follows what the pages of the API lead to.
func TestDocsBelowThePrefix(t *testing.T) {
	h := site(t, "", web.Options{Prefix: "/sluice"})
	seen := map[string]bool{}
	var follow func(path string)
	follow = func(path string) {
		if seen[path] {
			return
		}
		seen[path] = true
		w := ask(h, http.MethodGet, path, "", "Accept", html)
		if w.Code != http.StatusOK || !strings.HasPrefix(path, "/sluice/") {
			t.Errorf("%s: %d", path, w.Code)
		}
		if !strings.Contains(w.Header().Get("Content-Type"), "html") {
			return
		}
		base := &url.URL{Path: path}
		for _, found := range regexp.MustCompile(`(?:href|src)="([^"#]+)`).FindAllStringSubmatch(w.Body.String(), -1) {
			to, err := base.Parse(found[1])
			if err != nil || to.Host != "" {
				t.Fatalf("%s leads to %s: %v", path, found[1], err)
			}
			follow(to.Path)
		}
	}
	follow("/sluice/docs")
	for _, path := range []string{"/sluice/docs/problems", "/sluice/docs/style.css", "/sluice/api/openapi.json", "/sluice/api/openapi-3.0.json"} {
		if !seen[path] {
			t.Errorf("nothing leads to %s", path)
		}
	}
}
