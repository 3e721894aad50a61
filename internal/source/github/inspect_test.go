package github

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"sluice/internal/domain"
	"sluice/internal/source"

	sim "sluice/internal/simulator/github"
)

func (w *world) inspect(t *testing.T, login, token string) (source.Result, source.Allowance) {
	t.Helper()
	src := w.source(t, Options{})
	spec := src.Inspection(login)
	if _, err := src.Ask(spec, "owner"); err != nil {
		t.Fatal(err)
	}
	return src.Inspect(t.Context(), source.Call{
		Run: domain.Run{AccountID: testAccount, Login: login, Anchor: time.Now()}, Job: domain.Job{JobSpec: spec}, Token: token,
	})
}

// TestWhatATokenAllows asks about every kind of token, each with one call.
func TestWhatATokenAllows(t *testing.T) {
	const noPrivate, noTeams = "sees public repositories only", "no teams"
	w, org := organizationWorld(t, time.Now)
	user := w.Logins()[0]
	repo := w.Repos(user)[0]
	ends := time.Date(2027, 1, 2, 3, 4, 5, 0, time.UTC)
	for name, tc := range map[string]struct {
		login  string
		set    func(token string)
		kind   string
		target domain.Target
		limits []string // a part of each
		scopes []string
		ends   time.Time
	}{
		"a user":                {login: user, kind: kindClassic, target: domain.TargetUser, scopes: []string{"read:org", "read:user", "repo"}},
		"a user without scopes": {login: user, set: func(token string) { w.SetScopes(token) }, kind: kindClassic, target: domain.TargetUser, limits: []string{noPrivate}},
		"an organisation without read:org": {login: org, set: func(token string) { w.SetScopes(token, "repo") }, kind: kindClassic, target: domain.TargetOrganization,
			limits: []string{noTeams}, scopes: []string{"repo"}},
		"an organisation without anything": {login: org, set: func(token string) { w.SetScopes(token, "gist") }, kind: kindClassic, target: domain.TargetOrganization,
			limits: []string{noPrivate, noTeams}, scopes: []string{"gist"}},
		"an organisation with more": {login: org, set: func(token string) { w.SetScopes(token, "admin:org", "repo") }, kind: kindClassic, target: domain.TargetOrganization,
			scopes: []string{"admin:org", "repo"}},
		"a repository": {login: repo.Owner + "/" + repo.Name, kind: kindClassic, target: domain.TargetRepository, scopes: []string{"read:org", "read:user", "repo"}},
		"one that ends": {login: user, set: func(token string) { w.SetExpiry(token, ends) }, kind: kindClassic, target: domain.TargetUser,
			scopes: []string{"read:org", "read:user", "repo"}, ends: ends},
		"one whose scopes nobody tells": {login: user, set: func(token string) { w.SetFineGrained(token) }, kind: kindOther, target: domain.TargetUser},
	} {
		t.Run(name, func(t *testing.T) {
			token := w.Token(tc.login)
			if tc.target == domain.TargetRepository {
				token = w.Token(user)
			}
			w.SetScopes(token, "read:org", "read:user", "repo")
			w.SetExpiry(token, time.Time{})
			if tc.set != nil {
				tc.set(token)
			}
			before := w.Audit().Calls
			res, got := w.inspect(t, tc.login, token)
			if res.Verdict != source.Done || res.Free || !res.Quota.Known || w.Audit().Calls-before != 1 {
				t.Errorf("%+v after %d calls", res, w.Audit().Calls-before)
			}
			if got.Kind != tc.kind || got.Target != tc.target || !slices.Equal(got.Scopes, tc.scopes) || !got.ExpiresAt.Equal(tc.ends) {
				t.Errorf("found %+v", got)
			}
			if len(got.Limits) != len(tc.limits) {
				t.Fatalf("limits %q, want %q", got.Limits, tc.limits)
			}
			for i, part := range tc.limits {
				if !strings.Contains(got.Limits[i], part) {
					t.Errorf("limit %q lacks %q", got.Limits[i], part)
				}
			}
		})
	}
}

// TestAFineGrainedToken is told by how it begins: GitHub tells no scopes of it.
func TestAFineGrainedToken(t *testing.T) {
	c := &call{access: access{token: "github_pat_11AAAA"}}
	a := &answer{status: http.StatusOK, header: http.Header{}, body: []byte(`{"type":"Organization"}`)}
	found := c.allowance(a)
	found.Target = targetOf("acme", a)
	limits := strings.Join(c.limits(&found, a), "\n")
	if found.Kind != kindFineGrained || found.Scopes != nil || !strings.Contains(limits, "contents, issues and pull requests") || !strings.Contains(limits, "members") {
		t.Errorf("%+v: %s", found, limits)
	}
}

func TestWhatAnAppAllows(t *testing.T) {
	w := newAppWorld(t, sim.Options{})
	res, found := w.inspect(t, w.login, w.credential)
	if res.Verdict != source.Done || found.Kind != kindInstallation || found.Target != domain.TargetUser || len(found.Limits) != 0 {
		t.Errorf("%+v, %+v", res, found)
	}
	token := &installationToken{permissions: []string{"metadata", "issues"}, selected: true}
	limits := token.limits(domain.TargetOrganization)
	if len(limits) != 2 || !strings.Contains(limits[0], "contents, pull_requests, members") || !strings.Contains(limits[1], "selected repositories") {
		t.Errorf("limits %q", limits)
	}
}

// TestWhatATokenIsRefused has an answer for each way in which a target is out of
// reach, none of which shows the token.
func TestWhatATokenIsRefused(t *testing.T) {
	w := newWorld(t, sim.Options{Seed: 3, Accounts: 2})
	login := w.Logins()[0]
	token := w.Token(login)
	answer := func(status int, body string, header http.Header) func() {
		return func() {
			w.FailNext(sim.AnyRequest, 1, sim.Fault{Status: status, Body: body, Header: header})
		}
	}
	for name, tc := range map[string]struct {
		login   string
		before  func()
		verdict source.Verdict
		says    string // of the failure, or of the first limit
	}{
		"unknown login":      {login: "nobody-of-that-name", verdict: source.FailRun, says: "no such user or organisation"},
		"unknown repository": {login: login + "/nothing-of-that-name", verdict: source.FailRun, says: "or the token may not see it"},
		"bad token":          {login: login, before: func() { w.RevokeToken(token) }, verdict: source.PauseAccount, says: "does not accept the token"},
		"single sign-on": {login: login, verdict: source.Done, says: "authorised for single sign-on",
			before: answer(http.StatusForbidden, `{"message":"Resource protected by organization SAML enforcement."}`, http.Header{"X-Github-Sso": {"required; url=https://example.com"}})},
		"forbidden by the organisation": {login: login, verdict: source.Done, says: "forbids access via a personal access token",
			before: answer(http.StatusForbidden, `{"message":"acme forbids access via a personal access token (classic)."}`, nil)},
		"blocked":  {login: login, verdict: source.Fail, says: "withdrawn", before: answer(http.StatusUnavailableForLegalReasons, `{"message":"Repository access blocked"}`, nil)},
		"too much": {login: login, verdict: source.Wait, says: "secondary", before: answer(http.StatusForbidden, `{"message":"You have exceeded a secondary rate limit."}`, nil)},
		"broken":   {login: login, verdict: source.Retry, says: "502", before: answer(http.StatusBadGateway, `{"message":"Server Error"}`, nil)},
	} {
		t.Run(name, func(t *testing.T) {
			w.ClearHooks()
			w.RestoreToken(token)
			if tc.before != nil {
				tc.before()
			}
			res, found := w.inspect(t, tc.login, token)
			said := strings.Join(found.Limits, "\n")
			if res.Failure != nil {
				said = res.Failure.Message
			}
			if res.Verdict != tc.verdict || !strings.Contains(said, tc.says) || strings.Contains(said, token) {
				t.Errorf("verdict %d, %q", res.Verdict, said)
			}
			if len(res.Documents)+len(res.Next)+len(res.Cursors) != 0 {
				t.Errorf("it leaves %+v", res)
			}
		})
	}
}

// TestTokensOfOtherPrograms are for the server that they are for, and no other.
func TestTokensOfOtherPrograms(t *testing.T) {
	for base, want := range map[string]struct{ variable, host string }{
		"https://api.github.com":              {"GH_TOKEN", "github.com"},
		"https://api.acme.ghe.com":            {"GH_TOKEN", "acme.ghe.com"},
		"http://api.github.com":               {"GH_ENTERPRISE_TOKEN", "github.com"},
		"https://github.acme.example/api/v3":  {"GH_ENTERPRISE_TOKEN", "github.acme.example"},
		"http://127.0.0.1:8080":               {"GH_ENTERPRISE_TOKEN", "127.0.0.1:8080"},
		"https://api.github.com.evil.example": {"GH_ENTERPRISE_TOKEN", "api.github.com.evil.example"},
	} {
		from := elsewhere(source.Settings{}.With(settingURL, base))
		if from.Variables[0] != want.variable || from.Command[len(from.Command)-1] != want.host {
			t.Errorf("%s: %+v", base, from)
		}
	}
	if from := elsewhere(source.Settings{}); from.Variables != nil || from.Command != nil {
		t.Errorf("of no server: %+v", from)
	}
}
