package engine_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"sluice/internal/backend/memory"
	"sluice/internal/config"
	"sluice/internal/dispatch"
	"sluice/internal/domain"
	"sluice/internal/engine"
	"sluice/internal/engine/enginetest"
	"sluice/internal/source"
	"sluice/internal/state"
	"sluice/internal/wiring"
)

// team is several engines on one state and one dispatcher, as several
// processes would be.
type team struct {
	t     *testing.T
	first *wiring.Service // lends its stores; its engine is not started
	ports engine.Ports
}

// teamLease is short, as it runs out in real time here.
const teamLease = 300 * time.Millisecond

func newTeam(t *testing.T, src source.Source) *team {
	t.Helper()
	svc, err := wiring.Open(t.Context(), wiring.Options{Config: config.Embedded(t.TempDir()), Sources: []source.Source{src}, Quota: wiring.NoQuota()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = svc.Close(context.WithoutCancel(t.Context())) })
	m := &team{t: t, first: svc}
	m.ports = engine.Ports{
		State: state.PartsOf(svc.State), Dispatch: memory.NewDispatcher(memory.DispatcherOptions{Lease: teamLease}), Quota: svc.Quota,
		Sources: []source.Source{src}, Statistics: svc.Statistics, Vault: plainVault{},
	}
	return m
}

// plainVault is a vault without a lock: what it seals are no secrets.
type plainVault struct{}

func (plainVault) Seal(plain, _ string) (state.Sealed, error) {
	return state.Sealed{Data: []byte(plain)}, nil
}
func (plainVault) Open(s state.Sealed, _ string) (string, error) { return string(s.Data), nil }
func (plainVault) Name(secret string) string                     { return "name of " + secret }

// member is an engine that can die: from then on nothing it does has an effect.
type member struct {
	*engine.Engine
	dead *atomic.Bool
}

var errDead = domain.Errorf(domain.CodeUnavailable, "this process is dead")

// join makes another engine. change, if set, replaces some of its ports.
func (m *team) join(cfg engine.Config, change func(*engine.Ports)) *member {
	m.t.Helper()
	dead := &atomic.Bool{}
	ports := m.ports
	ports.Dispatch = &mortalDispatch{ports.Dispatch, dead}
	ports.State = state.PartsOf(&mortalState{ports.State.Runs.(state.Store), dead})
	if change != nil {
		change(&ports)
	}
	cfg.Shared, cfg.Lease, cfg.BackoffBase = true, teamLease, 20*time.Millisecond
	e, err := engine.New(ports, cfg)
	if err != nil {
		m.t.Fatal(err)
	}
	m.t.Cleanup(func() { _ = e.Stop(canceled(m.t)) })
	return &member{e, dead}
}

func (m *team) works(change func(*engine.Ports)) *member {
	m.t.Helper()
	one := m.join(engine.Config{}, change)
	if err := one.Start(m.t.Context()); err != nil {
		m.t.Fatal(err)
	}
	return one
}

func (m *team) signup(one *member, login string) domain.Run {
	m.t.Helper()
	_, run, err := one.Signup(m.t.Context(), engine.Signup{Source: m.ports.Sources[0].Name(), Login: login, Token: "token of " + login})
	if err != nil {
		m.t.Fatal(err)
	}
	return run
}

// ends waits until a member has ended a run, and returns it.
func (m *team) ends(one *member, id int64) domain.Run {
	m.t.Helper()
	changed, end := one.Watch()
	defer end()
	for {
		run, err := m.first.State.Run(m.t.Context(), id)
		if err != nil {
			m.t.Fatal(err)
		}
		if !run.Status.Active() {
			return run
		}
		select {
		case <-changed:
		case <-m.t.Context().Done():
			m.t.Fatalf("run %d is still %s", id, run.Status)
		}
	}
}

type mortalDispatch struct {
	dispatch.Dispatcher
	dead *atomic.Bool
}

func (d *mortalDispatch) Push(ctx context.Context, entries ...dispatch.Entry) error {
	if d.dead.Load() {
		return errDead
	}
	return d.Dispatcher.Push(ctx, entries...)
}

func (d *mortalDispatch) Lease(ctx context.Context, n int) ([]dispatch.Lease, error) {
	if d.dead.Load() {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return d.Dispatcher.Lease(ctx, n)
}

func (d *mortalDispatch) Renew(ctx context.Context, leases ...dispatch.Lease) ([]dispatch.Lease, error) {
	if d.dead.Load() {
		return nil, errDead
	}
	return d.Dispatcher.Renew(ctx, leases...)
}

func (d *mortalDispatch) Ack(ctx context.Context, leases ...dispatch.Lease) error {
	if d.dead.Load() {
		return errDead
	}
	return d.Dispatcher.Ack(ctx, leases...)
}

func (d *mortalDispatch) Release(ctx context.Context, l dispatch.Lease, at time.Time) error {
	if d.dead.Load() {
		return errDead
	}
	return d.Dispatcher.Release(ctx, l, at)
}

func (d *mortalDispatch) Remove(ctx context.Context, ids ...string) error {
	if d.dead.Load() {
		return errDead
	}
	return d.Dispatcher.Remove(ctx, ids...)
}

type mortalState struct {
	state.Store
	dead *atomic.Bool
}

func (s *mortalState) PlanRun(ctx context.Context, run int64, specs []domain.JobSpec) ([]domain.JobRef, error) {
	if s.dead.Load() {
		return nil, errDead
	}
	return s.Store.PlanRun(ctx, run, specs)
}

func (s *mortalState) Finish(ctx context.Context, o state.Outcome) (state.Effect, error) {
	if s.dead.Load() {
		return state.Effect{}, errDead
	}
	return s.Store.Finish(ctx, o)
}

// TestStatisticsOutliveTheirProcess: who computes a run's statistics dies, and
// another computes them.
func TestStatisticsOutliveTheirProcess(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		m := newTeam(t, &enginetest.Noop{Jobs: 5, FanOut: 5})
		computing := make(chan struct{})
		first := m.works(func(p *engine.Ports) {
			p.Statistics = statisticsFunc(func(ctx context.Context, _ domain.Run) ([]byte, error) {
				close(computing)
				<-ctx.Done()
				return nil, ctx.Err()
			})
		})
		run := m.signup(first, "octocat")
		<-computing
		first.dead.Store(true)
		second := m.works(nil)
		if run := m.ends(second, run.ID); run.Status != domain.RunCompleted {
			t.Errorf("run is %s", run.Status)
		}
	})
}

type statisticsFunc func(context.Context, domain.Run) ([]byte, error)

func (f statisticsFunc) Compute(ctx context.Context, run domain.Run) ([]byte, error) {
	return f(ctx, run)
}

// TestRequestOutlivesItsProcess: a process dies between creating a run and
// planning it.
func TestRequestOutlivesItsProcess(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		m := newTeam(t, &enginetest.Noop{Jobs: 3, FanOut: 3})
		front := m.join(engine.Config{RequestsOnly: true}, func(p *engine.Ports) {
			p.State = state.PartsOf(&diesAfterCreate{p.State.Runs.(*mortalState)})
		})
		if err := front.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		_, run, err := front.Signup(t.Context(), engine.Signup{Source: "noop", Login: "octocat", Token: "secret"})
		if err != nil || run.Status != domain.RunCreated {
			t.Fatalf("run is %s, %v", run.Status, err)
		}
		if run := m.ends(m.works(nil), run.ID); run.Status != domain.RunCompleted || run.Succeeded != 4 {
			t.Errorf("run is %+v", run)
		}
	})
}

type diesAfterCreate struct{ *mortalState }

func (s *diesAfterCreate) CreateRun(ctx context.Context, r state.RunSpec) (domain.Run, error) {
	run, err := s.Store.CreateRun(ctx, r)
	s.dead.Store(true)
	return run, err
}

// TestPaidResultIsNotPaidAgain: the store takes no results, the process that
// has one dies, and another stores it without making the call again.
func TestPaidResultIsNotPaidAgain(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		src := newItems(1)
		m := newTeam(t, src)
		results := &heldResults{by: map[int64]state.Outcome{}, kept: make(chan struct{}, 1)}
		m.ports.Results = results
		first := m.works(func(p *engine.Ports) { p.State = state.PartsOf(&takesNoResults{p.State.Runs.(*mortalState)}) })
		run := m.signup(first, "octocat")
		<-results.kept
		first.dead.Store(true)
		if run := m.ends(m.works(nil), run.ID); run.Status != domain.RunCompleted || run.Succeeded != 1 {
			t.Errorf("run is %+v", run)
		}
		src.wantEachOnce(t)
	})
}

type takesNoResults struct{ *mortalState }

func (takesNoResults) Finish(context.Context, state.Outcome) (state.Effect, error) {
	return state.Effect{}, domain.Errorf(domain.CodeUnavailable, "no room")
}

// heldResults stands in for Redis here: what is tested is when the engine keeps
// and takes, not where.
type heldResults struct {
	mu   sync.Mutex
	by   map[int64]state.Outcome
	kept chan struct{}
}

func (r *heldResults) Keep(_ context.Context, o state.Outcome) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.by[o.Job] = o
	r.kept <- struct{}{}
	return nil
}

func (r *heldResults) Take(_ context.Context, job int64) (state.Outcome, bool, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	o, ok := r.by[job]
	return o, ok, nil
}

func (r *heldResults) Drop(context.Context, ...int64) error { return errors.New("not expected here") }

// TestJobThatKillsWorkersIsGivenUp: the run completes without it.
func TestJobThatKillsWorkersIsGivenUp(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		m := newTeam(t, newItems(1))
		front := m.join(engine.Config{}, nil)
		run := m.signup(front, "octocat")
		jobs, err := m.first.State.Jobs(t.Context(), state.JobQuery{RunID: run.ID})
		if err != nil || len(jobs) != 1 {
			t.Fatal(len(jobs), err)
		}
		const most = 3
		for attempt := range int64(most + 1) {
			if err := m.first.State.Claim(t.Context(), state.Claim{Job: jobs[0].ID, Attempt: attempt, At: time.Now()}); err != nil {
				t.Fatal(err)
			}
		}
		worker := m.join(engine.Config{MaxLost: most}, nil)
		if err := worker.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		if run := m.ends(worker, run.ID); run.Failed != 1 || run.Succeeded != 0 {
			t.Errorf("run is %+v", run)
		}
		job, err := m.first.State.Job(t.Context(), jobs[0].ID)
		if err != nil || job.ErrorKind != domain.FailureLost {
			t.Errorf("job is %+v, %v", job, err)
		}
	})
}

// TestLostDispatchIsFilledAgain: of the jobs some wait, one is under way with a
// worker that is gone, one run waits to be planned and one for its statistics.
func TestLostDispatchIsFilledAgain(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		src := newItems(4)
		m := newTeam(t, src)
		front := m.join(engine.Config{}, nil)
		begun := m.signup(front, "begun")
		jobs, err := m.first.State.Jobs(t.Context(), state.JobQuery{RunID: begun.ID})
		if err != nil {
			t.Fatal(err)
		}
		if err := m.first.State.Claim(t.Context(), state.Claim{Job: jobs[0].ID, At: time.Now()}); err != nil {
			t.Fatal(err)
		}
		a, err := front.PutAccount(t.Context(), engine.Signup{Source: "script", Login: "created", Token: "t"})
		if err != nil {
			t.Fatal(err)
		}
		created, err := m.first.State.CreateRun(t.Context(), state.RunSpec{AccountID: a.ID, Trigger: domain.TriggerManual, Anchor: time.Now()})
		if err != nil {
			t.Fatal(err)
		}
		m.ports.Dispatch = memory.NewDispatcher(memory.DispatcherOptions{Lease: teamLease})
		if err := m.ports.Dispatch.Push(t.Context(), engine.OnLoss()); err != nil {
			t.Fatal(err)
		}
		worker := m.works(nil)
		for _, id := range []int64{begun.ID, created.ID} {
			if run := m.ends(worker, id); run.Status != domain.RunCompleted || run.Succeeded != 4 {
				t.Errorf("run is %+v", run)
			}
		}
	})
}

// TestOldCopyOfAnAccountMakesNoCall: a token is renewed by another process.
func TestOldCopyOfAnAccountMakesNoCall(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		var tokens []string
		src := newItems(2)
		src.Answer = func(_ context.Context, c source.Call) source.Result {
			tokens = append(tokens, c.Token)
			return source.Result{Verdict: source.Done}
		}
		m := newTeam(t, src)
		worker := m.join(engine.Config{Workers: 1}, nil)
		run := m.signup(worker, "octocat") // the worker has read the account now
		front := m.join(engine.Config{}, nil)
		if _, err := front.PutAccount(t.Context(), engine.Signup{Source: "script", Login: "octocat", Token: "renewed"}); err != nil {
			t.Fatal(err)
		}
		if err := worker.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		m.ends(worker, run.ID)
		for _, token := range tokens {
			if token != "renewed" {
				t.Errorf("a call was made with %q", token)
			}
		}
		if len(tokens) != 2 {
			t.Errorf("%d calls were made", len(tokens))
		}
	})
}
