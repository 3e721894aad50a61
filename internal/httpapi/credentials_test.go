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
