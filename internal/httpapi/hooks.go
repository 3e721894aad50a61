package httpapi

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"sluice/internal/domain"
	"sluice/internal/httpapi/wire"
)

func (s *server) registerHooks(api huma.API) {
	register(s, api, operation{id: "github-hook", method: http.MethodPost, path: githubHookPath, tag: "runs",
		summary: "Take a webhook of GitHub: what it is about is collected again", status: http.StatusAccepted, body: githubHookSize,
		errors: []int{http.StatusNotFound, http.StatusUnprocessableEntity}}, s.githubHook)
}

// githubHookSize is the most that GitHub sends.
const githubHookSize = 25 << 20

// githubHookPath needs no token of ours: GitHub cannot send one. The signature
// stands for it.
const githubHookPath = "/api/v1/hooks/github"

type hookInput struct {
	Event     string `header:"X-GitHub-Event" maxLength:"100"`
	Type      string `header:"Content-Type" maxLength:"200"`
	Signature string `header:"X-Hub-Signature-256" maxLength:"200"`
	RawBody   []byte
}

// githubHook begins a run of every account that an event is about and that is
// not being collected already.
func (s *server) githubHook(ctx context.Context, in *hookInput) (*body[wire.HookAnswer], error) {
	if s.HookSecret == "" {
		return nil, domain.Errorf(domain.CodeNotFound, "webhooks of GitHub are not taken; set SLUICE_GITHUB_HOOK_SECRET to the secret that GitHub signs them with")
	}
	if !signedBy(s.HookSecret, in.RawBody, in.Signature) {
		return nil, domain.Errorf(domain.CodeUnauthorized, "the signature of this webhook is not that of the secret that was set for it")
	}
	answer := wire.HookAnswer{Runs: []domain.Run{}}
	if in.Event == "ping" {
		// GitHub tries out whether somebody is here.
		return &body[wire.HookAnswer]{answer}, nil
	}
	for _, login := range loginsOf(payloadOf(in)) {
		a, err := s.Reader.AccountByLogin(ctx, "github", login)
		if domain.CodeOf(err) == domain.CodeNotFound || err == nil && a.State != domain.AccountActive {
			continue
		}
		if err != nil {
			return nil, err
		}
		run, err := s.Orchestrator.StartRun(ctx, a.ID, domain.TriggerWebhook, domain.PriorityHigh)
		if err != nil && domain.CodeOf(err) != domain.CodeConflict {
			return nil, err
		}
		// It may have been paused in this moment: then there is none.
		if run.ID != 0 {
			answer.Runs = append(answer.Runs, run)
		}
	}
	return &body[wire.HookAnswer]{answer}, nil
}

// payloadOf finds the event in what GitHub sends: JSON, or a form with a field
// of JSON, as the webhook was set up.
func payloadOf(in *hookInput) []byte {
	if !strings.HasPrefix(in.Type, "application/x-www-form-urlencoded") {
		return in.RawBody
	}
	// What is no form names nobody.
	form, _ := url.ParseQuery(string(in.RawBody))
	return []byte(form.Get("payload"))
}

// signedBy checks what GitHub puts into X-Hub-Signature-256.
func signedBy(secret string, text []byte, signature string) bool {
	given, err := hex.DecodeString(strings.TrimPrefix(signature, "sha256="))
	if err != nil || !strings.HasPrefix(signature, "sha256=") {
		return false
	}
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write(text)
	return hmac.Equal(given, mac.Sum(nil))
}

// loginsOf lists whom an event is about: whose repository, and who did it.
func loginsOf(text []byte) []string {
	var event struct {
		Repository struct {
			Owner struct{ Login string }
		}
		Sender struct{ Login string }
	}
	// What is no such object names nobody.
	_ = json.Unmarshal(text, &event)
	var logins []string
	for _, login := range []string{event.Repository.Owner.Login, event.Sender.Login} {
		if login != "" && (len(logins) == 0 || !strings.EqualFold(logins[0], login)) {
			logins = append(logins, login)
		}
	}
	return logins
}
