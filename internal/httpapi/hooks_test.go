package httpapi_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"sluice/internal/domain"
	"sluice/internal/httpapi"
	"sluice/internal/httpapi/apitest"
	"sluice/internal/httpapi/wire"
	githubsim "sluice/internal/simulator/github"
	"sluice/internal/source/github"
	"sluice/internal/state"
)

const hookSecret = "hook-verysecret"

// hooked is a service that takes GitHub's webhooks and has an API token.
type hooked struct {
	*testing.T
	service *apitest.Service
	handler http.Handler
	// delivery, if set, names what is sent.
	delivery string
}

func newHooked(t *testing.T, secret string) *hooked {
	t.Helper()
	s := apitest.Start(t, apitest.Options{})
	handler := httpapi.New(httpapi.Deps{
		Orchestrator: s.Engine, Observer: s.Engine, Reader: s.State, Quota: s.Quota, Statistics: s.Statistics, Documents: s.Documents,
		Lifecycle: s.Lifecycle, Sources: described, HookSecrets: map[string]string{github.Name: secret},
	}, httpapi.Options{APIToken: "api-token"})
	return &hooked{T: t, service: s, handler: handler}
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
	if h.delivery != "" {
		r.Header.Set("X-GitHub-Delivery", h.delivery)
	}
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
			(&hooked{T: t, service: h.service, handler: h.handler}).send(text, signature, http.StatusUnauthorized)
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

// measured counts what is read of a body; it never ends by itself.
type measured struct {
	size, read int64
	// reached, if set, is closed when so much was read; the rest comes after gate.
	at            int64
	reached, gate chan struct{}
}

func (m *measured) Read(p []byte) (int, error) {
	if m.gate != nil && m.read >= m.at {
		if m.reached != nil {
			close(m.reached)
			m.reached = nil
		}
		<-m.gate
	}
	n := min(int64(len(p)), m.size-m.read)
	m.read += n
	if n == 0 {
		return 0, io.EOF
	}
	return int(n), nil
}

func (h *hooked) sendBody(body io.Reader, signature string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodPost, "http://sluice.example/api/v1/hooks/github", body)
	if signature != "" {
		r.Header.Set("X-Hub-Signature-256", signature)
	}
	w := httptest.NewRecorder()
	h.handler.ServeHTTP(w, r)
	return w
}

// TestHooksOfStrangersAreNotRead counts the bytes that somebody without the
// secret can have read.
func TestHooksOfStrangersAreNotRead(t *testing.T) {
	wrong := sign("another", "text")
	for name, test := range map[string]struct {
		secret, signature string
		status            int
	}{
		"no secret is set":       {"", wrong, http.StatusNotFound},
		"no signature":           {hookSecret, "", http.StatusUnauthorized},
		"no signature of SHA256": {hookSecret, "sha1=00", http.StatusUnauthorized},
		"a short signature":      {hookSecret, "sha256=00", http.StatusUnauthorized},
	} {
		t.Run(name, func(t *testing.T) {
			body := &measured{size: 24 << 20}
			if w := newHooked(t, test.secret).sendBody(body, test.signature); w.Code != test.status || body.read != 0 {
				t.Errorf("got %d after %d bytes", w.Code, body.read)
			}
		})
	}
	h := newHooked(t, hookSecret)
	over := &measured{size: 1 << 40}
	if w := h.sendBody(over, wrong); w.Code != http.StatusRequestEntityTooLarge || over.read > 26<<20 {
		t.Errorf("an endless one: got %d after %d bytes", w.Code, over.read)
	}
}

// TestFewLargeHooksAtATime holds as many as are read at once; others are told
// to come back, and small ones pass.
func TestFewLargeHooksAtATime(t *testing.T) {
	h := newHooked(t, hookSecret)
	wrong, gate := sign("another", "text"), make(chan struct{})
	held := make(chan int, 2)
	for range 2 {
		body := &measured{size: 1 << 20, at: 512 << 10, reached: make(chan struct{}), gate: gate}
		reached := body.reached
		go func() { held <- h.sendBody(body, wrong).Code }()
		<-reached
	}
	for range 40 {
		body := &measured{size: 24 << 20}
		w := h.sendBody(body, wrong)
		if w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") == "" || body.read > 64<<10 {
			t.Fatalf("one more: got %d, Retry-After: %q, after %d bytes", w.Code, w.Header().Get("Retry-After"), body.read)
		}
	}
	text := `{"sender":{"login":"octocat"}}`
	h.send(text, sign(hookSecret, text), http.StatusAccepted)
	close(gate)
	for range 2 {
		if status := <-held; status != http.StatusUnauthorized {
			t.Errorf("one that was held: got %d", status)
		}
	}
	large := text + strings.Repeat(" ", 1<<20)
	h.send(large, sign(hookSecret, large), http.StatusAccepted)
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

// TestADeliveryBeginsOneRun sends a delivery again after the run that it began
// has ended, as GitHub does when an answer was lost or somebody asks it to.
func TestADeliveryBeginsOneRun(t *testing.T) {
	h := newHooked(t, hookSecret)
	who := h.service.Signup(0)
	a, first, err := h.service.Engine.Signup(t.Context(), who)
	if err != nil {
		t.Fatal(err)
	}
	h.service.Wait(t, first.ID)
	one := func(delivery string) domain.Run {
		t.Helper()
		h.delivery = delivery
		answer := h.event(who.Login, who.Login)
		if len(answer.Runs) != 1 || answer.Runs[0].Trigger != domain.TriggerWebhook {
			t.Fatalf("delivery %q brought %+v", delivery, answer)
		}
		return h.service.Wait(t, answer.Runs[0].ID)
	}
	begun := one("72d3162e-cc78-11e3-81ab-4c9367dc0958")
	if again := one("72d3162e-cc78-11e3-81ab-4c9367dc0958"); again.ID != begun.ID {
		t.Errorf("the same delivery began run %d, then run %d", begun.ID, again.ID)
	}
	if other := one("another"); other.ID == begun.ID {
		t.Error("another delivery began no run")
	}
	// Events that have no name are not taken for each other.
	if nameless := one(""); nameless.ID == one("").ID {
		t.Error("an event without a delivery was taken for another one")
	}
	runs, err := h.service.State.Runs(t.Context(), state.RunQuery{AccountID: a.ID, Limit: 10})
	if err != nil || len(runs) != 5 {
		t.Errorf("there are %d runs, want 5: %v", len(runs), err)
	}
	h.delivery = strings.Repeat("x", 101)
	text := `{"sender":{"login":"octocat"}}`
	h.send(text, sign(hookSecret, text), http.StatusUnprocessableEntity)
}
