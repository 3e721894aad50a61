package web_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"sluice/internal/access"
	"sluice/internal/httpapi"
	"sluice/internal/httpapi/apitest"
	"sluice/internal/web"
)

// TestWhoReadsCannotAct sends every form as somebody who may only look, with values
// that somebody else could send.
func TestWhoReadsCannotAct(t *testing.T) {
	s := apitest.Start(t, apitest.Options{})
	h := web.New(httpapi.New(httpapi.Deps{
		Orchestrator: s.Engine, Observer: s.Engine, Reader: s.State, Quota: s.Quota, Statistics: s.Statistics, Documents: s.Documents,
		Timers: s.Timers, Tokens: s.Tokens, Audit: s.Audit, Catalogue: s.Catalogue(),
	}, httpapi.Options{APIToken: "s3cret"}), web.Options{})
	admin, who := logIn(t, h, "s3cret"), s.Signup(0)
	add := url.Values{"source": {who.Source}, "login": {who.Login}, "token": {who.Token}, "start": {"1"}}
	if w := ask(h, http.MethodPost, "/act/add-account", add.Encode(), "Cookie", admin); w.Code != http.StatusSeeOther {
		t.Fatalf("add: %d", w.Code)
	}
	var secret string
	for _, role := range []access.Role{access.Admin, access.Read} {
		_, made, err := s.Tokens.Create(t.Context(), "the-"+string(role), role, 0)
		if err != nil {
			t.Fatal(err)
		}
		if role == access.Read {
			secret = made
		}
	}
	viewer := logIn(t, h, secret)
	form := url.Values{
		"account": {"1"}, "run": {"1"}, "job": {"1"}, "priority": {"HIGH"}, "type": {"REPO_ISSUES"}, "id": {"x"}, "when": {"1h"}, "name": {"x"}, "sql": {"SELECT 1"},
		"source": {who.Source}, "login": {who.Login}, "token": {who.Token}, "typed": {who.Login}, "key": {"k"}, "why": {"timeout"}, "sink": {"x"}, "owner": {"x"}, "role": {"admin"}, "every": {"6h"},
		"next": {"/runs"},
	}
	for _, action := range web.ActionNames() {
		w := ask(h, http.MethodPost, "/act/"+action, form.Encode(), "Cookie", viewer, "Accept", html)
		if text := w.Body.String(); w.Code != http.StatusForbidden || !strings.Contains(text, "needs the role") {
			t.Errorf("%s: %d", action, w.Code)
		}
	}
	for _, path := range []string{"/", "/accounts", "/accounts/1", "/runs", "/runs/1", "/jobs", "/jobs/1", "/data", "/data/sql?sql=SELECT+1", "/dead-letters", "/timers", "/system", "/sources", "/sources/gitlab"} {
		w := ask(h, http.MethodGet, path, "", "Cookie", viewer, "Accept", html)
		if text := strings.ReplaceAll(w.Body.String(), `<form method="post" action="/logout">`, ""); w.Code == http.StatusOK && strings.Contains(text, `method="post"`) {
			t.Errorf("%s has a form that changes something", path)
		}
	}
	if w := ask(h, http.MethodGet, "/api/v1/timers/x", "", "Authorization", "Bearer s3cret"); w.Code != http.StatusNotFound {
		t.Errorf("the timer was set: %d", w.Code)
	}
}

// TestFormsBehindAProxy: a browser that does not tell where it sends from is believed
// the name that its proxy is called by.
func TestFormsBehindAProxy(t *testing.T) {
	h := site(t, "s3cret", web.Options{})
	for _, c := range []struct {
		origin, forwarded, from string
		status                  int
	}{
		{"http://sluice.example", "sluice.example", "", http.StatusSeeOther},
		{"http://sluice.example", "", "", http.StatusUnauthorized},
		{"http://evil.example", "sluice.example", "", http.StatusUnauthorized},
		{"null", "sluice.example", "", http.StatusUnauthorized},
		{"null", "", "", http.StatusUnauthorized},
		{"http://sluice.example", "sluice.example", "cross-site", http.StatusUnauthorized},
		{"http://sluice.example", "sluice.example", "same-site", http.StatusUnauthorized},
		{"http://sluice.example", "", "same-origin", http.StatusSeeOther},
	} {
		if w := ask(h, http.MethodPost, "/login", "token=s3cret", "Origin", c.origin, "X-Forwarded-Host", c.forwarded, "Sec-Fetch-Site", c.from); w.Code != c.status {
			t.Errorf("%+v: %d", c, w.Code)
		}
	}
}
