package engine_test

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"sluice/internal/domain"
	"sluice/internal/engine"
	sim "sluice/internal/simulator/github"
	"sluice/internal/source"
	"sluice/internal/source/github"
	"sluice/internal/state"
	"sluice/internal/verify"
	"sluice/internal/wiring"
)

// service is an engine on a store of its own.
type service struct {
	t   *testing.T
	svc *wiring.Service
	opt wiring.Options
	// raw is the store without the faults that a test wraps around it.
	raw state.Store
}

func newService(t *testing.T, src source.Source, o wiring.Options) *service {
	t.Helper()
	o.Sources = []source.Source{src}
	if o.Config.Service.DataDir == "" {
		o.Config.Service.DataDir = t.TempDir()
	}
	if o.Quota.Buckets == nil {
		o.Quota = wiring.NoQuota()
	}
	if testing.Verbose() {
		o.Engine.Log = slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn}))
	}
	s := &service{t: t}
	wrap := o.WrapState
	o.WrapState = func(store state.Store) state.Store {
		s.raw = store
		if wrap != nil {
			return wrap(store)
		}
		return store
	}
	s.opt = o
	s.open()
	return s
}

// started is newService with its engine at work.
func started(t *testing.T, src source.Source, o wiring.Options) *service {
	t.Helper()
	s := newService(t, src, o)
	s.start()
	return s
}

func (s *service) open() {
	s.t.Helper()
	svc, err := wiring.Open(s.t.Context(), s.opt)
	if err != nil {
		s.t.Fatal(err)
	}
	s.svc = svc
	// A test's own end is not to wait for calls that it left blocked.
	s.t.Cleanup(func() { _ = svc.Close(canceled(s.t)) })
}

func (s *service) start() {
	s.t.Helper()
	err := s.svc.Engine.Start(s.t.Context())
	for domain.CodeOf(err) == domain.CodeUnavailable {
		err = s.svc.Engine.Start(s.t.Context())
	}
	if err != nil {
		s.t.Fatal(err)
	}
}

// reopen ends the process, as it were, and begins the next on the same store.
func (s *service) reopen() {
	s.t.Helper()
	s.reopenAfter(0)
}

// reopenAfter is reopen with some time in between, in which nothing runs.
func (s *service) reopenAfter(d time.Duration) {
	s.t.Helper()
	if err := s.svc.Close(context.WithoutCancel(s.t.Context())); err != nil {
		s.t.Log(err)
	}
	pass(d)
	s.open()
}

func canceled(t *testing.T) context.Context {
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	cancel()
	return ctx
}

// account stores an account of the service's source without starting a run.
func (s *service) account(login string) domain.Account {
	s.t.Helper()
	a, err := s.svc.Engine.PutAccount(s.t.Context(), engine.Signup{Source: s.opt.Sources[0].Name(), Login: login, Token: "token-of-" + login})
	if err != nil {
		s.t.Fatal(err)
	}
	return a
}

func (s *service) run(a domain.Account) domain.Run {
	s.t.Helper()
	run, err := s.svc.Engine.StartRun(s.t.Context(), a.ID, domain.TriggerManual, domain.PriorityLow)
	if err != nil {
		s.t.Fatal(err)
	}
	return run
}

// until waits for what the engine announces; nothing polls.
func (s *service) until(what string, holds func() bool) {
	s.t.Helper()
	changed, end := s.svc.Engine.Watch()
	defer end()
	for !holds() {
		select {
		case <-changed:
		case <-s.t.Context().Done():
			s.t.Fatalf("%s did not come true", what)
		}
	}
}

// wait returns a run when it has ended.
func (s *service) wait(run domain.Run) domain.Run {
	s.t.Helper()
	ended := run
	seen := int64(-1)
	s.until("the end of a run", func() bool {
		// The engine speaks up for every job.
		if now := s.svc.Engine.Counters().RunsEnded.Load(); now != seen {
			seen, ended = now, s.stored(run)
		}
		return !ended.Status.Active()
	})
	return ended
}

// ends waits until the engine has counted so many ends of runs, and returns how
// many it has: it counts an end after it has stored it.
func (s *service) ends(most int64) (n int64) {
	s.t.Helper()
	s.until("the count of ended runs", func() bool {
		n = s.svc.Engine.Counters().RunsEnded.Load()
		return n >= most
	})
	return n
}

func (s *service) stored(run domain.Run) domain.Run {
	s.t.Helper()
	out, err := s.raw.Run(s.t.Context(), run.ID)
	if err != nil {
		s.t.Fatal(err)
	}
	return out
}

func (s *service) jobs(run domain.Run, statuses ...domain.JobStatus) []domain.Job {
	s.t.Helper()
	jobs, err := s.raw.Jobs(s.t.Context(), state.JobQuery{RunID: run.ID, Statuses: statuses, Limit: 100_000})
	if err != nil {
		s.t.Fatal(err)
	}
	return jobs
}

// wantCompleted checks that a run completed with this many failed jobs.
func (s *service) wantCompleted(run domain.Run, failed int64) {
	s.t.Helper()
	if run.Status != domain.RunCompleted || run.Failed != failed || run.Pending != 0 {
		s.t.Errorf("the run of %s ended %s (%q) with %d failed and %d pending jobs, want it completed with %d failed",
			run.Login, run.Status, run.Reason, run.Failed, run.Pending, failed)
	}
}

// world is a simulated GitHub with an engine that collects from it.
type world struct {
	*service
	sim *sim.Server
}

// small is a world in which an account takes about ten calls.
func small(accounts int) sim.Options {
	return sim.Options{Seed: 7, Accounts: accounts, Shape: &sim.Shape{
		Repos: sim.Exactly(2), Commits: sim.Exactly(3), Issues: sim.Exactly(3), Pulls: sim.Exactly(2),
	}}
}

// quick makes retries follow at once.
func quick() engine.Config {
	return engine.Config{BackoffBase: time.Millisecond, BackoffMax: 20 * time.Millisecond, Workers: 4}
}

// newWorld collects over loopback.
func newWorld(t *testing.T, simOptions sim.Options, o wiring.Options) *world {
	t.Helper()
	upstream := sim.New(simOptions)
	server := httptest.NewServer(upstream)
	t.Cleanup(server.Close)
	return worldOf(t, upstream, github.Options{BaseURL: server.URL}, o)
}

// newBubbleWorld collects from a simulator that is called directly, so that it
// fits into a bubble of synctest, where hours pass at once.
func newBubbleWorld(t *testing.T, simOptions sim.Options, o wiring.Options) *world {
	t.Helper()
	upstream := sim.New(simOptions)
	return worldOf(t, upstream, github.Options{BaseURL: "http://github.test", Transport: direct{upstream}}, o)
}

func worldOf(t *testing.T, upstream *sim.Server, src github.Options, o wiring.Options) *world {
	t.Helper()
	made, err := github.New(src)
	if err != nil {
		t.Fatal(err)
	}
	if o.Quota.Buckets == nil {
		o.Quota = github.Describe().Quota(0)
	}
	return &world{service: started(t, made, o), sim: upstream}
}

// bubble runs a test whose clock stands still unless everybody waits. It begins
// after everything in the simulated worlds has happened.
func bubble(t *testing.T, test func(t *testing.T)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		pass(time.Until(time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)))
		test(t)
	})
}

// pass lets time go by in a bubble.
func pass(d time.Duration) { time.Sleep(d) }

// direct carries requests to a handler without a network.
type direct struct{ handler http.Handler }

func (d direct) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.RemoteAddr = "192.0.2.1:1234"
	answer := httptest.NewRecorder()
	d.handler.ServeHTTP(answer, r)
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	return answer.Result(), nil
}

// collection is an account being collected.
type collection struct {
	account domain.Account
	run     domain.Run
}

func (w *world) signup(login string) collection {
	w.t.Helper()
	return w.signupWith(login, w.sim.Token(login))
}

// signupWith repeats a signup that the store does not take, as a person would.
func (w *world) signupWith(login, token string) collection {
	w.t.Helper()
	for {
		a, run, err := w.svc.Engine.Signup(w.t.Context(), engine.Signup{Source: "github", Login: login, Token: token})
		if err == nil || (domain.CodeOf(err) == domain.CodeConflict && run.ID != 0) {
			return collection{a, run}
		}
		if domain.CodeOf(err) != domain.CodeUnavailable {
			w.t.Fatal(err)
		}
	}
}

func (w *world) signupAll() []collection {
	w.t.Helper()
	var all []collection
	for _, login := range w.sim.Logins() {
		all = append(all, w.signup(login))
	}
	return all
}

// wantWhole checks that a collection completes and equals the truth.
func (w *world) wantWhole(c collection) domain.Run {
	w.t.Helper()
	run := w.wait(c.run)
	w.wantCompleted(run, 0)
	w.verify(c.account)
	return run
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

// wantNoWaste checks that nothing was called beyond quota and no page was paid
// for twice.
func (w *world) wantNoWaste() {
	w.t.Helper()
	audit := w.sim.Audit()
	if audit.Violations != 0 {
		w.t.Errorf("the upstream counted violations: %+v", audit)
	}
	if audit.Repeated+audit.RepeatedQueries != 0 {
		w.t.Errorf("%d pages and %d queries were paid for twice", audit.Repeated, audit.RepeatedQueries)
	}
}

// of matches requests of one login for a path.
func (w *world) of(login, path string) sim.Match {
	token, other := sim.WithToken(w.sim.Token(login)), sim.PathContains(path)
	return func(r *http.Request) bool { return token(r) && other(r) }
}

// countingStatistics stands in for the real ones and counts, per run.
type countingStatistics struct {
	engine.Statistics
	computed atomic.Int64
}

func (c *countingStatistics) Compute(context.Context, domain.Run) ([]byte, error) {
	c.computed.Add(1)
	return []byte(`{}`), nil
}

// listen opens a port of loopback, or one that was open before.
func listen(t *testing.T, address string) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func sourceAt(l net.Listener) github.Options {
	return github.Options{BaseURL: "http://" + l.Addr().String()}
}

func serve(t *testing.T, l net.Listener, h http.Handler) {
	server := &http.Server{Handler: h, ReadHeaderTimeout: time.Minute}
	go func() {
		if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
	}()
	t.Cleanup(func() { _ = server.Close() })
}
