package engine_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"sluice/internal/domain"
	"sluice/internal/engine"
	"sluice/internal/state"
	"sluice/internal/testkit/faulty"
	"sluice/internal/wiring"
)

func TestStopFinishesWhatRunsAndHandsBackTheRest(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		g := newGated(10)
		s := started(t, g, wiring.Options{Engine: engine.Config{Workers: 2}})
		a := s.account("octocat")
		run := s.run(a)
		<-g.begun
		<-g.begun
		stopped := make(chan error, 1)
		go func() { stopped <- s.svc.Engine.Stop(t.Context()) }()
		synctest.Wait()
		close(g.leave)
		if err := <-stopped; err != nil {
			t.Errorf("the stop returned %v", err)
		}
		if n := len(g.begun); n != 0 {
			t.Errorf("%d calls were begun during the stop", n)
		}
		if done, waiting := len(s.jobs(run, domain.JobSucceeded)), len(s.jobs(run, domain.JobReady)); done != 2 || waiting != 8 {
			t.Errorf("%d jobs are done and %d wait, want 2 and 8", done, waiting)
		}
		for _, job := range s.jobs(run, domain.JobReady) {
			if job.Failures != 0 || job.Lost != 0 {
				t.Errorf("job %d was handed back with %d failures, lost %d times", job.ID, job.Failures, job.Lost)
			}
		}
		s.start()
		s.wantCompleted(s.wait(run), 0)
		if n := s.documents(a); n != 10 {
			t.Errorf("%d documents", n)
		}
	})
}

// A job that was claimed ahead, while the outcome before it was being written,
// is not called any more.
func TestStopHandsBackWhatWasClaimedAhead(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		plan := faulty.NewPlan()
		g := newGated(4)
		close(g.leave)
		s := started(t, g, wiring.Options{
			Engine:    engine.Config{Workers: 1},
			WrapState: func(s state.Store) state.Store { return faulty.NewState(s, plan) },
		})
		arrived, release := plan.Block("Finish")
		run := s.run(s.account("octocat"))
		<-arrived
		synctest.Wait()
		if n := len(s.jobs(run, domain.JobRunning)); n != 2 {
			t.Fatalf("%d jobs are claimed", n)
		}
		stopped := make(chan error, 1)
		go func() { stopped <- s.svc.Engine.Stop(t.Context()) }()
		synctest.Wait()
		release()
		if err := <-stopped; err != nil {
			t.Errorf("the stop returned %v", err)
		}
		if done, waiting := len(s.jobs(run, domain.JobSucceeded)), len(s.jobs(run, domain.JobReady)); done != 1 || waiting != 3 || len(g.begun) != 1 {
			t.Errorf("%d jobs are done by %d calls and %d wait, want 1 and 3", done, len(g.begun), waiting)
		}
	})
}

func TestStopGivesUpInTheEnd(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		g := newGated(10)
		s := started(t, g, wiring.Options{Engine: engine.Config{Workers: 2, StopTimeout: 7 * time.Second}})
		run := s.run(s.account("octocat"))
		<-g.begun
		<-g.begun
		began := time.Now()
		err := s.svc.Engine.Stop(t.Context())
		if err == nil || !strings.Contains(err.Error(), "repeated at the next start") {
			t.Errorf("the stop returned %v", err)
		}
		if took := time.Since(began); took != 7*time.Second {
			t.Errorf("the stop took %s", took)
		}
		if n := len(s.jobs(run, domain.JobSucceeded)); n != 0 {
			t.Errorf("%d jobs are done without an answer", n)
		}
		close(g.leave)
		s.reopen()
		s.start()
		s.wantCompleted(s.wait(run), 0)
		if calls := len(g.begun); calls != 10 {
			t.Errorf("%d calls after the restart", calls)
		}
	})
}

func TestSecondStopIsImmediate(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		g := newGated(3)
		s := started(t, g, wiring.Options{Engine: engine.Config{Workers: 1, StopTimeout: time.Hour}})
		s.run(s.account("octocat"))
		<-g.begun
		first := make(chan error, 1)
		began := time.Now()
		go func() { first <- s.svc.Engine.Stop(t.Context()) }()
		pass(time.Second)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := s.svc.Engine.Stop(ctx); err == nil || !strings.Contains(err.Error(), "at once") {
			t.Errorf("the second stop returned %v", err)
		}
		<-first
		if took := time.Since(began); took != time.Second {
			t.Errorf("both stops took %s", took)
		}
	})
}

func TestStartAndStopTwice(t *testing.T) {
	t.Parallel()
	src := newItems(20)
	s := newService(t, src, wiring.Options{})
	e := s.svc.Engine
	if err := e.Stop(t.Context()); err != nil {
		t.Errorf("a stop before the start: %v", err)
	}
	for range 2 {
		if err := e.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	s.wantCompleted(s.wait(s.run(s.account("octocat"))), 0)
	src.wantEachOnce(t)
	for range 2 {
		if err := e.Stop(t.Context()); err != nil {
			t.Errorf("a stop: %v", err)
		}
	}
	if err := e.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.wantCompleted(s.wait(s.run(s.account("hubot"))), 0)
}
