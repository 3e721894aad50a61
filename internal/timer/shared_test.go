package timer_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"sluice/internal/backend/memory"
	"sluice/internal/due"
	"sluice/internal/testkit"
	"sluice/internal/testkit/faulty"
	"sluice/internal/timer"
)

// shared is a world whose services share a trigger that is watched.
type shared struct {
	*world
	seen    *watchedTrigger
	signals *signals
}

func newShared(t *testing.T) *shared {
	t.Helper()
	w := &shared{world: &world{t: t}, signals: newSignals()}
	w.store, _ = openStore(t, t.TempDir())
	w.seen = &watchedTrigger{inner: memory.NewDueSet(memory.DueSetOptions{}), intents: map[string]bool{}}
	return w
}

// server makes a service with faults of its own.
func (w *shared) server(name string, store, trigger *faulty.Plan) *timer.Service {
	w.t.Helper()
	return w.service(name, func(o *timer.Options) {
		o.Store, o.Trigger, o.Signals = faulty.NewTimers(w.store, store), faulty.NewDueSet(w.seen, trigger), w.signals
	})
}

func (w *shared) healthy(name string) *timer.Service {
	w.t.Helper()
	s := w.server(name, faulty.NewPlan(), faulty.NewPlan())
	w.start(s)
	return s
}

func TestTenThousandTimersOfFiveServers(t *testing.T) {
	const servers, timers = 5, 10_000
	bubble(t, func(t *testing.T) {
		w := newShared(t)
		var all5 []*timer.Service
		for i := range servers {
			all5 = append(all5, w.healthy(fmt.Sprint("server-", i)))
		}
		changed, end := all5[0].Watch()
		defer end()
		synctest.Wait()
		begin := time.Now().Add(time.Second)
		for i, s := range all5 {
			w.setMany(s, timers/servers, func(j int) timer.Spec {
				return timer.Spec{ID: fmt.Sprintf("t-%d-%d", i, j), At: begin.Add(time.Duration(j%10) * time.Second)}
			})
		}
		pass(time.Minute)
		select {
		case <-changed:
		default:
			t.Error("nobody was told")
		}
		got := all(t, w.store)
		seen, by := map[string]bool{}, map[string]int{}
		for _, c := range got {
			if seen[c.Timer] || c.Lateness != 0 || !c.Success {
				t.Errorf("the completion is %+v", c)
			}
			seen[c.Timer] = true
			by[c.Server]++
		}
		if len(seen) != timers || len(by) < 2 {
			t.Errorf("%d have fired, by %v", len(seen), by)
		}
		for i, s := range all5 {
			if n := s.Counters().Fired.Load(); n != int64(by[fmt.Sprint("server-", i)]) {
				t.Errorf("server %d counted %d, the log %d", i, n, by[fmt.Sprint("server-", i)])
			}
		}
		t.Logf("fired by %v", by)
	})
}

// TestAServerDiesWithTimersTaken: it took timers and never spoke again.
func TestAServerDiesWithTimersTaken(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newShared(t)
		store, trigger := faulty.NewPlan(), faulty.NewPlan()
		dead := w.server("dead", store, trigger)
		w.start(dead)
		now := time.Now()
		w.setMany(dead, 100, func(i int) timer.Spec { return timer.Spec{ID: fmt.Sprint(i), At: now.Add(10 * time.Second)} })
		breakDown(store)
		breakDown(trigger, "Put", "Again", "Done", "Remove")
		pass(10 * time.Second) // now it has taken them
		breakDown(trigger)
		w.healthy("other")
		pass(due.DefaultGrace - time.Microsecond)
		if got := all(t, w.store); len(got) != 0 {
			t.Fatalf("%d have fired before the grace was over", len(got))
		}
		pass(time.Second)
		got := all(t, w.store)
		if len(got) != 100 {
			t.Errorf("%d have fired, want 100", len(got))
		}
		for _, c := range got {
			if c.Server != "other" || !c.Late || c.Lateness != due.DefaultGrace {
				t.Errorf("the completion is %+v", c)
			}
		}
	})
}

// TestAServerDiesBetweenStoreAndTrigger: nobody but its intent knows of the
// timers that it stored.
func TestAServerDiesBetweenStoreAndTrigger(t *testing.T) {
	for name, lives := range map[string]int{"for good": 0, "and begins again": 5} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				w := newShared(t)
				w.healthy("other")
				trigger := faulty.NewPlan()
				dead := w.server("dead", faulty.NewPlan(), trigger)
				w.start(dead)
				now := time.Now()
				setOn := func(s *timer.Service, id string, after time.Duration) {
					if _, err := s.Set(t.Context(), timer.Spec{ID: id, At: now.Add(after)}); err != nil {
						t.Fatal(err)
					}
				}
				setOn(dead, "told", 20*time.Second) // its intent stands
				breakDown(trigger)
				lost := []timer.Spec{{ID: "soon", At: now.Add(30 * time.Second)}, {ID: "late", At: now.Add(2 * time.Minute)}}
				if _, err := dead.Set(t.Context(), lost...); err != nil {
					t.Fatal(err)
				}
				for i := range lives {
					// Who starts again has the same name, and intents of its own.
					next := w.server("dead", faulty.NewPlan(), faulty.NewPlan())
					w.start(next)
					setOn(next, fmt.Sprint("next-", i), time.Hour)
					pass(4 * time.Second)
				}
				pass(time.Until(now.Add(59*time.Second + 999*time.Millisecond)))
				if row := w.expect("told", timer.Completed); row.FiredAt.Sub(now) != 20*time.Second {
					t.Errorf("fired at %v", row.FiredAt)
				}
				w.expect("soon", timer.Waiting)
				pass(time.Millisecond)
				if c := w.expect("soon", timer.Completed).Completion(); c.Lateness != 30*time.Second || !c.Late {
					t.Errorf("the completion is %+v", c)
				}
				pass(time.Minute)
				if c := w.expect("late", timer.Completed).Completion(); c.Lateness != 0 {
					t.Errorf("the completion is %+v", c)
				}
			})
		})
	}
}

// TestATriggerThatBlocks: who gives up waiting for it has set the timer.
func TestATriggerThatBlocks(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newShared(t)
		w.healthy("other")
		slow := w.service("slow", func(o *timer.Options) {
			o.Trigger, o.Signals = blockingTrigger{w.seen}, w.signals
		})
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		now := time.Now()
		if _, err := slow.Set(ctx, timer.Spec{ID: "a", At: now.Add(2 * time.Minute)}); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(now); took != 5*time.Second {
			t.Errorf("took %v", took)
		}
		pass(2 * time.Minute)
		if c := w.expect("a", timer.Completed).Completion(); c.Lateness != 0 {
			t.Errorf("the completion is %+v", c)
		}
	})
}

// blockingTrigger takes intents, and blocks when it is told of timers.
type blockingTrigger struct{ due.Set }

func (b blockingTrigger) Put(ctx context.Context, entries ...due.Entry) error {
	if strings.HasPrefix(entries[0].ID, intentPrefix) {
		return b.Set.Put(ctx, entries...)
	}
	<-ctx.Done()
	return ctx.Err()
}

// TestNothingIsStoredWithoutAGuard: a trigger that does not work is told at
// once, and nothing is left behind that nobody knows of.
func TestNothingIsStoredWithoutAGuard(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newShared(t)
		trigger := faulty.NewPlan()
		s := w.server("a", faulty.NewPlan(), trigger)
		breakDown(trigger)
		if _, err := s.Set(t.Context(), timer.Spec{ID: "a", At: time.Now()}); err == nil {
			t.Error("it was set")
		}
		if n := count(t, w.store, timer.Waiting); n != 0 {
			t.Errorf("%d are stored", n)
		}
	})
}

func TestGuardsDoNotPileUp(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newShared(t)
		s := w.healthy("busy")
		at := time.Now().Add(time.Hour)
		for i := range 600 { // for five minutes
			id := fmt.Sprint(i)
			if _, err := s.Set(t.Context(), timer.Spec{ID: id, At: at}); err != nil {
				t.Fatal(err)
			}
			if i%3 == 0 {
				if _, err := s.Cancel(t.Context(), id); err != nil {
					t.Fatal(err)
				}
			}
			pass(500 * time.Millisecond)
		}
		if left, made, greatest := w.seen.count(); greatest > 2 || made > 12 || left != 1 {
			t.Errorf("%d intents were made, up to %d at a time, and %d are left", made, greatest, left)
		}
		pass(4 * time.Second)
		if left, _, _ := w.seen.count(); left != 0 {
			t.Errorf("%d intents are left", left)
		}
		pass(2 * time.Hour)
		if n := count(t, w.store, timer.Completed); n != 400 {
			t.Errorf("%d have fired, want 400", n)
		}
	})
}

func TestATriggerThatLosesEverything(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newShared(t)
		s := w.healthy("one")
		w.healthy("two")
		begin := time.Now().Add(time.Minute)
		// Over the same time, whether they are few or many.
		n := testkit.Effort(1000, 5000)
		w.setMany(s, n, func(i int) timer.Spec {
			return timer.Spec{ID: fmt.Sprint(i), At: begin.Add(50 * time.Second * time.Duration(i) / time.Duration(n))}
		})
		for range 4 {
			pass(20 * time.Second)
			if err := w.seen.empty(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		pass(5 * time.Minute)
		got := all(t, w.store)
		if len(got) != n {
			t.Errorf("%d have fired, want %d", len(got), n)
		}
		late := 0
		for _, c := range got {
			// Who waits does not see the new one before its wait is over.
			if c.Lateness > 31*time.Second {
				late++
			}
		}
		if late > 0 {
			t.Errorf("%d fired too late", late)
		}
	})
}

// TestServersDieAndFail: three servers on one trigger, which die at any call
// and begin again under their name, while the trigger and the store fail.
func TestServersDieAndFail(t *testing.T) {
	const rounds, timers = 6, 200
	seed := testkit.Seed(t)
	for round := range uint64(rounds) {
		bubble(t, func(t *testing.T) {
			dice := random(seed + round)
			w := newShared(t)
			var lives [3]*timer.Service
			var fates [3]*faulty.Plan
			begin := func(i int) {
				for lives[i] == nil || fates[i].Dead() {
					if lives[i] != nil {
						lives[i].Stop(t.Context())
					}
					fates[i] = faulty.Dying(dice.Uint64(), 1+dice.IntN(200))
					lives[i] = w.server(fmt.Sprint("server-", i), fates[i], fates[i])
					_ = lives[i].Start(t.Context())
				}
			}
			now := time.Now()
			for i := range timers {
				spec := timer.Spec{ID: fmt.Sprint(i), At: now.Add(time.Duration(dice.IntN(60_000)) * time.Millisecond)}
				for stored := false; !stored; {
					n := dice.IntN(3)
					begin(n)
					_, err := lives[n].Set(t.Context(), spec)
					stored = err == nil
				}
				pass(time.Duration(dice.IntN(100)) * time.Millisecond)
			}
			for i := range lives {
				lives[i].Stop(t.Context())
			}
			w.healthy("survivor")
			pass(10 * time.Minute)
			if got := all(t, w.store); len(got) != timers {
				t.Errorf("%d have fired, want %d", len(got), timers)
			}
			w.noneLeft()
		})
		if t.Failed() {
			t.Fatalf("in round %d", round)
		}
	}
}
