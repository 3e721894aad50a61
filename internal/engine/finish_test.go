package engine_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"sluice/internal/domain"
	"sluice/internal/engine"
	"sluice/internal/wiring"
)

// TestGivenUpStatisticsAreComputedOnResume, without a call.
func TestGivenUpStatisticsAreComputedOnResume(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		var mended atomic.Bool
		src := newItems(3)
		s := started(t, src, wiring.Options{Engine: quick(), Statistics: statisticsFunc(func(context.Context, domain.Run) ([]byte, error) {
			if mended.Load() {
				return []byte("{}"), nil
			}
			return nil, errors.New("no memory")
		})})
		run := s.wait(s.run(s.account("octocat")))
		if run.Status != domain.RunFailed || !strings.Contains(run.Reason, "no memory") {
			t.Fatalf("the run ended %s: %s", run.Status, run.Reason)
		}
		mended.Store(true)
		if _, err := s.svc.Engine.ResumeRun(t.Context(), run.ID, domain.PriorityHigh); err != nil {
			t.Fatal(err)
		}
		s.wantCompleted(s.wait(run), 0)
		src.wantEachOnce(t)
	})
}

// TestStatisticsFollowEachOther: nobody waits for longer than those before him
// take.
func TestStatisticsFollowEachOther(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		const runs, each = 30, 50 * time.Millisecond
		release := make(chan struct{})
		src := newItems(1)
		s := started(t, src, wiring.Options{Engine: engine.Config{Workers: 4}, Statistics: statisticsFunc(func(context.Context, domain.Run) ([]byte, error) {
			<-release
			time.Sleep(each)
			return []byte("{}"), nil
		})})
		var all []domain.Run
		for i := range runs {
			all = append(all, s.run(s.account(fmt.Sprintf("login-%d", i))))
		}
		pass(time.Minute)
		began := time.Now()
		close(release)
		for _, run := range all {
			s.wantCompleted(s.wait(run), 0)
		}
		if took := time.Since(began); took > 2*runs*each {
			t.Errorf("%d statistics of %v each took %v", runs, each, took)
		}
	})
}

// TestStatisticsHoldNoPlaceOfOthers: while those of one run are computed, more
// runs than there are places wait for theirs, and calls are made all the same.
func TestStatisticsHoldNoPlaceOfOthers(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		computing, release := make(chan struct{}, 1), make(chan struct{})
		src := newItems(1)
		s := started(t, src, wiring.Options{Engine: engine.Config{Workers: 2}, Statistics: statisticsFunc(func(context.Context, domain.Run) ([]byte, error) {
			select {
			case computing <- struct{}{}:
			default:
			}
			<-release
			return []byte("{}"), nil
		})})
		runs := []domain.Run{s.run(s.account("first"))}
		<-computing
		for _, login := range []string{"a", "b", "c", "d", "e", "f"} {
			run := s.run(s.account(login))
			runs = append(runs, run)
			s.until("its call", func() bool { return s.stored(run).Status == domain.RunFinalizing })
		}
		close(release)
		for _, run := range runs {
			s.wantCompleted(s.wait(run), 0)
		}
	})
}

// TestOldJobsAreDeleted when the next run of their account ends.
func TestOldJobsAreDeleted(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		s := started(t, newItems(3), wiring.Options{Engine: quick()})
		a := s.account("octocat")
		first := s.wait(s.run(a))
		s.reopenAfter(29 * 24 * time.Hour)
		s.start()
		second := s.wait(s.run(a))
		if n := len(s.jobs(first)); n != 3 {
			t.Errorf("%d jobs are left after 29 days", n)
		}
		pass(2 * 24 * time.Hour)
		s.wait(s.run(a))
		pass(time.Second) // they go after the run has ended
		if n := len(s.jobs(first)); n != 0 {
			t.Errorf("%d jobs are left after 31 days", n)
		}
		if n := len(s.jobs(second)); n != 3 {
			t.Errorf("%d jobs of the second run are left after two days", n)
		}
		lines, err := s.raw.Summary(t.Context(), first.ID)
		if err != nil || len(lines) != 1 || lines[0].Stored != 3 {
			t.Errorf("the summary is %+v, %v", lines, err)
		}
	})
}

// TestOldJobsAreDeletedAtTheStart, though their account has no further run.
func TestOldJobsAreDeletedAtTheStart(t *testing.T) {
	t.Parallel()
	for name, keep := range map[string]time.Duration{"by default": 0, "for ever": -1} {
		bubble(t, func(t *testing.T) {
			o := wiring.Options{Engine: quick()}
			o.Engine.Retention = keep
			s := started(t, newItems(3), o)
			a := s.account("octocat")
			first := s.wait(s.run(a))
			newest := s.wait(s.run(a))
			s.reopenAfter(31 * 24 * time.Hour)
			s.start()
			pass(time.Second)
			left := 0
			if keep < 0 {
				left = 3
			}
			if n := len(s.jobs(first)); n != left {
				t.Errorf("%s: %d jobs are left after 31 days", name, n)
			}
			if n := len(s.jobs(newest)); n != 3 {
				t.Errorf("%s: %d jobs of the newest run are left", name, n)
			}
		})
	}
}
