package engine_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	driver "zombiezen.com/go/sqlite"

	"sluice/internal/backend/sqlite"
	"sluice/internal/domain"
	"sluice/internal/engine"
	"sluice/internal/engine/enginetest"
	"sluice/internal/source"
	"sluice/internal/state"
	"sluice/internal/testkit"
	"sluice/internal/wiring"
)

// items plans n jobs and counts how often each is called.
type items struct {
	*enginetest.Script
	mu     sync.Mutex
	called map[string]int
}

func newItems(n int) *items {
	s := &items{called: map[string]int{}}
	s.Script = &enginetest.Script{Answer: func(_ context.Context, c source.Call) source.Result {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.called[c.Job.Resource]++
		return source.Result{Verdict: source.Done}
	}}
	for i := range n {
		s.Roots = append(s.Roots, enginetest.Item("ITEM", fmt.Sprint("item:", i)))
	}
	return s
}

// wantEachOnce checks that every job was called exactly once.
func (s *items) wantEachOnce(t *testing.T) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.called) != len(s.Roots) {
		t.Errorf("%d of %d jobs were called", len(s.called), len(s.Roots))
	}
	for resource, n := range s.called {
		if n != 1 {
			t.Errorf("%s was called %d times", resource, n)
		}
	}
}

// created leaves a run as a process would that died right after creating it.
func (s *service) created(login string) domain.Run {
	s.t.Helper()
	run, err := s.raw.CreateRun(s.t.Context(), state.RunSpec{
		AccountID: s.account(login).ID, Trigger: domain.TriggerManual, Priority: domain.PriorityLow, Anchor: time.Now(),
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return run
}

// planned leaves a run whose jobs were created and not dispatched.
func (s *service) planned(login string, specs []domain.JobSpec) (domain.Run, []domain.JobRef) {
	s.t.Helper()
	run := s.created(login)
	refs, err := s.raw.PlanRun(s.t.Context(), run.ID, specs)
	if err != nil {
		s.t.Fatal(err)
	}
	return run, refs
}

// claimed begins a job, as a worker that is gone.
func (s *service) claimed(id int64) domain.Job {
	s.t.Helper()
	job, err := s.raw.Job(s.t.Context(), id)
	if err != nil {
		s.t.Fatal(err)
	}
	if err := s.raw.Claim(s.t.Context(), state.Claim{Job: id, Attempt: job.Attempt, At: time.Now()}); err != nil {
		s.t.Fatal(err)
	}
	job.Attempt++
	return job
}

func TestRecoversInterruptedPlanning(t *testing.T) {
	t.Parallel()
	for _, status := range []domain.RunStatus{domain.RunCreated, domain.RunPlanning} {
		t.Run(status.String(), func(t *testing.T) {
			src := newItems(5)
			s := newService(t, src, wiring.Options{})
			run := s.created("octocat")
			err := s.svc.DB.Write(t.Context(), func(c *driver.Conn) error {
				return sqlite.Exec(c, "UPDATE run SET status = ? WHERE id = ?", nil, int64(status), run.ID)
			})
			if err != nil || s.stored(run).Status != status {
				t.Fatalf("the run is %s, error %v", s.stored(run).Status, err)
			}
			s.reopen()
			s.start()
			s.wantCompleted(s.wait(run), 0)
			src.wantEachOnce(t)
		})
	}
}

func TestRecoversJobsWithoutWorker(t *testing.T) {
	t.Parallel()
	src := newItems(5)
	s := newService(t, src, wiring.Options{})
	run, refs := s.planned("octocat", src.Roots)
	lost := s.claimed(refs[0].ID)
	done := s.claimed(refs[1].ID)
	if _, err := s.raw.Finish(t.Context(), state.Outcome{Job: done.ID, Attempt: done.Attempt, To: domain.JobSucceeded}); err != nil {
		t.Fatal(err)
	}
	src.called["item:1"] = 1 // by the worker that is gone
	s.reopen()
	s.start()
	s.wantCompleted(s.wait(run), 0)
	src.wantEachOnce(t)
	jobs := s.jobs(run)
	if jobs[0].ID != lost.ID || jobs[0].Lost != 1 || jobs[0].Failures != 0 {
		t.Errorf("the job without worker was lost %d times and failed %d times", jobs[0].Lost, jobs[0].Failures)
	}
	// The worker was only slow: its result comes too late.
	_, err := s.raw.Finish(t.Context(), state.Outcome{Job: lost.ID, Attempt: lost.Attempt, To: domain.JobFailed})
	if domain.CodeOf(err) != domain.CodeStale {
		t.Errorf("a late result was taken: %v", err)
	}
}

func TestRecoversMissingStatistics(t *testing.T) {
	t.Parallel()
	src := newItems(1)
	statistics := &countingStatistics{}
	s := newService(t, src, wiring.Options{Statistics: statistics})
	run, refs := s.planned("octocat", src.Roots)
	job := s.claimed(refs[0].ID)
	if _, err := s.raw.Finish(t.Context(), state.Outcome{Job: job.ID, Attempt: job.Attempt, To: domain.JobSucceeded}); err != nil {
		t.Fatal(err)
	}
	if status := s.stored(run).Status; status != domain.RunFinalizing {
		t.Fatalf("the run is %s", status)
	}
	s.reopen()
	s.start()
	s.wantCompleted(s.wait(run), 0)
	if statistics.computed.Load() != 1 || len(src.called) != 0 {
		t.Errorf("%d statistics and %d calls", statistics.computed.Load(), len(src.called))
	}
}

func TestPoisonousJobIsGivenUp(t *testing.T) {
	t.Parallel()
	src := newItems(2)
	const maxLost = 3
	s := newService(t, src, wiring.Options{Engine: engine.Config{MaxLost: maxLost}})
	run, refs := s.planned("octocat", src.Roots)
	for range maxLost {
		s.claimed(refs[0].ID)
		if n, _, err := s.raw.RecoverRunning(t.Context(), maxLost); err != nil || n != 1 {
			t.Fatalf("%d jobs recovered, error %v", n, err)
		}
	}
	s.claimed(refs[0].ID)
	s.reopen()
	s.start()
	s.wantCompleted(s.wait(run), 1)
	failed := s.jobs(run, domain.JobFailed)
	if len(failed) != 1 || failed[0].ID != refs[0].ID || failed[0].ErrorKind != domain.FailureLost || failed[0].Error == "" {
		t.Errorf("these jobs failed: %+v", failed)
	}
	if src.called["item:0"] != 0 || src.called["item:1"] != 1 {
		t.Errorf("calls: %v", src.called)
	}
}

// A job that is poisonous on its own closes its run at the very start.
func TestPoisonousLastJob(t *testing.T) {
	t.Parallel()
	src := newItems(1)
	s := newService(t, src, wiring.Options{Engine: engine.Config{MaxLost: 1}})
	run, refs := s.planned("octocat", src.Roots)
	s.claimed(refs[0].ID)
	if _, _, err := s.raw.RecoverRunning(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	s.claimed(refs[0].ID)
	s.reopen()
	s.start()
	s.wantCompleted(s.wait(run), 1)
}

func TestRebuildsManyWaitingJobs(t *testing.T) {
	t.Parallel()
	jobs := testkit.Effort(1_500, 10_000)
	g := newGated(jobs)
	s := newService(t, g, wiring.Options{Engine: engine.Config{Workers: 2}})
	run, refs := s.planned("octocat", g.Roots)
	if len(refs) != jobs {
		t.Fatalf("%d jobs were planned", len(refs))
	}
	s.reopen()
	s.start()
	<-g.begun
	stats, err := s.svc.Dispatch.Stats(t.Context())
	if err != nil || stats.Ready+stats.Due+stats.Leased != jobs {
		t.Errorf("dispatch was rebuilt to %+v, error %v", stats, err)
	}
	if run := s.stored(run); run.Pending != int64(jobs) || run.Status != domain.RunRunning {
		t.Errorf("the run is %s with %d pending jobs", run.Status, run.Pending)
	}
}

// A start that fails can be made again.
func TestFailedStartCanBeRepeated(t *testing.T) {
	t.Parallel()
	src := newItems(3)
	var broken atomic.Bool
	s := newService(t, src, wiring.Options{WrapState: func(store state.Store) state.Store { return &brokenWaiting{store, &broken} }})
	run, _ := s.planned("octocat", src.Roots)
	broken.Store(true)
	for range 2 {
		if err := s.svc.Engine.Start(t.Context()); domain.CodeOf(err) != domain.CodeUnavailable {
			t.Fatalf("the start returned %v", err)
		}
	}
	broken.Store(false)
	s.start()
	s.wantCompleted(s.wait(run), 0)
	src.wantEachOnce(t)
}

// brokenWaiting fails after half of what waits.
type brokenWaiting struct {
	state.Store
	broken *atomic.Bool
}

func (b *brokenWaiting) Waiting(ctx context.Context, fn func(domain.JobRef) error) error {
	n := 0
	return b.Store.Waiting(ctx, func(ref domain.JobRef) error {
		if n++; b.broken.Load() && n > 1 {
			return domain.Errorf(domain.CodeUnavailable, "injected: the list of waiting jobs ended early")
		}
		return fn(ref)
	})
}
