package wiring_test

import (
	"context"
	"log/slog"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sluice/internal/client"
	"sluice/internal/config"
	"sluice/internal/domain"
	"sluice/internal/engine"
	"sluice/internal/engine/enginetest"
	"sluice/internal/httpapi"
	"sluice/internal/source"
	"sluice/internal/source/github"
	"sluice/internal/testkit"
	"sluice/internal/wiring"
)

func TestMain(m *testing.M) { os.Exit(testkit.Main(m)) }

// TestRedisThatHangs: a Redis that keeps its connections and answers nothing.
// Who looks at a run is told what the state knows, and why the rest is unknown;
// and the service stops in the time it has.
func TestRedisThatHangs(t *testing.T) {
	t.Parallel()
	server := testkit.StartRedis(t)
	key := filepath.Join(t.TempDir(), "sluice.key")
	if err := os.WriteFile(key, []byte(strings.Repeat("ab", 32)), 0o600); err != nil {
		t.Fatal(err)
	}
	calling, answer := make(chan struct{}, 1), make(chan struct{})
	src := &enginetest.Noop{Jobs: 50, FanOut: 5, OnCall: func(source.Call) (source.Result, bool) {
		select {
		case calling <- struct{}{}:
		default:
		}
		<-answer
		return source.Result{}, false
	}}
	svc, err := wiring.Open(t.Context(), wiring.Options{
		Config:  config.Config{Servers: config.Servers{State: testkit.SQL(t), Redis: server.URL(), KeyFile: key}},
		Sources: []source.Source{src}, Quota: github.Describe().Quota(0), Engine: engine.Config{Workers: 4, StopTimeout: 5 * time.Second},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := svc.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, run, err := svc.Engine.Signup(t.Context(), engine.Signup{Source: src.Name(), Login: "octocat", Token: "token"})
	if err != nil {
		t.Fatal(err)
	}
	<-calling
	server.Pause()
	defer server.Continue()

	progress, err := svc.Engine.Progress(t.Context(), run)
	if err != nil || len(progress.Waits) != 1 || !strings.Contains(progress.Waits[0].Reason, "unknown") {
		t.Errorf("progress is %+v, %v", progress, err)
	}
	if err := svc.Check(t.Context()); domain.CodeOf(err) != domain.CodeUnavailable {
		t.Errorf("the check says %v", err)
	}
	// Whoever asks over HTTP is answered, too.
	api := httptest.NewServer(httpapi.New(httpapi.Deps{
		Orchestrator: svc.Engine, Observer: svc.Engine, Reader: svc.State, Quota: svc.Quota, Keys: svc.Keys, Lifecycle: httpapi.NewLifecycle(),
		Log: slog.New(slog.DiscardHandler),
	}, httpapi.Options{Version: "test"}))
	defer api.Close()
	seen, err := client.New(api.URL, "", nil)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := seen.Run(t.Context(), run.ID, false); err != nil || got.ID != run.ID || len(got.Waits) != 1 || !strings.Contains(got.Waits[0].Reason, "unknown") {
		t.Errorf("over HTTP the run is %+v, %v", got, err)
	}
	close(answer)

	began := time.Now()
	_ = svc.Close(context.WithoutCancel(t.Context())) // it may say that calls were given up
	// Calls have five seconds, and each server that does not answer has its own limit.
	if took := time.Since(began); took > time.Minute {
		t.Errorf("stopping took %v", took)
	}
}
