package httpapi_test

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"strings"
	"testing"

	"sluice/internal/domain"
	"sluice/internal/httpapi/apitest"
	"sluice/internal/httpapi/wire"
	githubsim "sluice/internal/simulator/github"
)

// TestMistypedLoginIsPaused signs up somebody whom the upstream does not know.
func TestMistypedLoginIsPaused(t *testing.T) {
	c := newCaller(t, apitest.Options{})
	answer := c.signup("github", "nobody-of-that-name", c.service.Signup(0).Token, http.StatusCreated)
	if run := c.wait(answer.Run.ID); run.Status != domain.RunFailed {
		t.Errorf("the run ended as %+v", run)
	}
	var a domain.Account
	c.do(http.MethodGet, "/api/v1/accounts/nobody-of-that-name", "", http.StatusOK, &a)
	if a.State != domain.AccountPaused || !strings.Contains(a.Reason, "nobody-of-that-name") || !strings.Contains(a.Reason, "right login") {
		t.Errorf("the account is %+v", a)
	}
	p := c.refused(http.MethodPost, "/api/v1/runs", `{"source":"github","login":"nobody-of-that-name"}`, http.StatusConflict, domain.CodeConflict)
	if !strings.Contains(p.Detail, "paused") {
		t.Errorf("another run: %+v", p)
	}
}

// TestRenewedCredential gives a new token to an account that is paused for its
// old one.
func TestRenewedCredential(t *testing.T) {
	c := newCaller(t, apitest.Options{})
	who := c.service.Signup(0)
	first := c.signup("github", who.Login, "ghp_revoked-long-ago", http.StatusCreated)
	changed, end := c.service.Engine.Watch()
	defer end()
	for paused := false; !paused; {
		a, err := c.service.State.Account(t.Context(), first.Account.ID)
		if err != nil {
			t.Fatal(err)
		}
		if paused = a.State == domain.AccountPaused; !paused {
			select {
			case <-changed:
			case <-t.Context().Done():
				t.Fatalf("the account is %+v", a)
			}
		}
	}
	path := "/api/v1/accounts/" + who.Login
	c.refused(http.MethodPatch, path, `{"token":""}`, http.StatusUnprocessableEntity, domain.CodeInvalid)
	c.refused(http.MethodPatch, path, `{"token":"with a blank"}`, http.StatusUnprocessableEntity, domain.CodeInvalid)
	var a domain.Account
	c.do(http.MethodPatch, path, `{"token":"`+who.Token+`"}`, http.StatusOK, &a)
	if a.State != domain.AccountActive || a.ID != first.Account.ID {
		t.Errorf("the account is %+v", a)
	}
	if run := c.wait(first.Run.ID); run.Status != domain.RunCompleted {
		t.Errorf("the run ended as %+v", run)
	}
	if strings.Contains(c.answers.String(), who.Token) {
		t.Error("an answer shows the token")
	}
}

// TestAppCredential signs up with an app's key, which has blanks and lines.
func TestAppCredential(t *testing.T) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	text := string(pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)}))
	inner, err := json.Marshal(map[string]any{"app_id": 1, "installation_id": 2, "private_key": text})
	if err != nil {
		t.Fatal(err)
	}
	c := newCaller(t, apitest.Options{})
	// Two accounts: while the first is collected it cannot be signed up again.
	for i, credential := range []string{
		"app:" + string(inner), `app:{"app_id": 1, "installation_id": 2, "private_key": "` + text + `"}`,
	} {
		body, err := json.Marshal(map[string]string{"source": "github", "login": c.service.Signup(i).Login, "token": credential})
		if err != nil {
			t.Fatal(err)
		}
		res, err := c.http.Post(c.service.URL+"/api/v1/accounts", "application/json", strings.NewReader(string(body)))
		if err != nil {
			t.Fatal(err)
		}
		if err := res.Body.Close(); err != nil || res.StatusCode >= http.StatusBadRequest {
			t.Errorf("%q: got %s, %v", credential[:8], res.Status, err)
		}
	}
}

// TestWhatACredentialAllows is said when an account is added, and costs one call; what
// the upstream does not accept is not stored.
func TestWhatACredentialAllows(t *testing.T) {
	c := newCaller(t, apitest.Options{})
	who := c.service.Signup(0)
	add := func(login, token string) string {
		return `{"source":"github","login":"` + login + `","token":"` + token + `","start":false}`
	}
	c.service.GitHub.SetScopes(who.Token, "gist")
	var added wire.SignupAnswer
	c.do(http.MethodPost, "/api/v1/accounts", add(who.Login, who.Token), http.StatusCreated, &added)
	if found := added.Credential; found == nil || found.Kind != "classic token" || found.Target != domain.TargetUser ||
		len(found.Limits) != 1 || !strings.Contains(found.Limits[0], "public repositories only") {
		t.Errorf("adding says %+v", found)
	}
	a, err := c.service.State.Account(t.Context(), added.Account.ID)
	if err != nil {
		t.Fatal(err)
	}
	windows, err := c.service.Quota.Windows(t.Context(), a.Owner)
	if calls := c.service.GitHub.Audit().Calls; err != nil || calls != 1 || len(windows) != 1 || windows[0].Limit-windows[0].Floor-windows[0].Available != 1 {
		t.Errorf("%d calls were made, counted for %q are %+v, %v", calls, a.Owner, windows, err)
	}

	refused := c.refused(http.MethodPost, "/api/v1/accounts", add("octo-else", "ghp_revoked-long-ago"), http.StatusUnprocessableEntity, domain.CodeInvalid)
	if !strings.Contains(refused.Detail, "does not accept the token") {
		t.Errorf("a bad token: %+v", refused)
	}
	refused = c.refused(http.MethodPost, "/api/v1/accounts", add("nobody-of-that-name", who.Token), http.StatusUnprocessableEntity, domain.CodeInvalid)
	if !strings.Contains(refused.Detail, "unknown login") {
		t.Errorf("a mistyped login: %+v", refused)
	}
	path := "/api/v1/accounts/" + who.Login
	c.refused(http.MethodPatch, path, `{"token":"ghp_revoked-long-ago"}`, http.StatusUnprocessableEntity, domain.CodeInvalid)
	var renewed wire.AccountAnswer
	c.do(http.MethodPatch, path, `{"token":"`+c.service.GitHub.Token2(who.Login)+`"}`, http.StatusOK, &renewed)
	if renewed.ID != added.Account.ID || renewed.Credential == nil || len(renewed.Credential.Limits) != 0 {
		t.Errorf("renewing says %+v, %+v", renewed, renewed.Credential)
	}
	var all wire.AccountList
	c.do(http.MethodGet, "/api/v1/accounts", "", http.StatusOK, &all)
	if len(all.Items) != 1 {
		t.Errorf("stored are %+v", all.Items)
	}

	before := c.service.GitHub.Audit().Calls
	c.do(http.MethodPatch, path, `{"token":"ghp_anything","check":false}`, http.StatusOK, &renewed)
	if calls := c.service.GitHub.Audit().Calls - before; calls != 0 {
		t.Errorf("%d calls without a check", calls)
	}
	if strings.Contains(c.answers.String(), who.Token) {
		t.Error("an answer shows the token")
	}
}

// TestUncheckedCredential is stored when the upstream does not answer, and said so.
func TestUncheckedCredential(t *testing.T) {
	c := newCaller(t, apitest.Options{})
	who := c.service.Signup(0)
	c.service.GitHub.FailNext(githubsim.AnyRequest, githubsim.Forever, githubsim.ServerError(http.StatusBadGateway))
	var added wire.SignupAnswer
	c.do(http.MethodPost, "/api/v1/accounts", `{"source":"github","login":"`+who.Login+`","token":"`+who.Token+`","start":false}`, http.StatusCreated, &added)
	if added.Account.ID == 0 || added.Credential == nil || !strings.Contains(added.Credential.Unchecked, "502") {
		t.Errorf("adding says %+v", added)
	}
}
