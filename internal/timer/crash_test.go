package timer_test

import (
	"fmt"
	"testing"
	"time"

	"sluice/internal/backend/memory"
	"sluice/internal/testkit"
	"sluice/internal/testkit/faulty"
	"sluice/internal/timer"
)

// TestCrashes has a process die at any of its calls, done or not, and the next
// begin on the same file: each timer fires once, whatever it takes.
func TestCrashes(t *testing.T) {
	const timers = 30
	rounds := testkit.Effort(10, 50)
	seed := testkit.Seed(t)
	crashed := 0
	for round := range uint64(rounds) {
		bubble(t, func(t *testing.T) {
			dice := random(seed + round)
			dir := t.TempDir()
			r := newReceiver()
			begin := time.Now()
			var stored []string
			for life, alive := 0, true; alive; life++ {
				store, closeStore := openStore(t, dir)
				// What the service does rolls dice of its own.
				f := faulty.Dying(dice.Uint64(), 1+dice.IntN(40))
				if life == 5 {
					f, alive = faulty.NewPlan(), false
				}
				s, err := timer.New(timer.Options{
					Store: faulty.NewTimers(store, f), Trigger: faulty.NewDueSet(memory.NewDueSet(memory.DueSetOptions{}), f), Server: fmt.Sprint("life-", life), Sender: r, Batch: 1 + dice.IntN(10),
				})
				if err != nil {
					t.Fatal(err)
				}
				if err := s.Start(t.Context()); err != nil && alive {
					closeStore()
					crashed++
					continue
				}
				for i := len(stored); i < timers && !f.Dead(); i++ {
					spec := timer.Spec{ID: fmt.Sprintf("t%02d", i), At: begin.Add(time.Duration(i*20) * time.Millisecond)}
					if i%3 == 0 {
						spec.Webhook = "https://example.com/"
					}
					// Who gets no answer asks again, if only in the next life.
					if _, err := s.Set(t.Context(), spec); err == nil {
						stored = append(stored, spec.ID)
					}
				}
				pass(time.Duration(dice.IntN(500)) * time.Millisecond)
				if !alive {
					pass(time.Minute)
				} else if f.Dead() {
					crashed++
				}
				s.Stop(t.Context())
				if alive {
					closeStore()
					continue
				}
				checkEnd(t, store, timers, r)
				closeStore()
			}
		})
		if t.Failed() {
			t.Fatalf("in round %d", round)
		}
	}
	if crashed < rounds {
		t.Errorf("only %d crashes in %d rounds", crashed, rounds)
	}
	t.Logf("%d crashes", crashed)
}

func checkEnd(t *testing.T, store timer.Store, timers int, r *receiver) {
	t.Helper()
	if got := count(t, store, timer.Completed); got != timers {
		t.Errorf("%d are completed, want %d", got, timers)
	}
	seen := map[string]int{}
	for _, c := range all(t, store) {
		if seen[c.Timer]++; seen[c.Timer] > 1 || c.Server == "" || c.FiredAt.Before(c.Due) {
			t.Errorf("the completion is %+v", c)
		}
	}
	for i := range timers {
		id := fmt.Sprintf("t%02d", i)
		if seen[id] != 1 {
			t.Errorf("timer %s has %d completions", id, seen[id])
		}
		if i%3 == 0 && len(r.times(id)) == 0 {
			t.Errorf("nobody was told of timer %s", id)
		}
	}
}
