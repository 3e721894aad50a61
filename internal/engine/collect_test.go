package engine_test

import (
	"context"
	"log/slog"
	"net/http/httptest"
	"testing"
	"time"

	"sluice/internal/domain"
	"sluice/internal/engine"
	sim "sluice/internal/simulator/github"
	"sluice/internal/source"
	"sluice/internal/source/github"
	"sluice/internal/verify"
	"sluice/internal/wiring"
)

// world is a simulated GitHub with an engine that collects from it.
type world struct {
	t   *testing.T
	sim *sim.Server
	svc *wiring.Service
	url string
	opt wiring.Options
}

func newWorld(t *testing.T, simOptions sim.Options, o wiring.Options) *world {
	t.Helper()
	w := &world{t: t, sim: sim.New(simOptions)}
	server := httptest.NewServer(w.sim)
	t.Cleanup(server.Close)
	w.url = server.URL
	src, err := github.New(github.Options{BaseURL: w.url})
	if err != nil {
		t.Fatal(err)
	}
	o.Sources = []source.Source{src}
	if o.DataDir == "" {
		o.DataDir = t.TempDir()
	}
	if o.Quota.Buckets == nil {
		o.Quota = wiring.GitHubQuota(0)
	}
	if testing.Verbose() {
		o.Engine.Log = slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn}))
	}
	w.opt = o
	w.open()
	return w
}

func (w *world) open() {
	w.t.Helper()
	svc, err := wiring.Open(w.t.Context(), w.opt)
	if err != nil {
		w.t.Fatal(err)
	}
	w.svc = svc
	w.t.Cleanup(func() { _ = svc.Close(context.WithoutCancel(w.t.Context())) })
	if err := svc.Engine.Start(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) signup(login string) (domain.Account, domain.Run) {
	w.t.Helper()
	a, run, err := w.svc.Engine.Signup(w.t.Context(), engine.Signup{Source: "github", Login: login, Token: w.sim.Token(login)})
	if err != nil {
		w.t.Fatal(err)
	}
	return a, run
}

func (w *world) wait(run domain.Run) domain.Run {
	w.t.Helper()
	ended, err := w.svc.WaitRun(w.t.Context(), run.ID)
	if err != nil {
		w.t.Fatal(err)
	}
	return ended
}

func (w *world) verify(a domain.Account) {
	w.t.Helper()
	truth, err := w.sim.Truth(a.Login, time.Time{})
	if err != nil {
		w.t.Fatal(err)
	}
	differences, err := verify.Account(w.t.Context(), w.svc.Documents, a.ID, truth)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, d := range differences {
		w.t.Errorf("%s: %s", a.Login, d)
	}
}

func TestCollectsAccountsCompletely(t *testing.T) {
	w := newWorld(t, sim.Options{Seed: 7, Accounts: 4}, wiring.Options{})
	type started struct {
		account domain.Account
		run     domain.Run
	}
	var all []started
	for _, login := range w.sim.Logins() {
		a, run := w.signup(login)
		all = append(all, started{a, run})
	}
	for _, s := range all {
		run := w.wait(s.run)
		if run.Status != domain.RunCompleted || run.Failed != 0 {
			t.Errorf("%s: run ended %s (%s) with %d failed jobs", s.account.Login, run.Status, run.Reason, run.Failed)
		}
		w.verify(s.account)
	}
	if audit := w.sim.Audit(); audit.Violations != 0 {
		t.Errorf("the upstream counted %d violations: %+v", audit.Violations, audit)
	}
}
