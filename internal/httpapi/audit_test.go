package httpapi_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"sluice/internal/access"
	"sluice/internal/domain"
	"sluice/internal/httpapi"
	"sluice/internal/httpapi/apitest"
	"sluice/internal/httpapi/wire"
)

// guests is a service whose callers have tokens.
type guests struct {
	*caller
	secrets map[access.Role]string
}

func newGuests(t *testing.T) *guests {
	g := &guests{caller: newCaller(t, apitest.Options{APIToken: "the-token-of-the-settings"}), secrets: map[access.Role]string{}}
	g.as("the-token-of-the-settings")
	for _, role := range access.Roles() {
		var made wire.NewToken
		g.do(http.MethodPost, "/api/v1/tokens", fmt.Sprintf(`{"name":"the-%s","role":%q}`, role, role), http.StatusCreated, &made)
		g.secrets[role] = made.Secret
	}
	return g
}

func (g *guests) as(secret string) {
	g.http = &http.Client{Transport: apitest.Authorize{Token: secret}}
}

// TestWhoMayNotChangesNothing lets roles try what is above them: they are refused,
// nothing is changed, and the audit log has it.
func TestWhoMayNotChangesNothing(t *testing.T) {
	g := newGuests(t)
	who := g.service.Signup(0)
	signed := g.signup("github", who.Login, who.Token, http.StatusCreated)
	g.wait(signed.Run.ID)
	before, err := g.service.State.Account(t.Context(), signed.Account.ID)
	if err != nil {
		t.Fatal(err)
	}
	sealed, err := g.service.State.Credential(t.Context(), signed.Account.ID)
	if err != nil {
		t.Fatal(err)
	}
	account := "/api/v1/accounts/" + who.Login
	const canary = "ghp_canary-that-nobody-may-see"
	for _, c := range []struct {
		role                      access.Role
		method, path, body, needs string
	}{
		{access.Read, http.MethodPost, account + "/pause", "", "operate"},
		{access.Read, http.MethodPost, "/api/v1/runs", `{"login":"` + who.Login + `"}`, "operate"},
		{access.Read, http.MethodPut, account + "/schedule", `{"every":"1h"}`, "operate"},
		{access.Read, http.MethodGet, "/api/v1/audit", "", "admin"},
		{access.Operate, http.MethodPatch, account, `{"token":"` + canary + `"}`, "admin"},
		{access.Operate, http.MethodDelete, account, "", "admin"},
		{access.Operate, http.MethodPost, "/api/v1/accounts", `{"source":"github","login":"mallory","token":"` + canary + `"}`, "admin"},
		{access.Operate, http.MethodPost, "/api/v1/tokens", `{"name":"mine","role":"admin"}`, "admin"},
		{access.Operate, http.MethodDelete, "/api/v1/tokens/the-admin", "", "admin"},
		{access.Operate, http.MethodGet, "/api/v1/tokens", "", "admin"},
	} {
		g.as(g.secrets[c.role])
		p := g.refused(c.method, c.path, c.body, http.StatusForbidden, domain.CodeUnauthorized)
		if !strings.Contains(p.Detail, c.needs) || !strings.Contains(p.Detail, string(c.role)) {
			t.Errorf("%s %s as %s: %s", c.method, c.path, c.role, p.Detail)
		}
	}
	after, err := g.service.State.Account(t.Context(), signed.Account.ID)
	if err != nil || after != before {
		t.Errorf("the account was %+v and is %+v, %v", before, after, err)
	}
	if again, err := g.service.State.Credential(t.Context(), signed.Account.ID); err != nil || string(again.Data) != string(sealed.Data) {
		t.Errorf("the credential was changed: %v", err)
	}
	g.as(g.secrets[access.Admin])
	var tokens wire.TokenList
	g.do(http.MethodGet, "/api/v1/tokens", "", http.StatusOK, &tokens)
	if len(tokens.Items) != 3 {
		t.Errorf("there are the tokens %+v", tokens.Items)
	}
	var refused wire.AuditList
	g.do(http.MethodGet, "/api/v1/audit?actor=token:the-operate", "", http.StatusOK, &refused)
	if len(refused.Items) != 5 {
		t.Errorf("the audit log has %+v", refused.Items)
	}
	for _, e := range refused.Items {
		if e.Outcome != access.Refused || e.Status != http.StatusForbidden || e.Role != access.Operate || e.Address != "127.0.0.1" {
			t.Errorf("the audit log has %+v", e)
		}
	}
	g.hides(canary, who.Token)
}

// hides looks for secrets in all that was answered, logged and written down; tokens
// are in the answers that made them.
func (g *guests) hides(secrets ...string) {
	g.Helper()
	entries, _, err := g.service.Audit.Entries(g.Context(), access.Search{Limit: 1000})
	if err != nil {
		g.Fatal(err)
	}
	written := fmt.Sprintf("%+v", entries) + g.service.Log.String()
	for _, secret := range secrets {
		if strings.Contains(g.answers.String()+written, secret) {
			g.Error("a secret is shown")
		}
	}
	for role, secret := range g.secrets {
		if strings.Count(g.answers.String(), secret) > 1 || strings.Contains(written, secret) {
			g.Errorf("the token of the role %s is shown", role)
		}
	}
}

// TestAuditLogHasEveryChange does what each role may and reads who did what.
func TestAuditLogHasEveryChange(t *testing.T) {
	g := newGuests(t)
	who := g.service.Signup(0)
	g.as(g.secrets[access.Admin])
	signed := g.signup("github", who.Login, who.Token, http.StatusCreated)
	g.wait(signed.Run.ID)
	g.as(g.secrets[access.Operate])
	g.do(http.MethodPost, "/api/v1/accounts/"+who.Login+"/pause", `{"reason":"for a test"}`, http.StatusOK, nil)
	g.refused(http.MethodPost, "/api/v1/runs", `{"login":"`+who.Login+`"}`, http.StatusConflict, domain.CodeConflict)
	g.do(http.MethodPost, "/api/v1/runs", `{"login":7}`, http.StatusUnprocessableEntity, nil)
	g.do(http.MethodGet, "/api/v1/runs", "", http.StatusOK, nil)
	// Who only asks how many there are has changed nothing.
	for _, path := range []string{"/api/v1/jobs/retry", "/api/v1/jobs/cancel", "/api/v1/runs/cancel"} {
		g.do(http.MethodPost, path, `{"all":true,"dry_run":true}`, http.StatusOK, nil)
	}
	g.do(http.MethodPost, "/api/v1/jobs/retry", `{"dry_run":true}`, http.StatusUnprocessableEntity, nil)
	g.do(http.MethodPost, "/api/v1/jobs/retry", `{"all":true}`, http.StatusOK, nil)
	g.as(g.secrets[access.Admin])
	g.do(http.MethodDelete, "/api/v1/tokens/the-read", "", http.StatusNoContent, nil)
	g.as(g.secrets[access.Read])
	g.refused(http.MethodGet, "/api/v1/runs", "", http.StatusUnauthorized, domain.CodeUnauthorized)
	g.as(g.secrets[access.Admin])

	var got []string
	cursor := ""
	for {
		var page wire.AuditList
		g.do(http.MethodGet, "/api/v1/audit?limit=2&cursor="+cursor, "", http.StatusOK, &page)
		for _, e := range page.Items {
			got = append(got, fmt.Sprintf("%s %s %s %s %d", e.Actor, e.Action, e.Target, e.Outcome, e.Status))
			if e.Address != "127.0.0.1" || time.Since(e.At) > time.Hour {
				t.Errorf("the log has %+v", e)
			}
		}
		if cursor = page.NextCursor; cursor == "" {
			break
		}
	}
	slices.Reverse(got)
	want := []string{
		"api-token create-token /api/v1/tokens the-read (read) done 201",
		"api-token create-token /api/v1/tokens the-operate (operate) done 201",
		"api-token create-token /api/v1/tokens the-admin (admin) done 201",
		"token:the-admin signup /api/v1/accounts github/" + who.Login + " done 201",
		"token:the-operate pause-account /api/v1/accounts/" + who.Login + "/pause done 200",
		"token:the-operate start-run /api/v1/runs of account 1 refused 409",
		"token:the-operate start-run /api/v1/runs refused 422",
		"token:the-operate retry-jobs /api/v1/jobs/retry refused 422",
		"token:the-operate retry-jobs /api/v1/jobs/retry done 200",
		"token:the-admin revoke-token /api/v1/tokens/the-read done 204",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	g.hides(who.Token)
	for _, query := range []string{"?cursor=x", "?limit=0", "?limit=1001", "?since=yesterday", "?nothing=1"} {
		g.do(http.MethodGet, "/api/v1/audit"+query, "", http.StatusUnprocessableEntity, nil)
	}
	for name, body := range map[string]string{
		"no role": `{"name":"x"}`, "root": `{"name":"x","role":"root"}`, "bad name": `{"name":"a b","role":"read"}`,
		"own secret": `{"name":"x","role":"read","token":"chosen-by-a-person"}`, "past": `{"name":"x","role":"read","expires_in":"-1h"}`,
	} {
		var p wire.Problem
		g.do(http.MethodPost, "/api/v1/tokens", body, http.StatusUnprocessableEntity, &p)
		if strings.Contains(fmt.Sprint(p), "chosen-by-a-person") {
			t.Errorf("%s: the refusal repeats it: %+v", name, p)
		}
	}
}

// mute is an audit log of processes that die before they answer.
type mute struct{ httpapi.AuditLog }

func (mute) End(context.Context, *access.Trail, int) {}

// TestEntryIsPartOfTheChange: whoever dies between a change and its answer has left
// the entry all the same.
func TestEntryIsPartOfTheChange(t *testing.T) {
	c := newCaller(t, apitest.Options{Audit: func(l httpapi.AuditLog) httpapi.AuditLog { return mute{l} }})
	who := c.service.Signup(0)
	account := "/api/v1/accounts/" + who.Login
	for _, change := range []struct{ method, path, body, action string }{
		{http.MethodPost, "/api/v1/accounts", fmt.Sprintf(`{"source":"github","login":%q,"token":%q}`, who.Login, who.Token), "signup"},
		{http.MethodPost, account + "/pause", "", "pause-account"},
		{http.MethodPatch, account, `{"floor":7}`, "set-account"},
		{http.MethodPut, account + "/schedule", `{"every":"6h"}`, "set-schedule"},
		{http.MethodPost, account + "/resume", "", "resume-account"},
		{http.MethodPost, "/api/v1/runs/1/cancel", "", "cancel-run"},
		{http.MethodPost, "/api/v1/runs", `{"login":"` + who.Login + `"}`, "start-run"},
		{http.MethodPost, "/api/v1/runs/2/priority", `{"priority":"LOW"}`, "set-run-priority"},
		{http.MethodDelete, account, "", "delete-account"},
		{http.MethodPost, "/api/v1/tokens", `{"name":"x","role":"admin"}`, "create-token"},
	} {
		req, err := http.NewRequestWithContext(t.Context(), change.method, c.service.URL+change.path, strings.NewReader(change.body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		res, err := c.http.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		if res.StatusCode >= http.StatusBadRequest {
			// A run may have ended before it was canceled.
			if res.StatusCode != http.StatusConflict {
				t.Errorf("%s: %s", change.action, res.Status)
			}
			continue
		}
		entries, _, err := c.service.Audit.Entries(t.Context(), access.Search{Action: change.action, Limit: 1})
		if err != nil || len(entries) != 1 || entries[0].Outcome != access.Unfinished || entries[0].Actor != access.ActorAnonymous {
			t.Errorf("%s left %+v, %v", change.action, entries, err)
		}
	}
}
