package engine_test

import (
	"context"
	"sync/atomic"
	"testing"

	"sluice/internal/backend/redis"
	"sluice/internal/dispatch"
	"sluice/internal/domain"
	"sluice/internal/engine"
	"sluice/internal/source"
	"sluice/internal/state"
	"sluice/internal/testkit"
)

// onEveryDispatcher runs a test of a team on each dispatcher that can be shared.
func onEveryDispatcher(t *testing.T, test func(t *testing.T, m *team)) {
	t.Run("memory", func(t *testing.T) {
		t.Parallel()
		test(t, newTeam(t, newItems(2)))
	})
	t.Run("redis", func(t *testing.T) {
		t.Parallel()
		m := newTeam(t, newItems(2))
		m.ports.Dispatch = redisDispatch(t)
		test(t, m)
	})
}

func redisDispatch(t *testing.T) dispatch.Dispatcher {
	t.Helper()
	db, err := redis.Open(t.Context(), redis.Options{URL: testkit.Redis(t), Prefix: testkit.Prefix(t)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	d, err := redis.NewDispatcher(t.Context(), db, redis.DispatcherOptions{Lease: teamLease, OnLead: engine.OnLead})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.Close)
	return d
}

// failBoth collects an account whose two jobs fail, and returns them. From then
// on they succeed.
func (m *team) failBoth(one *member) (domain.Run, []domain.Job) {
	m.t.Helper()
	var mended atomic.Bool
	m.ports.Sources[0].(*items).Answer = func(context.Context, source.Call) source.Result {
		if mended.Load() {
			return source.Result{Verdict: source.Done}
		}
		return source.Result{Verdict: source.Fail, Failure: &domain.Failure{Kind: domain.FailureInvalid, Message: "no"}}
	}
	run := m.ends(one, m.signup(one, "octocat").ID)
	mended.Store(true)
	jobs, err := m.first.State.Jobs(m.t.Context(), state.JobQuery{RunID: run.ID, Statuses: []domain.JobStatus{domain.JobFailed}})
	if err != nil || len(jobs) != 2 {
		m.t.Fatalf("%d failed jobs, %v", len(jobs), err)
	}
	return run, jobs
}

// diesAfterRetry dies when the state has brought a job back and dispatch has
// not heard of it. Before, it lets others do something.
type diesAfterRetry struct {
	*mortalState
	meanwhile func()
}

func (s *diesAfterRetry) RetryJob(ctx context.Context, id int64) (domain.JobRef, error) {
	ref, err := s.Store.RetryJob(ctx, id)
	s.meanwhile()
	s.dead.Store(true)
	return ref, err
}

// TestNoteOfARequestIsItsOwn: of two requests about one account the first is
// completed while the second is under way; then the second one's process dies.
func TestNoteOfARequestIsItsOwn(t *testing.T) {
	t.Parallel()
	onEveryDispatcher(t, func(t *testing.T, m *team) {
		worker := m.works(nil)
		run, jobs := m.failBoth(worker)
		front := m.join(engine.Config{RequestsOnly: true}, func(p *engine.Ports) {
			p.State = state.PartsOf(&diesAfterRetry{p.State.Runs.(*mortalState), func() {
				if _, err := worker.RetryJob(t.Context(), jobs[0].ID); err != nil {
					t.Error(err)
				}
			}})
		})
		_, _ = front.RetryJob(t.Context(), jobs[1].ID) // its process is dead
		if run := m.ends(worker, run.ID); run.Status != domain.RunCompleted || run.Succeeded != 2 || run.Failed != 0 {
			t.Errorf("run is %+v", run)
		}
	})
}

// TestStartReconcilesWhatNobodyNoted: a job waits in the state that dispatch
// does not know, and nothing says so.
func TestStartReconcilesWhatNobodyNoted(t *testing.T) {
	t.Parallel()
	onEveryDispatcher(t, func(t *testing.T, m *team) {
		first := m.works(nil)
		run, jobs := m.failBoth(first)
		for _, job := range jobs {
			if _, err := m.first.State.RetryJob(t.Context(), job.ID); err != nil {
				t.Fatal(err)
			}
		}
		_ = first.Stop(canceled(t))
		if run := m.ends(m.works(nil), run.ID); run.Status != domain.RunCompleted || run.Succeeded != 2 {
			t.Errorf("run is %+v", run)
		}
	})
}

// TestLeaderReconcilesWhatNobodyNoted, without any process that starts.
func TestLeaderReconcilesWhatNobodyNoted(t *testing.T) {
	t.Parallel()
	m := newTeam(t, newItems(2))
	queue := redisDispatch(t)
	m.ports.Dispatch = queue
	worker := m.works(nil)
	run, jobs := m.failBoth(worker)
	for _, job := range jobs {
		if _, err := m.first.State.RetryJob(t.Context(), job.ID); err != nil {
			t.Fatal(err)
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- queue.(*redis.Dispatcher).Schedule(ctx) }()
	if run := m.ends(worker, run.ID); run.Status != domain.RunCompleted || run.Succeeded != 2 {
		t.Errorf("run is %+v", run)
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
