package engine_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"sluice/internal/dispatch"
	"sluice/internal/domain"
	"sluice/internal/engine"
	"sluice/internal/engine/enginetest"
	"sluice/internal/source"
	"sluice/internal/state"
	"sluice/internal/testkit/faulty"
	"sluice/internal/wiring"
)

func failed(kind domain.FailureKind, message string) *domain.Failure {
	return &domain.Failure{Kind: kind, Message: message}
}

// A job is retried after it failed and before dispatch has heard of that: the
// retry's entry is ignored, as the job is leased, and must not be lost.
func TestRetryBeforeTheFailureIsAcknowledged(t *testing.T) {
	t.Parallel()
	plan := faulty.NewPlan()
	tries, other := atomic.Int64{}, make(chan struct{})
	src := &enginetest.Script{Roots: []domain.JobSpec{enginetest.Item("FAILS", "a"), enginetest.Item("OTHER", "b")}}
	src.Answer = func(_ context.Context, c source.Call) source.Result {
		if c.Job.Type == "OTHER" {
			<-other // keeps the run from closing
			return source.Result{Verdict: source.Done}
		}
		if tries.Add(1) == 1 {
			return source.Result{Verdict: source.Fail, Failure: failed(domain.FailureInvalid, "no")}
		}
		return source.Result{Verdict: source.Done}
	}
	s := started(t, src, wiring.Options{WrapDispatch: func(d dispatch.Dispatcher) dispatch.Dispatcher { return faulty.NewDispatch(d, plan) }})
	arrived, release := plan.Block("Ack")
	run := s.run(s.account("octocat"))
	<-arrived
	job := s.jobs(run, domain.JobFailed)[0]
	if _, err := s.svc.Engine.RetryJob(t.Context(), job.ID); err != nil {
		t.Fatal(err)
	}
	release()
	s.until("the second try", func() bool { return len(s.jobs(run, domain.JobSucceeded)) == 1 })
	close(other)
	s.wantCompleted(s.wait(run), 0)
}

// The same with an account that is resumed while its last 401 is being put
// away.
func TestResumeBeforeThePauseIsAcknowledged(t *testing.T) {
	t.Parallel()
	plan := faulty.NewPlan()
	src := &enginetest.Script{Roots: []domain.JobSpec{enginetest.Item("A", "a")}}
	src.Answer = func(_ context.Context, c source.Call) source.Result {
		if c.Token != "good" {
			return source.Result{Verdict: source.PauseAccount, Failure: failed(domain.FailureCredential, "401")}
		}
		return source.Result{Verdict: source.Done}
	}
	s := started(t, src, wiring.Options{WrapDispatch: func(d dispatch.Dispatcher) dispatch.Dispatcher { return faulty.NewDispatch(d, plan) }})
	arrived, release := plan.Block("Ack")
	run := s.run(s.account("octocat"))
	<-arrived
	if _, err := s.svc.Engine.PutAccount(t.Context(), engine.Signup{Source: "script", Login: "octocat", Token: "good"}); err != nil {
		t.Fatal(err)
	}
	release()
	s.wantCompleted(s.wait(run), 0)
}

// Of two calls with a bad token the second is answered after the token was
// renewed: that answer is about the old one.
func TestLateRefusalOfARenewedToken(t *testing.T) {
	t.Parallel()
	begun, second := make(chan struct{}), make(chan struct{})
	src := &enginetest.Script{Roots: []domain.JobSpec{enginetest.Item("FIRST", "a"), enginetest.Item("SECOND", "b")}}
	src.Answer = func(_ context.Context, c source.Call) source.Result {
		if c.Token == "good" {
			return source.Result{Verdict: source.Done}
		}
		// The first refusal would keep the second call from being made.
		if c.Job.Type == "SECOND" {
			close(begun)
			<-second
		} else {
			<-begun
		}
		return source.Result{Verdict: source.PauseAccount, Failure: failed(domain.FailureCredential, "401")}
	}
	s := started(t, src, wiring.Options{Engine: engine.Config{Workers: 2}})
	a := s.account("octocat")
	run := s.run(a)
	s.until("the pause", func() bool { return len(s.jobs(run, domain.JobPaused)) == 1 })
	if _, err := s.svc.Engine.PutAccount(t.Context(), engine.Signup{Source: "script", Login: "octocat", Token: "good"}); err != nil {
		t.Fatal(err)
	}
	close(second)
	s.wantCompleted(s.wait(run), 0)
	if a, err := s.raw.Account(t.Context(), a.ID); err != nil || a.State != domain.AccountActive {
		t.Errorf("the account is %s: %s, error %v", a.State, a.Reason, err)
	}
}

// While the upstream cannot be reached, its lane is tried by a few, not by
// everybody who waits in it.
func TestOutageIsProbedByFew(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		var tries atomic.Int64
		var back atomic.Bool
		src := &enginetest.Script{}
		for i := range 300 {
			src.Roots = append(src.Roots, enginetest.Item("ITEM", fmt.Sprint("item:", i)))
		}
		src.Answer = func(context.Context, source.Call) source.Result {
			if back.Load() {
				return source.Result{Verdict: source.Done}
			}
			tries.Add(1)
			return source.Result{Verdict: source.Retry, Free: true, Failure: failed(domain.FailureConnection, "connection refused")}
		}
		s := started(t, src, wiring.Options{Engine: engine.Config{Workers: 2}})
		run := s.run(s.account("octocat"))
		pass(10 * time.Minute)
		// 0.5, 1, 2 … 32, 60, 60 … seconds apart, and a worker may be one job ahead.
		if n, most := tries.Load(), int64(20*2*2*s.opt.Engine.Workers); n == 0 || n > most {
			t.Errorf("%d calls were tried in ten minutes without an upstream, want at most %d", n, most)
		}
		back.Store(true)
		s.wantCompleted(s.wait(run), 0)
		for _, job := range s.jobs(run) {
			if job.Failures != 0 {
				t.Errorf("job %d counts %d failures", job.ID, job.Failures)
			}
		}
	})
}

// lateAnswer holds back the answer to the first completion of a run.
type lateAnswer struct {
	state.Store
	once sync.Once
	gate chan struct{}
}

func (l *lateAnswer) CompleteRun(ctx context.Context, run int64, statistics []byte) (domain.Run, error) {
	out, err := l.Store.CompleteRun(ctx, run, statistics)
	l.once.Do(func() { <-l.gate })
	return out, err
}

// A run is complete, a job of it is retried and closes it again, and only then
// does the engine hear that it was complete.
func TestRetryBeforeTheCompletionIsHeardOf(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		var tries atomic.Int64
		src := &enginetest.Script{Roots: []domain.JobSpec{enginetest.Item("A", "a")}}
		src.Answer = func(context.Context, source.Call) source.Result {
			if tries.Add(1) == 1 {
				return source.Result{Verdict: source.Fail, Failure: failed(domain.FailureInvalid, "no")}
			}
			return source.Result{Verdict: source.Done}
		}
		late := &lateAnswer{gate: make(chan struct{})}
		s := started(t, src, wiring.Options{WrapState: func(store state.Store) state.Store {
			late.Store = store
			return late
		}})
		run := s.run(s.account("octocat"))
		pass(time.Second)
		s.wantCompleted(s.stored(run), 1)
		if _, err := s.svc.Engine.RetryJob(t.Context(), s.jobs(run)[0].ID); err != nil {
			t.Fatal(err)
		}
		pass(time.Second)
		if status := s.stored(run).Status; status != domain.RunFinalizing {
			t.Fatalf("the run is %s", status)
		}
		close(late.gate)
		pass(time.Second)
		s.wantCompleted(s.stored(run), 0)
	})
}
