package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"sluice/internal/domain"
	"sluice/internal/engine"
	"sluice/internal/httpapi/wire"
)

// halting is a service whose engine stops by itself once somebody follows a
// run, which then never ends.
func halting(failed chan struct{}, cause error) *Service {
	run := domain.Run{ID: 1, Login: "octocat", Status: domain.RunRunning, Trigger: domain.TriggerSignup, Priority: domain.PriorityHigh}
	answer := func(w http.ResponseWriter, status int, v any) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(v)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /api/v1/accounts", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusCreated, wire.SignupAnswer{Account: domain.Account{ID: 1, Login: "octocat", State: domain.AccountActive}, Run: run, Started: true})
	})
	mux.HandleFunc("GET /api/v1/runs/1", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusOK, wire.RunDetail{Progress: engine.Progress{Run: run}})
	})
	mux.HandleFunc("/", func(_ http.ResponseWriter, r *http.Request) {
		close(failed)
		<-r.Context().Done()
	})
	nothing := func(context.Context) error { return nil }
	return &Service{
		API: mux, Start: nothing, Close: nothing, Stopping: func() {}, Failed: failed,
		Err: func() error {
			select {
			case <-failed:
				return cause
			default:
				return nil
			}
		},
	}
}

// TestCollectEndsWithItsEngine: an engine that stopped by itself, as its store
// is damaged, ends no run any more.
func TestCollectEndsWithItsEngine(t *testing.T) {
	var out bytes.Buffer
	env := func(name string) (string, bool) {
		if name != "SLUICE_GITHUB_TOKEN" {
			return "", false
		}
		return "ghp_0123456789", true
	}
	app := &App{
		Out: &out, Err: &out, Env: env, Now: time.Now, Holder: func(string) string { return "" }, CheckLogin: func(string) error { return nil },
		Open: func(context.Context, ServiceOptions) (*Service, error) {
			return halting(make(chan struct{}), errors.New("page 17 is damaged; restore a backup")), nil
		},
	}
	code := app.Run(t.Context(), []string{"collect", "octocat", "--data-dir", t.TempDir()})
	if code != exitFailed || !strings.Contains(out.String(), "page 17 is damaged; restore a backup") || strings.Contains(out.String(), "context canceled") {
		t.Errorf("it ended with %d: %s", code, out.String())
	}
}
