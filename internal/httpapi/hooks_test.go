package httpapi_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"sluice/internal/domain"
	"sluice/internal/httpapi"
	"sluice/internal/httpapi/apitest"
	"sluice/internal/httpapi/wire"
	githubsim "sluice/internal/simulator/github"
)

const hookSecret = "hook-verysecret"

// hooked is a service that takes GitHub's webhooks and has an API token.
type hooked struct {
	*testing.T
	service *apitest.Service
	handler http.Handler
}

func newHooked(t *testing.T, secret string) *hooked {
	t.Helper()
	s := apitest.Start(t, apitest.Options{})
	handler := httpapi.New(httpapi.Deps{
		Orchestrator: s.Engine, Observer: s.Engine, Reader: s.State, Quota: s.Quota, Statistics: s.Statistics, Documents: s.Documents,
		Lifecycle: s.Lifecycle, HookSecret: secret,
	}, httpapi.Options{APIToken: "api-token"})
	return &hooked{t, s, handler}
}

// sign is what GitHub puts into X-Hub-Signature-256.
func sign(secret, text string) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(text))
	return "sha256=" + hex.EncodeToString(mac.Sum(nil))
}

// send delivers an event as GitHub does: without a token of ours.
func (h *hooked) send(text, signature string, status int) wire.HookAnswer {
	h.Helper()
	r := httptest.NewRequest(http.MethodPost, "http://sluice.example/api/v1/hooks/github", strings.NewReader(text))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("X-GitHub-Event", "push")
	if signature != "" {
		r.Header.Set("X-Hub-Signature-256", signature)
	}
	w := httptest.NewRecorder()
	h.handler.ServeHTTP(w, r)
	if w.Code != status {
		h.Fatalf("got %d %s, want %d", w.Code, w.Body, status)
	}
	if strings.Contains(w.Body.String(), "verysecret") {
		h.Errorf("the answer shows the secret: %s", w.Body)
	}
	var answer wire.HookAnswer
	if status == http.StatusAccepted {
		if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil || answer.Runs == nil {
			h.Fatalf("%v in %s", err, w.Body)
		}
	}
	return answer
}

func (h *hooked) event(owner, sender string) wire.HookAnswer {
	h.Helper()
	text := fmt.Sprintf(`{"ref":"refs/heads/main","repository":{"id":7,"owner":{"login":%q}},"sender":{"login":%q}}`, owner, sender)
	return h.send(text, sign(hookSecret, text), http.StatusAccepted)
}

func TestHooksAreRefused(t *testing.T) {
	text := `{"sender":{"login":"octocat"}}`
	without := newHooked(t, "")
	without.send(text, sign("", text), http.StatusNotFound)
	without.send(text, "", http.StatusNotFound)
	h := newHooked(t, hookSecret)
	good := sign(hookSecret, text)
	for name, signature := range map[string]string{
		"none": "", "empty": "sha256=", "another secret's": sign("another", text), "another text's": sign(hookSecret, text+" "),
		"without a name": strings.TrimPrefix(good, "sha256="), "cut off": good[:len(good)-2], "no hexadecimal": "sha256=zz",
		"the old kind": "sha1=" + strings.TrimPrefix(good, "sha256="),
	} {
		t.Run(name, func(t *testing.T) {
			(&hooked{t, h.service, h.handler}).send(text, signature, http.StatusUnauthorized)
		})
	}
	h.send(text, good, http.StatusAccepted)
	// Everything else still needs the token.
	for _, path := range []string{"/api/v1/runs", "/api/v1/hooks", "/api/v1/hooks/github/", "/api/v1/hooks/github/x"} {
		if w := ask(h.handler, http.MethodGet, "http://sluice.example"+path); w.Code != http.StatusUnauthorized {
			t.Errorf("%s: got %d", path, w.Code)
		}
	}
}

func TestHooksBeginRuns(t *testing.T) {
	h := newHooked(t, hookSecret)
	for _, text := range []string{`[]`, `no JSON`, `{"sender":7}`, `{"zen":"Keep it logically awesome."}`} {
		if answer := h.send(text, sign(hookSecret, text), http.StatusAccepted); len(answer.Runs) != 0 {
			t.Errorf("%q began %+v", text, answer.Runs)
		}
	}
	if answer := h.event("nobody", "nobody-else"); len(answer.Runs) != 0 {
		t.Errorf("unknown logins began %+v", answer.Runs)
	}
	who, other := h.service.Signup(0), h.service.Signup(1)
	a, first, err := h.service.Engine.Signup(t.Context(), who)
	if err != nil {
		t.Fatal(err)
	}
	h.service.Wait(t, first.ID)

	// It waits for nobody here, so that the second event finds it under way.
	gate := make(chan struct{})
	h.service.GitHub.OnRequest(func(*http.Request, int) *githubsim.Fault {
		<-gate
		return nil
	})
	answer := h.event(strings.ToUpper(who.Login), who.Login)
	if len(answer.Runs) != 1 {
		t.Fatalf("got %+v", answer)
	}
	run := answer.Runs[0]
	if run.ID == first.ID || run.AccountID != a.ID || run.Trigger != domain.TriggerWebhook || run.Priority != domain.PriorityHigh {
		t.Errorf("the run is %+v", run)
	}
	if again := h.event("nobody", who.Login); len(again.Runs) != 1 || again.Runs[0].ID != run.ID {
		t.Errorf("the second event brought %+v", again)
	}
	b, _, err := h.service.Engine.Signup(t.Context(), other)
	if err != nil {
		t.Fatal(err)
	}
	if both := h.event(who.Login, other.Login); len(both.Runs) != 2 || both.Runs[0].ID != run.ID || both.Runs[1].AccountID != b.ID {
		t.Errorf("an event about two brought %+v", both)
	}
	close(gate)
	if ended := h.service.Wait(t, run.ID); ended.Status != domain.RunCompleted {
		t.Errorf("the run ended as %+v", ended)
	}

	// Who is paused or deleted is left alone.
	if err := h.service.Engine.PauseAccount(t.Context(), a.ID, "on holiday"); err != nil {
		t.Fatal(err)
	}
	if err := h.service.Engine.DeleteAccount(t.Context(), b.ID); err != nil {
		t.Fatal(err)
	}
	if answer := h.event(who.Login, other.Login); len(answer.Runs) != 0 {
		t.Errorf("paused and deleted accounts began %+v", answer.Runs)
	}
}
