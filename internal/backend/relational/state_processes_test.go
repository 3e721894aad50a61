package relational_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"sluice/internal/backend/relational"
	"sluice/internal/domain"
	"sluice/internal/state"
	"sluice/internal/state/statetest"
	"sluice/internal/testkit"
)

// stateTwins are two processes on one database that take turns.
type stateTwins struct {
	*relational.State
	other *relational.State
	turn  atomic.Int64
}

func (t *stateTwins) next() *relational.State {
	if t.turn.Add(1)%2 == 0 {
		return t.other
	}
	return t.State
}

func (t *stateTwins) Claim(ctx context.Context, c state.Claim) error { return t.next().Claim(ctx, c) }

func (t *stateTwins) Finish(ctx context.Context, o state.Outcome) (state.Effect, error) {
	return t.next().Finish(ctx, o)
}

func (t *stateTwins) PutAccount(ctx context.Context, a state.AccountSpec) (domain.Account, error) {
	return t.next().PutAccount(ctx, a)
}

func (t *stateTwins) CreateRun(ctx context.Context, r state.RunSpec) (domain.Run, error) {
	return t.next().CreateRun(ctx, r)
}

func (t *stateTwins) PutQuotaWindow(ctx context.Context, w domain.QuotaWindow) error {
	return t.next().PutQuotaWindow(ctx, w)
}

func (t *stateTwins) SetAccountState(ctx context.Context, id int64, to domain.AccountState, reason string) ([]domain.JobRef, error) {
	return t.next().SetAccountState(ctx, id, to, reason)
}

func (t *stateTwins) ResumeRun(ctx context.Context, run int64, p domain.Priority, kinds []domain.FailureKind) ([]domain.JobRef, error) {
	return t.next().ResumeRun(ctx, run, p, kinds)
}

func (t *stateTwins) SetRunPriority(ctx context.Context, run int64, p domain.Priority) ([]domain.JobRef, error) {
	return t.next().SetRunPriority(ctx, run, p)
}

func (t *stateTwins) PlanHarvest(ctx context.Context, h domain.Harvest) error {
	return t.next().PlanHarvest(ctx, h)
}

// TestStateConformanceOfTwoProcesses: everything that one process promises, two
// processes promise that do half of it each.
func TestStateConformanceOfTwoProcesses(t *testing.T) {
	t.Parallel()
	someServer(t, testStateConformanceOfTwoProcesses)
}

func testStateConformanceOfTwoProcesses(t *testing.T, on server) {
	var pair func(t *testing.T, url string) *statetest.Instance
	pair = func(t *testing.T, url string) *statetest.Instance {
		one, two := mustOpenState(t, url), mustOpenState(t, url)
		return &statetest.Instance{
			Store: &stateTwins{State: one.State, other: two.State}, Documents: two.docs,
			Reopen: func(t *testing.T) *statetest.Instance { return pair(t, url) },
		}
	}
	statetest.Run(t, statetest.Factory{New: func(t *testing.T) *statetest.Instance { return pair(t, on.fresh(t)) }})
}

// claimed plans jobs and claims them.
func claimed(tb testing.TB, s *relational.State, login string, n int) []domain.JobRef {
	tb.Helper()
	refs := planned(tb, s, login, n)
	crowd(refs, func(_ int, ref domain.JobRef) {
		if err := s.Claim(tb.Context(), state.Claim{Job: ref.ID, At: time.Now()}); err != nil {
			tb.Errorf("claim: %v", err)
		}
	})
	return refs
}

// wantSound checks that a run's counters are those of its jobs, and that
// nothing is left of a run that has ended.
func wantSound(t *testing.T, s *relational.State, id int64) domain.Run {
	t.Helper()
	run, err := s.Run(t.Context(), id)
	if err != nil {
		t.Fatalf("run: %v", err)
	}
	jobs, err := s.Jobs(t.Context(), state.JobQuery{RunID: id, Limit: 1 << 20})
	if err != nil {
		t.Fatalf("jobs: %v", err)
	}
	var c domain.RunCounts
	for _, j := range jobs {
		c.Calls += j.Attempt
		switch j.Status {
		case domain.JobSucceeded:
			c.Succeeded++
		case domain.JobFailed:
			c.Failed++
		case domain.JobCanceled:
			c.Canceled++
		default:
			c.Pending++
		}
	}
	c.Known, c.Documents = run.Known, run.Documents
	if c != run.RunCounts || (run.Status != domain.RunRunning && c.Pending != 0) {
		t.Errorf("run %d is %s and says %+v; its jobs say %+v", id, run.Status, run.RunCounts, c)
	}
	return run
}

// TestTwoProcessesFinishTheLastTwoJobs at the same time, again and again: one
// of them closes the run.
func TestTwoProcessesFinishTheLastTwoJobs(t *testing.T) {
	t.Parallel()
	eachServer(t, testTwoProcessesFinishTheLastTwoJobs)
}

func testTwoProcessesFinishTheLastTwoJobs(t *testing.T, on server) {
	url := on.fresh(t)
	stores := [2]*relational.State{mustOpenState(t, url).State, mustOpenState(t, url).State}
	for round := range testkit.Effort(30, 400) {
		refs := claimed(t, stores[0], fmt.Sprintf("user-%d", round), 2)
		var closed atomic.Int64
		crowd(refs, func(i int, ref domain.JobRef) {
			e, err := stores[i].Finish(t.Context(), state.Outcome{Job: ref.ID, Attempt: 1, At: time.Now(), To: domain.JobSucceeded})
			if err != nil {
				t.Errorf("finish: %v", err)
			}
			if e.Closed != nil {
				closed.Add(1)
			}
		})
		run := wantSound(t, stores[1], refs[0].RunID)
		if closed.Load() != 1 || run.Status != domain.RunFinalizing {
			t.Fatalf("round %d: closed %d times, the run is %s", round, closed.Load(), run.Status)
		}
	}
}

func TestTwoProcessesClaimTheSameJobs(t *testing.T) {
	t.Parallel()
	eachServer(t, testTwoProcessesClaimTheSameJobs)
}

func testTwoProcessesClaimTheSameJobs(t *testing.T, on server) {
	url := on.fresh(t)
	stores := [2]*relational.State{mustOpenState(t, url).State, mustOpenState(t, url).State}
	refs := planned(t, stores[0], "octocat", 300)
	won := make([]atomic.Int64, len(refs))
	var all sync.WaitGroup
	for _, s := range stores {
		all.Go(func() {
			crowd(refs, func(i int, ref domain.JobRef) {
				err := s.Claim(t.Context(), state.Claim{Job: ref.ID, At: time.Now()})
				if err == nil {
					won[i].Add(1)
				} else if domain.CodeOf(err) != domain.CodeStale {
					t.Errorf("claim: %v", err)
				}
			})
		})
	}
	all.Wait()
	for i := range won {
		if won[i].Load() != 1 {
			t.Errorf("job %d was won %d times", refs[i].ID, won[i].Load())
		}
	}
	wantSound(t, stores[0], refs[0].RunID)
}

// finishWithNext finishes jobs, each of which leads to others or waits again.
func finishWithNext(t *testing.T, s *relational.State, refs []domain.JobRef) {
	crowd(refs, func(i int, ref domain.JobRef) {
		o := state.Outcome{Job: ref.ID, Attempt: 1, At: time.Now(), To: domain.JobSucceeded}
		o.Next = []domain.JobSpec{
			{Type: "NEXT", Resource: fmt.Sprint(i), Bucket: "core", Class: domain.ClassChild},
			{Type: "NEXT", Resource: fmt.Sprint("shared ", i%3), Bucket: "core", Class: domain.ClassChild},
		}
		if i%4 == 0 {
			o.To, o.Next = domain.JobReady, nil
		}
		if _, err := s.Finish(t.Context(), o); err != nil && domain.CodeOf(err) != domain.CodeStale {
			t.Errorf("finish: %v", err)
		}
	})
}

// TestPauseWhileOthersFinish: when an account is paused nothing of it waits,
// whatever another process was committing at that moment.
func TestPauseWhileOthersFinish(t *testing.T) {
	t.Parallel()
	eachServer(t, testPauseWhileOthersFinish)
}

func testPauseWhileOthersFinish(t *testing.T, on server) {
	url := on.fresh(t)
	worker, other := mustOpenState(t, url).State, mustOpenState(t, url).State
	for round := range testkit.Effort(8, 80) {
		refs := claimed(t, worker, fmt.Sprintf("user-%d", round), 20)
		var all sync.WaitGroup
		all.Go(func() { finishWithNext(t, worker, refs) })
		all.Go(func() {
			if _, err := other.SetAccountState(t.Context(), refs[0].AccountID, domain.AccountPaused, "on request"); err != nil {
				t.Errorf("pause: %v", err)
			}
		})
		all.Wait()
		err := other.Waiting(t.Context(), func(ref domain.JobRef) error { return fmt.Errorf("job %d waits", ref.ID) })
		if err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		wantSound(t, other, refs[0].RunID)
		if _, err := other.CancelRun(t.Context(), refs[0].RunID, "the round is over"); err != nil {
			t.Fatalf("cancel: %v", err)
		}
	}
}

// TestEndARunWhileOthersFinish: nothing is left of a run that was ended, and
// its counters are right, whatever another process was committing.
func TestEndARunWhileOthersFinish(t *testing.T) {
	t.Parallel()
	eachServer(t, testEndARunWhileOthersFinish)
}

func testEndARunWhileOthersFinish(t *testing.T, on server) {
	url := on.fresh(t)
	worker, other := mustOpenState(t, url).State, mustOpenState(t, url).State
	for round := range testkit.Effort(8, 80) {
		refs := claimed(t, worker, fmt.Sprintf("user-%d", round), 20)
		last := refs[len(refs)-1]
		var all sync.WaitGroup
		all.Go(func() { finishWithNext(t, worker, refs[:len(refs)-1]) })
		all.Go(func() {
			var err error
			if round%2 == 0 {
				_, err = other.CancelRun(t.Context(), last.RunID, "enough")
			} else {
				_, err = other.Finish(t.Context(), state.Outcome{Job: last.ID, Attempt: 1, At: time.Now(), To: domain.JobFailed, FailRun: "no such user"})
			}
			if err != nil {
				t.Errorf("end: %v", err)
			}
		})
		all.Wait()
		if run := wantSound(t, other, last.RunID); run.Status.Active() {
			t.Errorf("round %d: the run is %s", round, run.Status)
		}
	}
}
