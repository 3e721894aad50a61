package engine_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"sluice/internal/dispatch"
	"sluice/internal/domain"
	"sluice/internal/engine"
	"sluice/internal/source"
	"sluice/internal/state"
	"sluice/internal/testkit"
	"sluice/internal/testkit/faulty"
	"sluice/internal/wiring"
)

// everySix has a run every six hours, so that one too many or one that is lost
// cannot be overlooked.
const everySix = `{"spread":"0s","every":"6h"}`

// wantTurns checks that an account had one run in each turn of six hours, with
// some delay if something broke.
func wantTurns(t *testing.T, runs []domain.Run, turns int, delay time.Duration) {
	t.Helper()
	if len(runs) != turns {
		t.Errorf("%d runs in %d turns", len(runs), turns)
	}
	for i, run := range runs {
		if run.Status != domain.RunCompleted || run.Failed != 0 {
			t.Errorf("run %d ended %s with %d failed jobs", run.ID, run.Status, run.Failed)
		}
		if i > 0 {
			wantWithin(t, fmt.Sprint("the turn before run ", run.ID), run.CreatedAt.Sub(runs[i-1].CreatedAt), 6*time.Hour, 6*time.Hour+delay)
		}
	}
}

// life counts what a process asks of its stores, and ends with one of these:
// before it is done, or after. From then on nothing that it asks has an effect.
type life struct {
	left  atomic.Int64
	after bool
	ended chan struct{}
}

func newLife(asks int, after bool) *life {
	l := &life{after: after, ended: make(chan struct{})}
	l.left.Store(int64(asks))
	return l
}

// ask makes one request of a store, unless the process is dead.
func (l *life) ask(do func() error) error {
	left := l.left.Add(-1)
	if left < 0 {
		return errDead
	}
	if left == 0 {
		defer close(l.ended)
		if !l.after {
			return errDead
		}
	}
	err := do()
	if left == 0 {
		return errDead
	}
	return err
}

// mortalStore and mortalQueue are what a process asks on the way from the end
// of a run to the next one.
type mortalStore struct {
	state.Store
	*life
}

func (s mortalStore) CreateRun(ctx context.Context, r state.RunSpec) (run domain.Run, err error) {
	err = s.ask(func() (err error) { run, err = s.Store.CreateRun(ctx, r); return err })
	return run, err
}

func (s mortalStore) PlanRun(ctx context.Context, id int64, specs []domain.JobSpec) (refs []domain.JobRef, err error) {
	err = s.ask(func() (err error) { refs, err = s.Store.PlanRun(ctx, id, specs); return err })
	return refs, err
}

func (s mortalStore) Claim(ctx context.Context, c state.Claim) error {
	return s.ask(func() error { return s.Store.Claim(ctx, c) })
}

func (s mortalStore) Finish(ctx context.Context, o state.Outcome) (effect state.Effect, err error) {
	err = s.ask(func() (err error) { effect, err = s.Store.Finish(ctx, o); return err })
	return effect, err
}

func (s mortalStore) CompleteRun(ctx context.Context, id int64, statistics []byte) (run domain.Run, err error) {
	err = s.ask(func() (err error) { run, err = s.Store.CompleteRun(ctx, id, statistics); return err })
	return run, err
}

func (s mortalStore) Runs(ctx context.Context, q state.RunQuery) (runs []domain.Run, err error) {
	err = s.ask(func() (err error) { runs, err = s.Store.Runs(ctx, q); return err })
	return runs, err
}

func (s mortalStore) Harvest(ctx context.Context, account int64) (h domain.Harvest, found bool, err error) {
	err = s.ask(func() (err error) { h, found, err = s.Store.Harvest(ctx, account); return err })
	return h, found, err
}

func (s mortalStore) PlanHarvest(ctx context.Context, h domain.Harvest) error {
	return s.ask(func() error { return s.Store.PlanHarvest(ctx, h) })
}

func (s mortalStore) ResumeRun(ctx context.Context, id int64, p domain.Priority, kinds []domain.FailureKind) (refs []domain.JobRef, err error) {
	err = s.ask(func() (err error) { refs, err = s.Store.ResumeRun(ctx, id, p, kinds); return err })
	return refs, err
}

type mortalQueue struct {
	dispatch.Dispatcher
	*life
}

func (d mortalQueue) Push(ctx context.Context, entries ...dispatch.Entry) error {
	return d.ask(func() error { return d.Dispatcher.Push(ctx, entries...) })
}

func (d mortalQueue) Ack(ctx context.Context, leases ...dispatch.Lease) error {
	return d.ask(func() error { return d.Dispatcher.Ack(ctx, leases...) })
}

func (d mortalQueue) Release(ctx context.Context, l dispatch.Lease, at time.Time) error {
	return d.ask(func() error { return d.Dispatcher.Release(ctx, l, at) })
}

func (d mortalQueue) Remove(ctx context.Context, ids ...string) error {
	return d.ask(func() error { return d.Dispatcher.Remove(ctx, ids...) })
}

// Lease is not counted: how often it is called is left to chance.
func (d mortalQueue) Lease(ctx context.Context, n int) ([]dispatch.Lease, error) {
	if d.left.Load() <= 0 {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return d.Dispatcher.Lease(ctx, n)
}

func (d mortalQueue) Renew(ctx context.Context, leases ...dispatch.Lease) ([]dispatch.Lease, error) {
	if d.left.Load() <= 0 {
		return nil, errDead
	}
	return d.Dispatcher.Renew(ctx, leases...)
}

// lastAsk is a little less than what a process asks in two turns.
const lastAsk = 75

// TestHarvestOutlivesItsProcess ends a process at steps of a run and of the one
// that follows, and begins another on the same store: no run too many
// follows, and none is lost.
func TestHarvestOutlivesItsProcess(t *testing.T) {
	t.Parallel()
	for _, after := range []bool{false, true} {
		t.Run(map[bool]string{false: "before", true: "after"}[after], func(t *testing.T) {
			t.Parallel()
			for step := firstAsk(t); step <= lastAsk; step += everyAsk() {
				bubble(t, func(t *testing.T) { dieAndGoOn(t, step, after) })
			}
		})
	}
}

// everyAsk is how many steps lie between two at which a process ends. All have
// their turn in the end, as chance decides where to begin.
func everyAsk() int { return testkit.Effort(10, 2) }

func firstAsk(t *testing.T) int {
	t.Helper()
	return 1 + int(testkit.Seed(t)%uint64(everyAsk()))
}

func dieAndGoOn(t *testing.T, step int, after bool) {
	t.Helper()
	o := harvesting(t, everySix, 1000)
	one := newLife(1<<40, after)
	o.WrapState = func(s state.Store) state.Store { return mortalStore{s, one} }
	o.WrapDispatch = func(d dispatch.Dispatcher) dispatch.Dispatcher { return mortalQueue{d, one} }
	f := newField(2, 1000)
	f.fails = func(c source.Call) *source.Result {
		// The first run has to be resumed.
		if c.Run.Trigger == domain.TriggerSignup && c.Job.Resource == "item:1" && c.Job.Attempt <= 5 {
			return server(c)
		}
		return nil
	}
	s := started(t, f, o)
	c := s.signs("octocat", "secret")
	one.left.Store(int64(step))
	const turns = 4
	select {
	case <-one.ended:
	case <-time.After(13 * time.Hour):
		t.Errorf("in two turns the stores were asked %d times", int64(step)-one.left.Load())
	}
	_ = s.svc.Close(canceled(t)) // it ends in the middle of something
	pass(time.Minute)
	one = newLife(1<<40, after)
	s.open()
	s.start()
	pass(time.Until(c.run.CreatedAt.Add(turns*6*time.Hour - time.Hour)))
	wantTurns(t, s.allRuns(c.account), turns, 2*time.Minute)
	if t.Failed() {
		t.Fatalf("the process died at step %d", step)
	}
}

// TestFaultsLoseNoHarvest: each method that is needed fails once before it was
// done, and once after.
func TestFaultsLoseNoHarvest(t *testing.T) {
	t.Parallel()
	for _, method := range []string{"Schedule", "Harvest", "PlanHarvest", "Runs", "Jobs", "Account", "CreateRun", "PlanRun", "CompleteRun", "Windows", "Push", "Remove", "Ack", "Release", "Lease"} {
		t.Run(method, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T) {
				plan := faulty.NewPlan()
				s := started(t, newField(2, 1000), breakAll(t, plan))
				c := s.signs("octocat", "secret")
				s.wait(c.run)
				s.plans(c.account)
				plan.FailBefore(method, 1)
				plan.FailAfter(method, 1)
				pass(time.Until(c.run.CreatedAt.Add(4*6*time.Hour - time.Hour)))
				wantTurns(t, s.allRuns(c.account), 4, 2*time.Minute)
				if plan.Unmet() != 0 {
					t.Errorf("%d faults were never met", plan.Unmet())
				}
			})
		})
	}
}

// TestRandomFaultsLoseNoHarvest breaks everything now and then, with jobs that
// fail in between, which are resumed.
func TestRandomFaultsLoseNoHarvest(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		f := newField(3, 1000)
		f.fails = func(c source.Call) *source.Result {
			if c.Job.Resource == "item:1" && c.Run.ID%2 == 0 && c.Job.Attempt <= 5 {
				return server(c)
			}
			return nil
		}
		dice := faulty.Random(testkit.Seed(t), 0.05, 0.05)
		s := started(t, f, breakAll(t, dice))
		var c collection
		for c.run.ID == 0 {
			a, run, err := s.svc.Engine.Signup(t.Context(), engine.Signup{Source: "script", Login: "octocat", Token: "secret"})
			if err != nil && domain.CodeOf(err) != domain.CodeUnavailable && domain.CodeOf(err) != domain.CodeConflict {
				t.Fatal(err)
			}
			c = collection{a, run}
		}
		c.account.ID = c.run.AccountID
		const turns = 10
		pass(time.Until(c.run.CreatedAt.Add(turns*6*time.Hour - time.Hour)))
		wantTurns(t, s.allRuns(c.account), turns, 12*time.Minute)
		if dice.Faults(faulty.Any) < 20 {
			t.Errorf("only %d calls failed", dice.Faults(faulty.Any))
		}
	})
}

// breakAll breaks state, dispatch and quota by one plan.
func breakAll(t *testing.T, plan *faulty.Plan) wiring.Options {
	t.Helper()
	o := harvesting(t, everySix, 1000)
	o.WrapState = func(s state.Store) state.Store { return faulty.NewState(s, plan) }
	o.WrapDispatch = breakDispatch(plan).WrapDispatch
	o.WrapQuota = breakQuota(plan).WrapQuota
	return o
}
