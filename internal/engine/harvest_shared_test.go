package engine_test

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"sluice/internal/backend/memory"
	"sluice/internal/dispatch"
	"sluice/internal/domain"
	"sluice/internal/engine"
	"sluice/internal/engine/enginetest"
	"sluice/internal/schedule"
	"sluice/internal/source"
	"sluice/internal/state"
)

// lossy is a dispatcher that can lose everything, as a server does that is
// begun anew without its data.
type lossy struct {
	inner atomic.Pointer[memory.Dispatcher]
}

var _ dispatch.Dispatcher = (*lossy)(nil)

// lose forgets everything, and hands out that it did.
func (d *lossy) lose(t *testing.T) {
	t.Helper()
	d.inner.Store(memory.NewDispatcher(memory.DispatcherOptions{Lease: teamLease}))
	if err := d.Push(t.Context(), engine.OnLoss()); err != nil {
		t.Fatal(err)
	}
}

func (d *lossy) Push(ctx context.Context, entries ...dispatch.Entry) error {
	return d.inner.Load().Push(ctx, entries...)
}
func (d *lossy) Lease(ctx context.Context, n int) ([]dispatch.Lease, error) {
	return d.inner.Load().Lease(ctx, n)
}
func (d *lossy) Renew(ctx context.Context, leases ...dispatch.Lease) ([]dispatch.Lease, error) {
	return d.inner.Load().Renew(ctx, leases...)
}
func (d *lossy) Ack(ctx context.Context, leases ...dispatch.Lease) error {
	return d.inner.Load().Ack(ctx, leases...)
}
func (d *lossy) Release(ctx context.Context, l dispatch.Lease, at time.Time) error {
	return d.inner.Load().Release(ctx, l, at)
}
func (d *lossy) Park(ctx context.Context, lane string, until time.Time) error {
	return d.inner.Load().Park(ctx, lane, until)
}
func (d *lossy) Resume(ctx context.Context, lane string) error {
	return d.inner.Load().Resume(ctx, lane)
}
func (d *lossy) Remove(ctx context.Context, ids ...string) error {
	return d.inner.Load().Remove(ctx, ids...)
}
func (d *lossy) Stats(ctx context.Context) (dispatch.Stats, error) {
	return d.inner.Load().Stats(ctx)
}

// harvesters is a team whose accounts have a run every six hours.
type harvesters struct {
	*team
	cfg   engine.Config
	queue *lossy
}

func newHarvesters(t *testing.T, src source.Source) *harvesters {
	t.Helper()
	m := &harvesters{team: newTeam(t, src), queue: &lossy{}}
	m.queue.inner.Store(memory.NewDispatcher(memory.DispatcherOptions{Lease: teamLease}))
	m.ports.Dispatch = m.queue
	m.cfg = engine.Config{Harvests: map[string]schedule.Policy{src.Name(): policy(t, everySix)}}
	return m
}

// begins lets another process work; one that is given a life dies with it.
func (m *harvesters) begins(one *life) *member {
	m.t.Helper()
	joined := m.join(m.cfg, func(p *engine.Ports) {
		if one != nil {
			p.State, p.Dispatch = state.PartsOf(mortalStore{m.ports.State.Runs.(state.Store), one}), mortalQueue{m.ports.Dispatch, one}
		}
	})
	if err := joined.Start(m.t.Context()); err != nil {
		m.t.Fatal(err)
	}
	return joined
}

func (m *harvesters) wantTurns(account int64, turns int, delay time.Duration) {
	m.t.Helper()
	runs, err := m.first.State.Runs(m.t.Context(), state.RunQuery{AccountID: account, Limit: 1000})
	if err != nil {
		m.t.Fatal(err)
	}
	slices.Reverse(runs)
	wantTurns(m.t, runs, turns, delay)
}

// TestTeamHarvestsOnce: two processes begin one run in each turn.
func TestTeamHarvestsOnce(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		m := newHarvesters(t, &enginetest.Noop{Jobs: 5, FanOut: 5})
		one := m.begins(nil)
		m.begins(nil)
		var runs []domain.Run
		for _, login := range []string{"ada", "bob", "eve"} {
			runs = append(runs, m.signup(one, login))
		}
		pass(time.Until(runs[0].CreatedAt.Add(6*6*time.Hour - time.Hour)))
		for _, run := range runs {
			m.wantTurns(run.AccountID, 6, time.Minute)
		}
	})
}

// TestLostDispatchLosesNoHarvest: while accounts wait for their turn, and in
// the middle of a run.
func TestLostDispatchLosesNoHarvest(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		m := newHarvesters(t, &enginetest.Noop{Jobs: 5, FanOut: 5, OnCall: func(source.Call) (source.Result, bool) {
			pass(10 * time.Second)
			return source.Result{}, false
		}})
		one := m.begins(nil)
		m.begins(nil)
		run := m.signup(one, "octocat")
		for _, at := range []time.Duration{3 * time.Hour, 6*time.Hour + 15*time.Second, 12 * time.Hour, 18*time.Hour - time.Second, 19 * time.Hour} {
			pass(time.Until(run.CreatedAt.Add(at)))
			m.queue.lose(t)
		}
		pass(time.Until(run.CreatedAt.Add(6*6*time.Hour - time.Hour)))
		m.wantTurns(run.AccountID, 6, 2*time.Minute)
	})
}

// TestHarvestOutlivesItsLeader: of two processes the one that works dies at
// some step, and the other, which comes when it is dead, goes on.
func TestHarvestOutlivesItsLeader(t *testing.T) {
	t.Parallel()
	for _, after := range []bool{false, true} {
		t.Run(map[bool]string{false: "before", true: "after"}[after], func(t *testing.T) {
			t.Parallel()
			for step := firstAsk(t); step <= lastAsk; step += everyAsk() {
				bubble(t, func(t *testing.T) { leaderDies(t, step, after) })
			}
		})
	}
}

func leaderDies(t *testing.T, step int, after bool) {
	t.Helper()
	m := newHarvesters(t, &enginetest.Noop{Jobs: 2, FanOut: 2})
	one := newLife(1<<40, after)
	leader := m.begins(one)
	run := m.signup(leader, "octocat")
	one.left.Store(int64(step))
	<-one.ended
	_ = leader.Stop(canceled(t)) // nothing that it does has an effect any more
	m.begins(nil)
	const turns = 4
	pass(time.Until(run.CreatedAt.Add(turns*6*time.Hour - time.Hour)))
	m.wantTurns(run.AccountID, turns, 12*time.Minute)
	if t.Failed() {
		t.Fatalf("the leader died at step %d", step)
	}
}
