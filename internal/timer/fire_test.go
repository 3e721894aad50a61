package timer_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"sluice/internal/domain"
	"sluice/internal/due"
	"sluice/internal/testkit"
	"sluice/internal/testkit/faulty"
	"sluice/internal/timer"
)

func TestFiresOnceAtItsInstant(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := started(t, nil)
		changed, end := w.Watch()
		defer end()
		at := time.Now().Add(90 * time.Second).Truncate(time.Microsecond)
		payload := []byte(`{"order": 7}`)
		stored, err := w.Set(t.Context(), timer.Spec{ID: "a", At: at, Payload: payload})
		if err != nil || !stored[0].New || stored[0].Status != timer.Waiting || !stored[0].NextAt.Equal(at) {
			t.Fatalf("%+v, %v", stored, err)
		}
		pass(90*time.Second - time.Microsecond)
		w.expect("a", timer.Waiting)
		select {
		case <-changed:
			t.Error("told of a change before there was one")
		default:
		}
		pass(time.Microsecond)
		row := w.expect("a", timer.Completed)
		if !row.FiredAt.Equal(at) || row.Server != "alone" || !row.NextAt.IsZero() {
			t.Errorf("the row is %+v", row)
		}
		<-changed
		pass(time.Hour) // nothing comes twice
		got := all(t, w)
		if len(got) != 1 {
			t.Fatalf("completions: %+v", got)
		}
		c := got[0]
		if c.Timer != "a" || !c.Due.Equal(at) || !c.FiredAt.Equal(at) || c.Server != "alone" || c.Lateness != 0 || c.Late || !c.Success ||
			c.Status != timer.Completed || string(c.Payload) != `{"order":7}` {
			t.Errorf("the completion is %+v", c)
		}
		if n := w.Counters(); n.Set.Load() != 1 || n.Fired.Load() != 1 || n.Late.Load() != 0 {
			t.Errorf("counters: %+v", n)
		}
	})
}

func TestAnInstantInThePastFiresAtOnceAndIsNotLate(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := started(t, nil)
		w.set("past", time.Now().Add(-48*time.Hour), "")
		synctest.Wait()
		row := w.expect("past", timer.Completed)
		if c := row.Completion(); !c.FiredAt.Equal(time.Now()) || c.Lateness != 0 || c.Late {
			t.Errorf("the completion is %+v", c)
		}
		w.set("future", time.Now().Add(time.Hour), "")
		if _, err := w.Reschedule(t.Context(), "future", time.Now().Add(-time.Hour)); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if c := w.expect("future", timer.Completed).Completion(); c.Late || c.Lateness != 0 {
			t.Errorf("rescheduled into the past: %+v", c)
		}
		if n := w.Counters().Late.Load(); n != 0 {
			t.Errorf("%d are late", n)
		}
	})
}

func TestStopAndStartAgain(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := started(t, nil)
		w.set("a", time.Now().Add(time.Minute), "")
		w.Stop(t.Context())
		w.Stop(t.Context())
		pass(2 * time.Minute)
		w.expect("a", timer.Waiting)
		w.start(w.Service)
		if err := w.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if c := w.expect("a", timer.Completed).Completion(); !c.Late || c.Lateness != time.Minute {
			t.Errorf("what was due while nobody ran: %+v", c)
		}
		if n := w.Counters().Late.Load(); n != 1 {
			t.Errorf("%d are late, want 1", n)
		}
	})
}

func TestRequestsOnlyFiresNothing(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, func(o *timer.Options) { o.RequestsOnly, o.Signals = true, newSignals() })
		w.start(w.Service)
		w.set("a", time.Now().Add(time.Second), "")
		pass(time.Hour)
		w.expect("a", timer.Waiting)
	})
}

// moves is what can be done to a timer in each of its states.
func TestMoves(t *testing.T) {
	const first = time.Minute
	for _, c := range []struct {
		name string
		do   func(w *world, set time.Time) (timer.Timer, error)
		// from is how long after it was set; fires is when it fires, or never.
		from, fires time.Duration
		code        domain.Code
	}{
		{"cancel", func(w *world, _ time.Time) (timer.Timer, error) { return w.Cancel(w.t.Context(), "a") }, time.Second, 0, ""},
		{"cancel twice", func(w *world, _ time.Time) (timer.Timer, error) {
			_, _ = w.Cancel(w.t.Context(), "a")
			return w.Cancel(w.t.Context(), "a")
		}, time.Second, 0, ""},
		{"earlier", move(10 * time.Second), time.Second, 10 * time.Second, ""},
		{"later", move(10 * time.Minute), time.Second, 10 * time.Minute, ""},
		{"later at the last moment", move(10 * time.Minute), first - time.Microsecond, 10 * time.Minute, ""},
		{"the same", move(first), time.Second, first, ""},
		{"later, then earlier", func(w *world, set time.Time) (timer.Timer, error) {
			_, _ = move(time.Hour)(w, set)
			return move(30*time.Second)(w, set)
		}, time.Second, 30 * time.Second, ""},
		{"after it was canceled", func(w *world, set time.Time) (timer.Timer, error) {
			_, _ = w.Cancel(w.t.Context(), "a")
			return move(5*time.Minute)(w, set)
		}, time.Second, 5 * time.Minute, ""},
		{"cancel what has fired", func(w *world, _ time.Time) (timer.Timer, error) { return w.Cancel(w.t.Context(), "a") }, first, first, domain.CodeConflict},
		{"move what has fired", move(time.Hour), first, first, domain.CodeConflict},
		{"redeliver what waits", func(w *world, _ time.Time) (timer.Timer, error) { return w.Redeliver(w.t.Context(), "a") }, time.Second, first, domain.CodeConflict},
		{"move what is not there", func(w *world, set time.Time) (timer.Timer, error) {
			return w.Reschedule(w.t.Context(), "b", set)
		}, time.Second, first, domain.CodeNotFound},
		{"cancel what is not there", func(w *world, _ time.Time) (timer.Timer, error) { return w.Cancel(w.t.Context(), "b") }, time.Second, first, domain.CodeNotFound},
		{"to no instant", func(w *world, _ time.Time) (timer.Timer, error) {
			return w.Reschedule(w.t.Context(), "a", time.Time{})
		}, time.Second, first, domain.CodeInvalid},
	} {
		t.Run(c.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				w := started(t, nil)
				set := time.Now()
				w.set("a", set.Add(first), "")
				pass(c.from)
				if _, err := c.do(w, set); c.code == "" && err != nil || c.code != "" && domain.CodeOf(err) != c.code {
					t.Fatalf("got %v, want code %q", err, c.code)
				}
				pass(2 * time.Hour)
				if c.fires == 0 {
					w.expect("a", timer.Canceled)
					return
				}
				row := w.expect("a", timer.Completed)
				if got := row.FiredAt.Sub(set); got != c.fires || row.Completion().Late {
					t.Errorf("fired after %v, want %v: %+v", got, c.fires, row)
				}
				if got := all(t, w); len(got) != 1 {
					t.Errorf("completions: %+v", got)
				}
			})
		})
	}
}

func move(after time.Duration) func(w *world, set time.Time) (timer.Timer, error) {
	return func(w *world, set time.Time) (timer.Timer, error) {
		return w.Reschedule(w.t.Context(), "a", set.Add(after))
	}
}

// TestRacesOfManyWhoMove has many move and cancel the same few timers, at the
// instants when they fire. A timer that waits and that no entry of the trigger
// stands for would never end.
func TestRacesOfManyWhoMove(t *testing.T) {
	for _, failing := range []bool{false, true} {
		t.Run(fmt.Sprintf("faulty %v", failing), func(t *testing.T) {
			seed := testkit.Seed(t)
			bubble(t, func(t *testing.T) { race(t, seed, failing) })
		})
	}
}

func race(t *testing.T, seed uint64, failing bool) {
	const timers, people, moves = 20, 8, 200
	f := faulty.NewPlan()
	if failing {
		f = faulty.Random(seed, 0.05, 0.05)
	}
	w := newWorld(t, func(o *timer.Options) {
		o.Store = faulty.NewTimers(o.Store, f)
		if failing {
			// Only a trigger that others share can fail.
			o.Trigger, o.Signals = faulty.NewDueSet(o.Trigger, f), newSignals()
		}
	})
	_ = insist(t, func() error { return w.Start(t.Context()) })
	t.Cleanup(func() { w.Stop(t.Context()) })
	for i := range timers {
		_ = insist(t, func() error {
			_, err := w.Set(t.Context(), timer.Spec{ID: fmt.Sprint("t", i), At: time.Now().Add(time.Second).Truncate(time.Second)})
			return err
		})
	}
	var everybody sync.WaitGroup
	for p := range people {
		everybody.Go(func() {
			dice := random(seed + uint64(p))
			for range moves {
				id := fmt.Sprint("t", dice.IntN(timers))
				var err error
				switch dice.IntN(4) {
				case 0:
					_, err = w.Cancel(t.Context(), id)
				default:
					// Few instants, so that moves and firing meet.
					_, err = w.Reschedule(t.Context(), id, time.Now().Add(time.Duration(1+dice.IntN(4))*10*time.Millisecond).Truncate(10*time.Millisecond))
				}
				if err != nil && domain.CodeOf(err) != domain.CodeConflict && !errors.Is(err, faulty.ErrInjected) {
					t.Error(err)
				}
				if dice.IntN(3) == 0 {
					time.Sleep(time.Duration(dice.IntN(10)) * time.Millisecond)
				}
			}
		})
	}
	everybody.Wait()
	f.Heal()
	pass(10 * time.Minute)
	fired, canceled := count(t, w.store, timer.Completed), count(t, w.store, timer.Canceled)
	if fired+canceled != timers || len(all(t, w)) != fired {
		t.Errorf("%d fired and %d canceled of %d, with %d completions", fired, canceled, timers, len(all(t, w)))
	}
	w.noneLeft()
	if !failing && w.Counters().Fired.Load() != int64(fired) {
		t.Errorf("counted %d, fired %d", w.Counters().Fired.Load(), fired)
	}
	t.Logf("%d fired, %d canceled", fired, canceled)
}

// meddler has somebody do something before the trigger forgets a timer.
type meddler struct {
	due.Set
	meddle func()
}

func (m *meddler) Remove(ctx context.Context, ids ...string) error {
	if do := m.meddle; do != nil {
		m.meddle = nil
		do()
	}
	return m.Set.Remove(ctx, ids...)
}

// TestRescheduledWhileItIsCanceled: the row waits, and the trigger is told to
// forget it. Whether the row can be read then or not, it fires.
func TestRescheduledWhileItIsCanceled(t *testing.T) {
	for _, unread := range []bool{false, true} {
		bubble(t, func(t *testing.T) {
			f, m := faulty.NewPlan(), &meddler{}
			w := started(t, func(o *timer.Options) {
				m.Set = o.Trigger
				o.Trigger, o.Store = m, faulty.NewTimers(o.Store, f)
			})
			now := time.Now()
			w.set("a", now.Add(time.Minute), "")
			m.meddle = func() {
				if _, err := w.Reschedule(t.Context(), "a", now.Add(5*time.Minute)); err != nil {
					t.Error(err)
				}
				if unread {
					breakDown(f, "Timer")
				}
			}
			if _, err := w.Cancel(t.Context(), "a"); err != nil {
				t.Fatal(err)
			}
			f.Heal()
			pass(time.Hour)
			if row := w.expect("a", timer.Completed); row.FiredAt.Sub(now) != 5*time.Minute {
				t.Errorf("fired after %v", row.FiredAt.Sub(now))
			}
		})
	}
}
