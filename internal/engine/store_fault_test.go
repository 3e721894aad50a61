package engine_test

import (
	"context"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"sluice/internal/domain"
	"sluice/internal/engine"
	sim "sluice/internal/simulator/github"
	"sluice/internal/state"
	"sluice/internal/testkit"
	"sluice/internal/testkit/faulty"
	"sluice/internal/wiring"
)

// storeMethods are what a collection asks of the store.
var storeMethods = []string{
	"PutAccount", "SetAccountState", "Account", "Credential", "Runs", "CreateRun", "PlanRun", "Run", "Cursors",
	"Load", "Claim", "Finish", "CompleteRun",
}

// Each method fails once before it was done, then once after.
func TestStoreFaultLosesNothing(t *testing.T) {
	for _, method := range storeMethods {
		t.Run(method, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T) {
				plan := faulty.NewPlan()
				plan.FailBefore(method, 1)
				plan.FailAfter(method, 1)
				collectWithFaults(t, plan, 1)
				if plan.Unmet() != 0 {
					t.Errorf("%d faults were never met", plan.Unmet())
				}
			})
		})
	}
}

func TestRandomStoreFaultsLoseNothing(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		plan := faulty.Random(testkit.Seed(t), 0.1, 0.1)
		collectWithFaults(t, plan, 3)
		if plan.Faults(faulty.Any) < 5 {
			t.Errorf("only %d calls of the store failed", plan.Faults(faulty.Any))
		}
	})
}

// collectWithFaults collects over a broken store and checks that the result is
// the truth, that each run completed once, and that no call was made twice.
func collectWithFaults(t *testing.T, plan *faulty.Plan, accounts int) {
	t.Helper()
	statistics := &countingStatistics{}
	w := newBubbleWorld(t, small(accounts), wiring.Options{
		Engine: engine.Config{Workers: 4}, Statistics: statistics,
		WrapState: func(s state.Store) state.Store { return faulty.NewState(s, plan) },
	})
	for _, c := range w.signupAll() {
		w.wantWhole(c)
	}
	w.wantNoWaste()
	if n := statistics.computed.Load(); n != int64(accounts) {
		t.Errorf("statistics of %d runs were computed %d times", accounts, n)
	}
	if n := w.ends(int64(accounts)); n != int64(accounts) {
		t.Errorf("%d runs ended %d times", accounts, n)
	}
}

func TestResumeWhoseAnswerWasLost(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		plan := faulty.NewPlan()
		w := newBubbleWorld(t, small(1), wiring.Options{WrapState: func(s state.Store) state.Store { return faulty.NewState(s, plan) }})
		login := w.sim.Logins()[0]
		w.sim.RevokeToken(w.sim.Token(login))
		c := w.signup(login)
		w.until("the pause", func() bool { return len(w.jobs(c.run, domain.JobPaused)) == len(w.jobs(c.run)) })
		w.sim.RestoreToken(w.sim.Token(login))
		plan.FailAfter("SetAccountState", 1)
		if err := w.svc.Engine.ResumeAccount(t.Context(), c.account.ID); domain.CodeOf(err) != domain.CodeUnavailable {
			t.Fatalf("got %v", err)
		}
		if err := w.svc.Engine.ResumeAccount(t.Context(), c.account.ID); err != nil {
			t.Fatal(err)
		}
		w.wantWhole(c)
	})
}

// The caller hears nothing of a lost answer; and if there is none at all, the
// next who asks finds the run and sets it going.
func TestRunWhoseCreationWasNotAnswered(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		plan := faulty.NewPlan()
		src := newItems(3)
		s := started(t, src, wiring.Options{WrapState: func(s state.Store) state.Store { return faulty.NewState(s, plan) }})
		a := s.account("octocat")
		plan.FailAfter("CreateRun", 1)
		s.wantCompleted(s.wait(s.run(a)), 0)

		plan.FailBefore("CreateRun", 1)
		plan.FailAfter("CreateRun", 1)
		plan.FailBefore("CreateRun", 2)
		_, err := s.svc.Engine.StartRun(t.Context(), a.ID, domain.TriggerManual, domain.PriorityLow)
		if domain.CodeOf(err) != domain.CodeUnavailable || plan.Unmet() != 0 {
			t.Fatalf("the start returned %v", err)
		}
		run, err := s.svc.Engine.StartRun(t.Context(), a.ID, domain.TriggerManual, domain.PriorityLow)
		if domain.CodeOf(err) != domain.CodeConflict {
			t.Fatalf("the second start returned %v", err)
		}
		s.wantCompleted(s.wait(run), 0)
	})
}

func TestRetryWhoseAnswerWasLost(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		plan := faulty.NewPlan()
		w := newBubbleWorld(t, small(1), wiring.Options{WrapState: func(s state.Store) state.Store { return faulty.NewState(s, plan) }})
		login := w.sim.Logins()[0]
		w.sim.FailNext(w.of(login, "/events"), 5, sim.ServerError(500))
		c := w.signup(login)
		run := w.wait(c.run)
		w.wantCompleted(run, 1)
		plan.FailAfter("RetryJob", 1)
		if _, err := w.svc.Engine.RetryJob(t.Context(), w.jobs(run, domain.JobFailed)[0].ID); domain.CodeOf(err) != domain.CodeUnavailable {
			t.Fatalf("got %v", err)
		}
		w.wantWhole(c)
	})
}

// TestStoreOutage lets the store refuse everything in the middle of a
// collection: the calls under way are the last ones, people can see why, and
// nothing is needed to go on but the store.
func TestStoreOutage(t *testing.T) {
	for _, methods := range [][]string{{"Finish"}, {"Claim"}, {"Claim", "Finish", "Load"}} {
		t.Run(strings.Join(methods, " and "), func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T) {
				plan := faulty.NewPlan()
				w := newBubbleWorld(t, small(3), wiring.Options{
					Engine:    engine.Config{Workers: 3},
					WrapState: func(s state.Store) state.Store { return faulty.NewState(s, plan) },
				})
				const healthy = 8
				w.sim.OnRequest(func(_ *http.Request, n int) *sim.Fault {
					if n == healthy {
						for _, method := range methods {
							plan.FailBefore(method, -1)
						}
					}
					return nil
				})
				all := w.signupAll()
				pass(time.Minute)
				// A worker begins its next call while what the last one brought is stored.
				if n := w.sim.Audit().Calls - healthy; n < 0 || n > 2*w.opt.Engine.Workers {
					t.Errorf("%d calls by %d workers while nothing could be stored", n, w.opt.Engine.Workers)
				}
				wait, ok := w.svc.Engine.Waits()["store"]
				if !ok || !strings.Contains(wait.Reason, "injected") {
					t.Errorf("the waits do not tell: %+v", w.svc.Engine.Waits())
				}
				run := w.stored(all[2].run)
				p, err := w.svc.Engine.Progress(t.Context(), run)
				if err != nil || len(p.Waits) == 0 || p.Waits[0].Lane != "store" {
					t.Errorf("the progress of a %s run does not tell: %+v, error %v", run.Status, p.Waits, err)
				}
				plan.Heal()
				for _, c := range all {
					w.wantWhole(c)
				}
				w.wantNoWaste()
				if _, still := w.svc.Engine.Waits()["store"]; still {
					t.Error("the store is still said to be waited for")
				}
			})
		})
	}
}

// refusals notes how many calls had been made when the store first refused.
type refusals struct {
	state.Store
	calls func() int
	first atomic.Int64
	seen  chan struct{}
}

func (r *refusals) Claim(ctx context.Context, c state.Claim) error {
	err := r.Store.Claim(ctx, c)
	r.note(err)
	return err
}

func (r *refusals) Finish(ctx context.Context, o state.Outcome) (state.Effect, error) {
	effect, err := r.Store.Finish(ctx, o)
	r.note(err)
	return effect, err
}

func (r *refusals) note(err error) {
	if domain.CodeOf(err) == domain.CodeUnavailable && r.first.CompareAndSwap(0, int64(r.calls())) {
		close(r.seen)
	}
}

func TestDiskFull(t *testing.T) {
	t.Parallel()
	upstream := sim.New(sim.Options{Seed: 3, Accounts: 2, Shape: &sim.Shape{
		Repos: sim.Exactly(4), Commits: sim.Exactly(150), Issues: sim.Exactly(60), Pulls: sim.Exactly(10),
	}})
	store := &refusals{calls: func() int { return upstream.Audit().Calls }, seen: make(chan struct{})}
	o := wiring.Options{Engine: quick(), MaxPages: 170, WrapState: func(s state.Store) state.Store {
		if store.Store != nil {
			return s
		}
		store.Store = s
		return store
	}}
	o.Engine.StopTimeout = 50 * time.Millisecond
	l := listen(t, "127.0.0.1:0")
	serve(t, l, upstream)
	w := worldOf(t, upstream, sourceAt(l), o)
	all := w.signupAll()
	<-store.seen
	w.until("a word about the disk", func() bool { return strings.Contains(w.svc.Engine.Waits()["store"].Reason, "is full") })
	if err := w.svc.Engine.Stop(t.Context()); err != nil {
		t.Log(err)
	}
	if n := upstream.Audit().Calls - int(store.first.Load()); n > w.opt.Engine.Workers {
		t.Errorf("%d calls by %d workers after the disk was full", n, w.opt.Engine.Workers)
	}

	w.opt.MaxPages = 0
	w.reopen()
	w.start()
	for _, c := range all {
		w.wantWhole(c)
	}
	// What the full disk did not take had to be called again, once per worker.
	if audit := upstream.Audit(); audit.Repeated+audit.RepeatedQueries > w.opt.Engine.Workers || audit.Violations != 0 {
		t.Errorf("more was called twice than the %d workers had in hand: %+v", w.opt.Engine.Workers, audit)
	}
}
