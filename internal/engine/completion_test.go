package engine_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"sluice/internal/domain"
	"sluice/internal/engine"
	"sluice/internal/engine/enginetest"
	"sluice/internal/source"
	"sluice/internal/state"
	"sluice/internal/testkit"
	"sluice/internal/testkit/faulty"
	"sluice/internal/wiring"
)

// tree is a source whose jobs lead to others by the throw of dice: what a job
// leads to depends on its name alone, so that repeating it changes nothing.
type tree struct {
	*enginetest.Noop
	seed uint64

	mu    sync.Mutex
	tries map[string]int
	done  map[string]int
}

func newTree(seed uint64) *tree {
	return &tree{seed: seed, Noop: &enginetest.Noop{}, tries: map[string]int{}, done: map[string]int{}}
}

func (f *tree) Plan(run domain.Run) ([]domain.JobSpec, error) {
	return []domain.JobSpec{enginetest.Item("NODE", run.Login+"/0"), enginetest.Item("NODE", run.Login+"/1")}, nil
}

func (f *tree) Call(_ context.Context, c source.Call) source.Result {
	f.mu.Lock()
	defer f.mu.Unlock()
	name := c.Job.Resource
	hash := f.seed
	for _, b := range []byte(name) {
		hash = hash*1099511628211 + uint64(b)
	}
	dice := rand.New(rand.NewPCG(f.seed, hash))
	f.tries[name]++
	if f.tries[name] <= dice.IntN(3) {
		return source.Result{Verdict: source.Retry, Failure: &domain.Failure{Kind: domain.FailureServer, Message: "not yet"}}
	}
	f.done[name]++
	r := source.Result{Verdict: source.Done}
	if depth := strings.Count(name, "/"); depth < 5 {
		for i := range dice.IntN(4) {
			r.Next = append(r.Next, enginetest.Item("NODE", fmt.Sprint(name, "/", i)))
		}
	}
	return r
}

func TestRandomTreesCompleteOnce(t *testing.T) {
	t.Parallel()
	src := newTree(testkit.Seed(t))
	statistics := &countingStatistics{}
	cfg := quick()
	cfg.Workers = 16
	s := started(t, src, wiring.Options{Engine: cfg, Statistics: statistics})
	const accounts = 5
	var runs []domain.Run
	for i := range accounts {
		runs = append(runs, s.run(s.account(fmt.Sprint("octocat-", i))))
	}
	jobs := 0
	for _, run := range runs {
		ended := s.wait(run)
		s.wantCompleted(ended, 0)
		if ended.Known != ended.Succeeded || ended.Succeeded != int64(len(s.jobs(run))) {
			t.Errorf("run %d knew of %d jobs, did %d and has %d", run.ID, ended.Known, ended.Succeeded, len(s.jobs(run)))
		}
		jobs += int(ended.Succeeded)
	}
	if len(src.done) != jobs {
		t.Errorf("%d nodes were collected by %d jobs", len(src.done), jobs)
	}
	for name, n := range src.done {
		if n != 1 {
			t.Errorf("%s was collected %d times", name, n)
		}
	}
	if n := statistics.computed.Load(); n != accounts {
		t.Errorf("statistics were computed %d times for %d runs", n, accounts)
	}
	if n := s.ends(accounts); n != accounts {
		t.Errorf("%d ends of %d runs", n, accounts)
	}
}

// failingStatistics fail a number of times and note when they were asked for.
type failingStatistics struct {
	failures int
	asked    []time.Time
}

func (f *failingStatistics) Compute(context.Context, domain.Run) ([]byte, error) {
	f.asked = append(f.asked, time.Now())
	if len(f.asked) <= f.failures {
		return nil, errors.New("division by zero")
	}
	return []byte(`{"score":1}`), nil
}

// delays are the times between two tries.
func (f *failingStatistics) delays() []time.Duration {
	var out []time.Duration
	for i := 1; i < len(f.asked); i++ {
		out = append(out, f.asked[i].Sub(f.asked[i-1]))
	}
	return out
}

func TestStatisticsAreRetried(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		statistics := &failingStatistics{failures: 3}
		s := started(t, newItems(2), wiring.Options{Statistics: statistics})
		a := s.account("octocat")
		run := s.run(a)
		s.wantCompleted(s.wait(run), 0)
		want := []time.Duration{time.Minute, 2 * time.Minute, 4 * time.Minute}
		if got := statistics.delays(); !slices.Equal(got, want) {
			t.Errorf("the tries were %s apart", got)
		}
		data, found, err := s.raw.AccountStatistics(t.Context(), a.ID)
		if err != nil || !found || string(data) != `{"score":1}` {
			t.Errorf("stored statistics %s, %v, error %v", data, found, err)
		}
	})
}

func TestStatisticsAreGivenUp(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		statistics := &failingStatistics{failures: 1 << 30}
		s := started(t, newItems(2), wiring.Options{Statistics: statistics})
		a := s.account("octocat")
		run := s.wait(s.run(a))
		if run.Status != domain.RunFailed || run.Reason != "statistics could not be computed: division by zero" {
			t.Errorf("the run ended %s with reason %q", run.Status, run.Reason)
		}
		if len(statistics.asked) != 8 {
			t.Errorf("they were tried %d times", len(statistics.asked))
		}
		if n := s.svc.Engine.Counters().StatisticsGivenUp.Load(); n != 1 {
			t.Errorf("%d runs are counted as given up", n)
		}
		// The account is free for another run.
		s.run(a)
	})
}

func TestCancelWhileStatisticsWait(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		statistics := &failingStatistics{failures: 1}
		s := started(t, newItems(1), wiring.Options{Statistics: statistics})
		run := s.run(s.account("octocat"))
		pass(time.Second)
		if status := s.stored(run).Status; status != domain.RunFinalizing {
			t.Fatalf("the run is %s", status)
		}
		if _, err := s.svc.Engine.CancelRun(t.Context(), run.ID, "enough"); err != nil {
			t.Fatal(err)
		}
		pass(time.Hour)
		if run := s.stored(run); run.Status != domain.RunCanceled || run.Reason != "enough" {
			t.Errorf("the canceled run became %s: %s", run.Status, run.Reason)
		}
		if n := s.svc.Engine.Counters().RunsEnded.Load(); n != 1 {
			t.Errorf("it ended %d times", n)
		}
	})
}

// slowStatistics take their time.
type slowStatistics struct{ countingStatistics }

func (s *slowStatistics) Compute(ctx context.Context, run domain.Run) ([]byte, error) {
	pass(time.Second)
	return s.countingStatistics.Compute(ctx, run)
}

// The answer to one job's outcome is lost; another job closes the run; then the
// first is told that the run is closed, too.
func TestRunReportedClosedTwice(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		plan := faulty.NewPlan()
		src := &enginetest.Script{Roots: []domain.JobSpec{enginetest.Item("FIRST", "a"), enginetest.Item("SECOND", "b")}}
		src.Answer = func(_ context.Context, c source.Call) source.Result {
			if c.Job.Type == "SECOND" {
				pass(10 * time.Millisecond)
			}
			return source.Result{Verdict: source.Done}
		}
		statistics := &slowStatistics{}
		s := started(t, src, wiring.Options{
			Engine: engine.Config{Workers: 2}, Statistics: statistics,
			WrapState: func(s state.Store) state.Store { return faulty.NewState(s, plan) },
		})
		plan.FailAfter("Finish", 1)
		s.wantCompleted(s.wait(s.run(s.account("octocat"))), 0)
		pass(time.Minute)
		if n, ended := statistics.computed.Load(), s.svc.Engine.Counters().RunsEnded.Load(); n != 1 || ended != 1 || plan.Calls("Finish") != 3 {
			t.Errorf("statistics were computed %d times, the run ended %d times after %d outcomes", n, ended, plan.Calls("Finish"))
		}
	})
}

// A failed job that is retried closes its run a second time.
func TestRunCompletesAgainAfterRetry(t *testing.T) {
	t.Parallel()
	healed := false
	src := &enginetest.Script{Roots: []domain.JobSpec{enginetest.Item("A", "a"), enginetest.Item("B", "b")}}
	var mu sync.Mutex
	src.Answer = func(_ context.Context, c source.Call) source.Result {
		mu.Lock()
		defer mu.Unlock()
		if c.Job.Type == "B" && !healed {
			return source.Result{Verdict: source.Fail, Failure: &domain.Failure{Kind: domain.FailureInvalid, Message: "no such thing"}}
		}
		return source.Result{Verdict: source.Done}
	}
	statistics := &countingStatistics{}
	s := started(t, src, wiring.Options{Engine: engine.Config{Workers: 2}, Statistics: statistics})
	run := s.wait(s.run(s.account("octocat")))
	s.wantCompleted(run, 1)
	mu.Lock()
	healed = true
	mu.Unlock()
	if _, err := s.svc.Engine.RetryJob(t.Context(), s.jobs(run, domain.JobFailed)[0].ID); err != nil {
		t.Fatal(err)
	}
	again := s.wait(run)
	s.wantCompleted(again, 0)
	if again.Succeeded != 2 || again.Known != 2 || statistics.computed.Load() != 2 {
		t.Errorf("%d of %d jobs succeeded, statistics were computed %d times", again.Succeeded, again.Known, statistics.computed.Load())
	}
}
