package timer_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"sluice/internal/testkit/faulty"
	"sluice/internal/timer"
	"sluice/internal/webhook"
)

// put stores timers that the trigger is not told of.
func (w *world) put(n int, at time.Time, prefix, webhook string) {
	w.t.Helper()
	specs := make([]timer.Spec, n)
	for i := range specs {
		specs[i] = timer.Spec{ID: fmt.Sprint(prefix, i), At: at, Webhook: webhook}
	}
	// They were set in time.
	if _, err := w.store.Put(w.t.Context(), specs, at.Add(-time.Hour)); err != nil {
		w.t.Fatal(err)
	}
}

func checkLate(t *testing.T, got []timer.Completion, n int, lateness time.Duration) {
	t.Helper()
	seen := map[string]bool{}
	for _, c := range got {
		if !c.Late || c.Lateness != lateness || seen[c.Timer] {
			t.Errorf("the completion is %+v, want late by %v", c, lateness)
		}
		seen[c.Timer] = true
	}
	if len(seen) != n {
		t.Errorf("%d have fired, want %d", len(seen), n)
	}
}

func TestMissedAtStart(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newShared(t)
		w.put(1200, time.Now().Add(-time.Minute), "missed-", "")
		s := w.healthy("one")
		synctest.Wait()
		checkLate(t, all(t, w.store), 1200, time.Minute)
		if n := s.Counters(); n.Fired.Load() != 1200 || n.Late.Load() != 1200 {
			t.Errorf("fired %d, late %d", n.Fired.Load(), n.Late.Load())
		}
		w.healthy("two")
		pass(time.Minute)
		checkLate(t, all(t, w.store), 1200, time.Minute)
	})
}

// TestMissedAfterAnOutage: the trigger fails, and comes back without some of
// what it knew. The store does not work at once either.
func TestMissedAfterAnOutage(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newShared(t)
		store, trigger := faulty.NewPlan(), faulty.NewPlan()
		s := w.server("one", store, trigger)
		w.start(s)
		pass(time.Second)
		breakDown(trigger)
		pass(31 * time.Second) // the wait that is under way ends
		due := time.Now()
		w.put(10, due, "missed-", "")
		pass(20 * time.Second)
		breakDown(store, "Overdue")
		trigger.Heal()
		pass(10 * time.Second)
		if got := all(t, w.store); len(got) != 0 {
			t.Fatalf("%d have fired", len(got))
		}
		store.Heal()
		pass(2 * time.Second)
		got := all(t, w.store)
		if len(got) != 10 || !got[0].Late {
			t.Errorf("fired: %+v", got)
		}
		pass(time.Hour)
		if again := all(t, w.store); len(again) != 10 {
			t.Errorf("%d completions", len(again))
		}
	})
}

// TestMissedOnDemand: what is being delivered stands in the way of what is not
// seen yet, and is not counted twice.
func TestMissedOnDemand(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newReceiver()
		w := newWorld(t, func(o *timer.Options) { o.Sender, o.RequestsOnly, o.Signals = r, true, newSignals() })
		w.start(w.Service)
		old := time.Now().Add(-time.Hour)
		w.put(600, old, "delivering-", "https://example.com/")
		var ids []string
		for i := range 600 {
			ids = append(ids, fmt.Sprint("delivering-", i))
		}
		if _, err := w.store.Fire(t.Context(), timer.Firing{IDs: ids, Now: old, Server: "dead"}); err != nil {
			t.Fatal(err)
		}
		w.put(700, old.Add(time.Minute), "waiting-", "")
		w.put(50, old.Add(2*time.Minute), "webhook-", "https://example.com/")
		w.put(5, time.Now().Add(-timer.LateAfter), "fresh-", "") // not missed yet
		w.put(5, time.Now().Add(time.Minute), "future-", "")
		found, err := w.DetectMissed(t.Context())
		if err != nil || found.Found != 1350 || found.FiredNow != 750 || len(found.Timers) != 100 {
			t.Errorf("found %d, fired %d, named %d, %v; want 1350, 750 and 100", found.Found, found.FiredNow, len(found.Timers), err)
		}
		if n := w.Counters(); n.Fired.Load() != 750 || n.Late.Load() != 750 {
			t.Errorf("fired %d, late %d", n.Fired.Load(), n.Late.Load())
		}
		for _, id := range []string{"waiting-0", "waiting-699"} {
			if c := w.expect(id, timer.Completed).Completion(); !c.Late || c.Lateness != 59*time.Minute || c.Server != "alone" {
				t.Errorf("the completion is %+v", c)
			}
		}
		w.expect("webhook-49", timer.Delivering)
		w.expect("fresh-0", timer.Waiting)
		w.expect("future-0", timer.Waiting)
		// Whoever serves the trigger delivers what is to be delivered.
		w.start(w.service("worker", func(o *timer.Options) { o.Sender = r }))
		pass(time.Minute)
		w.expect("webhook-49", timer.Completed)
		w.expect("delivering-599", timer.Completed)
		if found, err := w.DetectMissed(t.Context()); err != nil || found.Found != 0 || found.FiredNow != 0 || found.Timers == nil {
			t.Errorf("again: %+v, %v", found, err)
		}
		w.noneLeft()
	})
}

func TestManyLookForMissedTimers(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, nil)
		w.put(3000, time.Now().Add(-time.Minute), "", "")
		var everybody sync.WaitGroup
		var mu sync.Mutex
		fired := 0
		for range 6 {
			everybody.Go(func() {
				found, err := w.DetectMissed(t.Context())
				if err != nil || found.Found > 3000 || found.FiredNow > found.Found {
					t.Errorf("%+v, %v", found, err)
				}
				mu.Lock()
				defer mu.Unlock()
				fired += found.FiredNow
			})
		}
		everybody.Wait()
		if fired != 3000 || w.Counters().Fired.Load() != 3000 {
			t.Errorf("fired %d, counted %d, want 3000", fired, w.Counters().Fired.Load())
		}
		checkLate(t, all(t, w.store), 3000, time.Minute)
	})
}

// TestMissedWhileTheTriggerIsDown: the rows are the truth.
func TestMissedWhileTheTriggerIsDown(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newShared(t)
		trigger := faulty.NewPlan()
		breakDown(trigger)
		w.put(3, time.Now().Add(-time.Minute), "", "")
		found, err := w.server("one", faulty.NewPlan(), trigger).DetectMissed(t.Context())
		if err != nil || found.FiredNow != 3 {
			t.Errorf("%+v, %v", found, err)
		}
		checkLate(t, all(t, w.store), 3, time.Minute)
	})
}

func TestOldTimersAreRemoved(t *testing.T) {
	bubble(t, func(t *testing.T) {
		log, r := newLog(), newReceiver()
		r.answer = func(context.Context, webhook.Message, int) webhook.Result {
			return webhook.Result{Permanent: true, Error: "gone"}
		}
		w := started(t, func(o *timer.Options) { o.Log, o.Sender = log.failing(), r })
		day := 24 * time.Hour
		now := time.Now()
		w.setMany(w.Service, 2500, func(i int) timer.Spec { return timer.Spec{ID: fmt.Sprint("old-", i), At: now} })
		w.set("dead", now, "https://example.com/")
		w.set("canceled", now.Add(day), "")
		if _, err := w.Cancel(t.Context(), "canceled"); err != nil {
			t.Fatal(err)
		}
		w.set("young", now.Add(5*day), "")
		w.set("waits", now.Add(100*day), "")
		pass(timer.Retention - time.Hour)
		w.expect("old-0", timer.Completed)
		w.expect("dead", timer.Dead)
		pass(day + time.Hour)
		left, err := w.Timers(t.Context(), timer.Query{})
		if err != nil || len(left) != 2 || left[0].ID != "waits" || left[1].ID != "young" {
			t.Errorf("left: %d %+v, %v", len(left), left[:min(3, len(left))], err)
		}
		if got := all(t, log); len(got) != 1 || got[0].Timer != "young" {
			t.Errorf("%d left in the log", len(got))
		}
		pass(6 * day)
		if got := all(t, log); len(got) != 0 {
			t.Errorf("%d left in the log: it is looked at every day", len(got))
		}
		pass(70 * day)
		w.expect("waits", timer.Completed)
	})
}
