package engine_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"sluice/internal/dispatch"
	"sluice/internal/document"
	"sluice/internal/document/documenttest"
	"sluice/internal/domain"
	"sluice/internal/engine"
	"sluice/internal/engine/enginetest"
	"sluice/internal/source"
	"sluice/internal/wiring"
)

// gated is a source whose calls wait for leave. Each call shows itself first.
type gated struct {
	*enginetest.Script
	begun chan source.Call
	leave chan struct{}
}

// newGated plans n jobs; a call that is let go brings one document.
func newGated(n int) *gated {
	g := &gated{begun: make(chan source.Call, 4*n), leave: make(chan struct{})}
	g.Script = &enginetest.Script{Answer: func(ctx context.Context, c source.Call) source.Result {
		g.begun <- c
		select {
		case <-g.leave:
		case <-ctx.Done():
			return source.Result{Verdict: source.Wait}
		}
		return source.Result{Verdict: source.Done, Items: 1, Documents: []document.Document{{
			Key: document.Key{Account: c.Run.AccountID, Kind: documenttest.KindEvent, Name: c.Job.Resource}, Version: c.Run.Anchor, Raw: []byte("{}"),
		}}}
	}}
	for i := range n {
		g.Roots = append(g.Roots, enginetest.Item("GATED", fmt.Sprint("item:", i)))
	}
	return g
}

func (s *service) documents(a domain.Account) int64 {
	s.t.Helper()
	counts, err := s.svc.Documents.Count(s.t.Context(), a.ID)
	if err != nil {
		s.t.Fatal(err)
	}
	n := int64(0)
	for _, c := range counts {
		n += c
	}
	return n
}

func TestOneActiveRunPerAccount(t *testing.T) {
	t.Parallel()
	g := newGated(1)
	s := started(t, g, wiring.Options{})
	a := s.account("octocat")
	const callers = 50
	runs, errs := make([]domain.Run, callers), make([]error, callers)
	var wg sync.WaitGroup
	for i := range callers {
		wg.Go(func() {
			runs[i], errs[i] = s.svc.Engine.StartRun(t.Context(), a.ID, domain.TriggerManual, domain.PriorityHigh)
		})
	}
	wg.Wait()
	won := 0
	for i := range callers {
		switch {
		case errs[i] == nil:
			won++
		case domain.CodeOf(errs[i]) != domain.CodeConflict:
			t.Errorf("a start was refused with %v", errs[i])
		}
		if runs[i].ID != runs[0].ID {
			t.Errorf("there are runs %d and %d", runs[0].ID, runs[i].ID)
		}
	}
	if won != 1 {
		t.Errorf("%d of %d starts won", won, callers)
	}
	close(g.leave)
	s.wantCompleted(s.wait(runs[0]), 0)
	if len(g.begun) != 1 {
		t.Errorf("%d calls were made for one job", len(g.begun))
	}
	if again := s.run(a); again.ID == runs[0].ID {
		t.Error("after its end no other run begins")
	}
}

func TestCancelDropsResults(t *testing.T) {
	t.Parallel()
	g := newGated(10)
	s := started(t, g, wiring.Options{Engine: engine.Config{Workers: 2}})
	a := s.account("octocat")
	run := s.run(a)
	<-g.begun
	<-g.begun
	if _, err := s.svc.Engine.CancelRun(t.Context(), run.ID, "enough"); err != nil {
		t.Fatal(err)
	}
	before := s.stored(run)
	close(g.leave)
	if err := s.svc.Engine.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	after := s.stored(run)
	if after != before || after.Status != domain.RunCanceled || after.Reason != "enough" || after.Canceled != 10 {
		t.Errorf("the canceled run became %+v from %+v", after, before)
	}
	if n := s.documents(a); n != 0 {
		t.Errorf("%d results were stored after the end", n)
	}
	if n := len(g.begun); n != 0 {
		t.Errorf("%d calls were begun after the end", n)
	}
	if _, err := s.svc.Engine.CancelRun(t.Context(), run.ID, "again"); err != nil {
		t.Errorf("a second cancel: %v", err)
	}
}

func TestPauseAndResume(t *testing.T) {
	t.Parallel()
	g := newGated(10)
	s := started(t, g, wiring.Options{Engine: engine.Config{Workers: 2}})
	a := s.account("octocat")
	run := s.run(a)
	<-g.begun
	<-g.begun
	if err := s.svc.Engine.PauseAccount(t.Context(), a.ID, "on holiday"); err != nil {
		t.Fatal(err)
	}
	g.leave <- struct{}{}
	g.leave <- struct{}{}
	// Up to two more had been claimed ahead.
	close(g.leave)
	s.until("the pause", func() bool {
		return len(s.jobs(run, domain.JobReady, domain.JobRunning)) == 0
	})
	paused := s.jobs(run, domain.JobPaused)
	if n := len(paused); n < 6 {
		t.Errorf("%d jobs are paused", n)
	}
	p, err := s.svc.Engine.Progress(t.Context(), s.stored(run))
	if err != nil || len(p.Waits) != 1 || p.Waits[0].Reason != "on holiday" {
		t.Errorf("the progress says %+v, error %v", p.Waits, err)
	}
	if err := s.svc.Engine.ResumeAccount(t.Context(), a.ID); err != nil {
		t.Fatal(err)
	}
	s.wantCompleted(s.wait(run), 0)
	if n := s.documents(a); n != 10 {
		t.Errorf("%d documents were stored", n)
	}
}

// pushes notes what dispatch was given.
type pushes struct {
	dispatch.Dispatcher
	mu   sync.Mutex
	seen []dispatch.Entry
}

func (p *pushes) Push(ctx context.Context, entries ...dispatch.Entry) error {
	p.mu.Lock()
	p.seen = append(p.seen, entries...)
	p.mu.Unlock()
	return p.Dispatcher.Push(ctx, entries...)
}

func TestPriorityReachesDispatch(t *testing.T) {
	t.Parallel()
	notes := &pushes{}
	s := started(t, &enginetest.Noop{Jobs: 3, FanOut: 3}, wiring.Options{WrapDispatch: func(d dispatch.Dispatcher) dispatch.Dispatcher {
		notes.Dispatcher = d
		return notes
	}})
	a := s.account("octocat")
	for _, priority := range []domain.Priority{domain.PriorityHigh, domain.PriorityLow} {
		notes.mu.Lock()
		notes.seen = nil
		notes.mu.Unlock()
		run, err := s.svc.Engine.StartRun(t.Context(), a.ID, domain.TriggerSchedule, priority)
		if err != nil {
			t.Fatal(err)
		}
		s.wantCompleted(s.wait(run), 0)
		notes.mu.Lock()
		jobs := slices.DeleteFunc(notes.seen, func(e dispatch.Entry) bool { return !strings.HasPrefix(e.ID, "job:") })
		if len(jobs) != 4 {
			t.Errorf("%d jobs were dispatched", len(jobs))
		}
		for _, e := range jobs {
			if e.Priority != priority {
				t.Errorf("a job of a %s run was dispatched as %s", priority, e.Priority)
			}
		}
		notes.mu.Unlock()
	}
}

func TestBadInputIsRefusedBeforeAnyCall(t *testing.T) {
	t.Parallel()
	w := newWorld(t, small(1), wiring.Options{})
	e, ctx := w.svc.Engine, t.Context()
	for _, bad := range []engine.Signup{
		{Source: "gitlab", Login: "octocat", Token: "t"},
		{Source: "github", Login: "octocat", Token: ""},
		{Source: "github", Login: "", Token: "t"},
		{Source: "github", Login: "not a login", Token: "t"},
		{Source: "github", Login: "-dash", Token: "t"},
		{Source: "github", Login: "../../etc", Token: "t"},
	} {
		if _, _, err := e.Signup(ctx, bad); domain.CodeOf(err) != domain.CodeInvalid {
			t.Errorf("signup %q at %q: %v", bad.Login, bad.Source, err)
		}
	}
	accounts, err := w.raw.Accounts(ctx)
	if err != nil || len(accounts) != 0 {
		t.Errorf("%d accounts were stored, error %v", len(accounts), err)
	}
	if _, err := e.StartRun(ctx, 4711, domain.TriggerManual, domain.PriorityLow); domain.CodeOf(err) != domain.CodeNotFound {
		t.Errorf("a run of an unknown account: %v", err)
	}
	login := w.sim.Logins()[0]
	a, err := e.PutAccount(ctx, engine.Signup{Source: "github", Login: login, Token: w.sim.Token(login)})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.StartRun(ctx, a.ID, "cron", domain.PriorityLow); domain.CodeOf(err) != domain.CodeInvalid {
		t.Errorf("an unknown trigger: %v", err)
	}
	if _, err := e.CancelRun(ctx, 4711, ""); domain.CodeOf(err) != domain.CodeNotFound {
		t.Errorf("canceling an unknown run: %v", err)
	}
	if _, err := e.RetryJob(ctx, 4711); domain.CodeOf(err) != domain.CodeNotFound {
		t.Errorf("retrying an unknown job: %v", err)
	}
	if n := w.sim.Audit().Calls; n != 0 {
		t.Errorf("%d calls were made", n)
	}
}
