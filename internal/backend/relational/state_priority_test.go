package relational_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"sluice/internal/backend/relational"
	"sluice/internal/domain"
	"sluice/internal/state"
	"sluice/internal/testkit"
)

// TestPriorityThatAnotherProcessChanged: a process that remembers the old one
// notices, does not hand it on, and is quick again afterwards.
func TestPriorityThatAnotherProcessChanged(t *testing.T) {
	t.Parallel()
	eachServer(t, testPriorityThatAnotherProcessChanged)
}

func testPriorityThatAnotherProcessChanged(t *testing.T, on server) {
	url := on.fresh(t)
	worker, other := mustOpenState(t, url).State, mustOpenState(t, url).State
	refs := claimed(t, worker, "octocat", 3)
	if _, err := other.SetRunPriority(t.Context(), refs[0].RunID, domain.PriorityLow); err != nil {
		t.Fatalf("priority: %v", err)
	}
	finish := func(ref domain.JobRef, attempt int64, quick uint64) []domain.JobRef {
		t.Helper()
		before := worker.QuickGroups()
		o := success(ref, attempt)
		o.Next = []domain.JobSpec{{Type: "NEXT", Resource: fmt.Sprint(ref.ID), Bucket: "core", Class: domain.ClassChild}}
		e, err := worker.Finish(t.Context(), o)
		if err != nil || len(e.Created) != 1 || e.Created[0].Priority != domain.PriorityLow {
			t.Fatalf("finish: %+v, %v", e, err)
		}
		if got := worker.QuickGroups() - before; got != quick {
			t.Errorf("%d quick groups, want %d", got, quick)
		}
		return e.Created
	}
	next := finish(refs[0], 1, 0)
	if err := worker.Claim(t.Context(), state.Claim{Job: next[0].ID, At: time.Now()}); err != nil {
		t.Fatalf("claim: %v", err)
	}
	finish(next[0], 1, 1)
	if _, err := worker.Load(t.Context(), ids(refs)); err != nil {
		t.Fatalf("load: %v", err)
	}
	finish(refs[1], 1, 1)
	wantSound(t, other, refs[0].RunID)
}

// TestPriorityChangesWhileOthersFinish: everything that is left of the run has
// the new priority, whatever another process was committing at that moment.
func TestPriorityChangesWhileOthersFinish(t *testing.T) {
	t.Parallel()
	eachServer(t, testPriorityChangesWhileOthersFinish)
}

func testPriorityChangesWhileOthersFinish(t *testing.T, on server) {
	url := on.fresh(t)
	worker, other := mustOpenState(t, url).State, mustOpenState(t, url).State
	for round := range testkit.Effort(8, 80) {
		refs := claimed(t, worker, fmt.Sprintf("user-%d", round), 20)
		run := refs[0].RunID
		var all sync.WaitGroup
		all.Go(func() { finishWithNext(t, worker, refs) })
		all.Go(func() {
			if _, err := other.SetRunPriority(t.Context(), run, domain.PriorityLow); err != nil {
				t.Errorf("priority: %v", err)
			}
		})
		all.Wait()
		jobs, err := other.Jobs(t.Context(), state.JobQuery{RunID: run, Limit: 1000})
		if err != nil {
			t.Fatalf("jobs: %v", err)
		}
		for _, j := range jobs {
			if !j.Status.Ended() && j.Priority != domain.PriorityLow {
				t.Fatalf("round %d: job %d (%s %s) has priority %s", round, j.ID, j.Type, j.Resource, j.Priority)
			}
		}
		wantSound(t, other, run)
	}
}

// TestTwoProcessesResumeAndFailARun again and again at the same time: its
// counters stay those of its jobs, and nothing of a FAILED run waits.
func TestTwoProcessesResumeAndFailARun(t *testing.T) {
	t.Parallel()
	eachServer(t, testTwoProcessesResumeAndFailARun)
}

func testTwoProcessesResumeAndFailARun(t *testing.T, on server) {
	url := on.fresh(t)
	stores := [2]*relational.State{mustOpenState(t, url).State, mustOpenState(t, url).State}
	refs := planned(t, stores[0], "octocat", 10)
	run := refs[0].RunID
	for round := range testkit.Effort(8, 80) {
		var all sync.WaitGroup
		for i, s := range stores {
			all.Go(func() {
				_, err := s.ResumeRun(t.Context(), run, domain.Priority(1+round%2), nil)
				if i == 0 && err == nil {
					_, err = s.FailRun(t.Context(), run, "no answer")
				}
				if err != nil {
					t.Errorf("round %d: %v", round, err)
				}
			})
		}
		all.Wait()
		if got := wantSound(t, stores[1], run); got.Pending+got.Canceled != int64(len(refs)) || got.Status != domain.RunRunning && got.Status != domain.RunFailed {
			t.Fatalf("round %d: the run is %s with %+v", round, got.Status, got.RunCounts)
		}
	}
}
