// Package apitest runs a whole service for tests of the HTTP API and its
// client: a simulated GitHub, an engine on SQLite, and the API on a real
// server.
package apitest

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"sluice/internal/catalogue"
	"sluice/internal/config"
	"sluice/internal/domain"
	"sluice/internal/engine"
	"sluice/internal/engine/enginetest"
	"sluice/internal/httpapi"
	"sluice/internal/metrics"
	githubsim "sluice/internal/simulator/github"
	"sluice/internal/source"
	"sluice/internal/source/github"
	"sluice/internal/wiring"
)

// Options configures a Service.
type Options struct {
	// APIToken guards the API if set.
	APIToken string
	// Audit replaces the audit log, if set.
	Audit func(httpapi.AuditLog) httpapi.AuditLog
	// OnCall decides the calls of accounts at the source "noop"; nil lets all
	// succeed.
	OnCall func(source.Call) (source.Result, bool)
	// NoopJobs is how many calls a run of such an account makes beside its
	// first; 3 if zero.
	NoopJobs int
}

// Service is a running service.
type Service struct {
	*wiring.Service
	URL       string
	GitHub    *githubsim.Server
	Lifecycle *httpapi.Lifecycle
	// Log is everything logged so far, at every level.
	Log *Log
}

// Start runs a service until the test ends.
func Start(t testing.TB, o Options) *Service {
	t.Helper()
	shape := &githubsim.Shape{
		Repos: githubsim.Exactly(2), Commits: githubsim.Exactly(3), Issues: githubsim.Exactly(2), Pulls: githubsim.Exactly(1),
	}
	s := &Service{
		GitHub:    githubsim.New(githubsim.Options{Seed: 7, Accounts: 3, Shape: shape}),
		Lifecycle: httpapi.NewLifecycle(),
		Log:       &Log{},
	}
	upstream := httptest.NewServer(s.GitHub)
	t.Cleanup(upstream.Close)
	log := slog.New(slog.NewTextHandler(s.Log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	s.Service = openEngine(t, o, upstream.URL, log)
	s.Lifecycle.Ready()

	scraped, err := metrics.New(metrics.Sources{
		Engine: s.Engine, State: s.State, Dispatch: s.Dispatch, Quota: s.Quota, SQL: s.DB,
	}, log)
	if err != nil {
		t.Fatal(err)
	}
	var audit httpapi.AuditLog = s.Audit
	if o.Audit != nil {
		audit = o.Audit(audit)
	}
	handler := httpapi.New(httpapi.Deps{
		Orchestrator: s.Engine, Observer: s.Engine, Reader: s.State, Quota: s.Quota,
		Statistics: s.Statistics, Documents: s.Documents, Feed: s.Feed, Finder: s.Finder, Lister: s.Lister, Queries: s.Queries, Sources: []source.Description{github.Describe(), {Name: "noop", Title: "Noop"}}, Catalogue: s.Catalogue(),
		Metrics: scraped, Keys: s.Keys, Lifecycle: s.Lifecycle, Log: log, Tokens: s.Tokens, Audit: audit,
	}, httpapi.Options{APIToken: o.APIToken, Version: "test"})
	server := httptest.NewUnstartedServer(nil)
	server.Config = httpapi.NewServer(handler, log)
	server.Start()
	t.Cleanup(func() {
		s.Lifecycle.Stopping()
		server.Close()
	})
	s.URL = server.URL
	return s
}

// Catalogue lists the sources of the service, and takes more.
func (s *Service) Catalogue() *catalogue.Catalogue {
	return catalogue.New(catalogue.Options{
		Records: s.Records, BuiltIn: []source.Description{github.Describe()}, Room: s.Room,
		Accounts: func(ctx context.Context) (map[string]int, error) {
			all, err := s.State.Accounts(ctx)
			n := map[string]int{}
			for _, a := range all {
				n[a.Source]++
			}
			return n, err
		},
	})
}

func openEngine(t testing.TB, o Options, upstream string, log *slog.Logger) *wiring.Service {
	t.Helper()
	gh, err := github.New(github.Options{BaseURL: upstream})
	if err != nil {
		t.Fatal(err)
	}
	jobs := o.NoopJobs
	if jobs == 0 {
		jobs = 3
	}
	settings := config.Embedded(t.TempDir())
	settings.HTTP.Token = o.APIToken
	w, err := wiring.Open(t.Context(), wiring.Options{
		Config: settings, Holder: "test",
		Sources: []source.Source{gh, &enginetest.Noop{Jobs: jobs, FanOut: 10, OnCall: o.OnCall}},
		Quota:   github.Describe().Quota(0),
		Engine:  engine.Config{Workers: 4, Log: log},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Engine.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return w
}

// Signup names one of the simulated accounts with its token.
func (s *Service) Signup(n int) engine.Signup {
	login := s.GitHub.Logins()[n]
	return engine.Signup{Source: "github", Login: login, Token: s.GitHub.Token(login)}
}

// patience is how long a run of a test may take on a busy machine.
const patience = time.Minute

// Wait blocks until a run has ended, and returns it.
func (s *Service) Wait(t testing.TB, run int64) domain.Run {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	ended, err := s.WaitRun(ctx, run)
	if err != nil {
		log := s.Log.String()
		t.Fatalf("run %d: %v; the log ends with:\n%s", run, err, log[max(0, len(log)-2000):])
	}
	return ended
}

// Authorize adds a bearer token to every request.
type Authorize struct{ Token string }

// RoundTrip implements http.RoundTripper.
func (a Authorize) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+a.Token)
	return http.DefaultTransport.RoundTrip(r)
}

// Log keeps what is logged.
type Log struct {
	mu   sync.Mutex
	text strings.Builder
}

// Write implements io.Writer.
func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

// String returns everything logged so far.
func (l *Log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}
