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

// TestCollectAsksWhatANewTokenAllows: what the upstream refuses is left to the run, and
// --no-check does not ask.
func TestCollectAsksWhatANewTokenAllows(t *testing.T) {
	for flag, want := range map[string]string{"": "true false", "--no-check": "false"} {
		var asked []string
		mux := http.NewServeMux()
		problem := func(w http.ResponseWriter, status int, code domain.Code) {
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(status)
			_ = json.NewEncoder(w).Encode(map[string]any{"status": status, "code": code, "detail": "refused"})
		}
		mux.HandleFunc("GET /api/v1/accounts/{login}", func(w http.ResponseWriter, _ *http.Request) {
			problem(w, http.StatusNotFound, domain.CodeNotFound)
		})
		mux.HandleFunc("POST /api/v1/accounts", func(w http.ResponseWriter, r *http.Request) {
			var in wire.SignupRequest
			_ = json.NewDecoder(r.Body).Decode(&in)
			asked = append(asked, map[bool]string{true: "true", false: "false"}[in.Check != nil && *in.Check])
			problem(w, http.StatusUnprocessableEntity, domain.CodeInvalid)
		})
		nothing := func(context.Context) error { return nil }
		var out bytes.Buffer
		app := &App{
			Out: &out, Err: &out, Now: time.Now, Holder: func(string) string { return "" }, CheckLogin: func(string) error { return nil },
			Env: func(name string) (string, bool) {
				if name != "SLUICE_GITHUB_TOKEN" {
					return "", false
				}
				return "ghp_0123456789", true
			},
			Open: func(context.Context, ServiceOptions) (*Service, error) {
				return &Service{API: mux, Start: nothing, Close: nothing, Stopping: func() {}, Failed: make(chan struct{}), Err: func() error { return nil }}, nil
			},
		}
		args := []string{"collect", "octocat", "--data-dir", t.TempDir()}
		if flag != "" {
			args = append(args, flag)
		}
		if code := app.Run(t.Context(), args); code == exitOK || strings.Join(asked, " ") != want {
			t.Errorf("%q: it ended with %d and asked %q, want %q: %s", flag, code, asked, want, out.String())
		}
	}
}
