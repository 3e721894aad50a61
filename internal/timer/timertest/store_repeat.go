package timertest

import (
	"time"

	"sluice/internal/domain"
	"sluice/internal/timer"
)

// repeatCases show that a call whose answer was lost can be made again.
var repeatCases = []testCase{
	{"RepeatedPut", repeatedPut},
	{"RepeatedFire", repeatedFire},
	{"RepeatedSettle", repeatedSettle},
	{"RepeatedChanges", repeatedChanges},
	{"RepeatedPrune", repeatedPrune},
}

// repeats makes a call and then again, and checks that the store is the same
// after each.
func (x *fixture) repeats(call func() error) {
	x.Helper()
	x.ok(call())
	once := x.all()
	for range 2 {
		x.ok(call())
		want(x, "timers after the repetition", x.all(), once)
	}
}

func repeatedPut(x *fixture) {
	specs := []timer.Spec{spec("b"), hooked("a")}
	x.repeats(func() error {
		stored, err := x.Put(x.Context(), specs, start)
		if err == nil {
			want(x, "answers", []timer.Timer{stored[0].Timer, stored[1].Timer}, []timer.Timer{waiting(specs[0]), waiting(specs[1])})
		}
		return err
	})
	want(x, "timers", len(x.all()), 2)
}

func repeatedFire(x *fixture) {
	x.put(spec("a"), hooked("b"))
	later := spec("later")
	later.At = after(9 * time.Hour)
	x.put(later)
	fresh := 0
	x.repeats(func() error {
		fired, err := x.Fire(x.Context(), firing(after(2*time.Hour), "a", "b", "later"))
		want(x, "answers", len(fired), 3)
		for _, f := range fired {
			if f.New {
				fresh++
			}
		}
		return err
	})
	want(x, "new", fresh, 2)
}

func repeatedSettle(x *fixture) {
	settled := []timer.Settlement{
		{ID: "a", To: timer.Completed, Tries: 1}, {ID: "b", To: timer.Dead, Tries: 4, Error: "gone"},
		{ID: "c", To: timer.Delivering, Next: after(5 * time.Hour), Tries: 2, Error: "busy"},
	}
	for _, s := range settled {
		x.inStatus(s.ID, timer.Delivering)
	}
	x.repeats(func() error { return x.Settle(x.Context(), settled) })
	// What came after the lost answer is not undone by the repetition.
	x.settle(timer.Settlement{ID: "c", To: timer.Delivering, Next: after(6 * time.Hour), Tries: 3, Error: "still busy"})
	x.repeats(func() error { return x.Settle(x.Context(), settled) })
	want(x, "tries", x.timer("c").Tries, 3)
}

func repeatedChanges(x *fixture) {
	x.inStatus("a", timer.Waiting)
	x.repeats(func() error {
		_, err := x.Cancel(x.Context(), "a")
		return err
	})
	x.repeats(func() error {
		t, err := x.Reschedule(x.Context(), "a", after(3*time.Hour), after(time.Minute))
		want(x, "instant", t.At, after(3*time.Hour))
		return err
	})
	x.inStatus("dead", timer.Dead)
	repeated := false
	x.repeats(func() error {
		_, err := x.Redeliver(x.Context(), "dead", after(4*time.Hour))
		if repeated {
			x.wantCode(err, domain.CodeConflict)
			return nil
		}
		repeated = true
		return err
	})
}

func repeatedPrune(x *fixture) {
	for _, status := range allStatuses {
		x.inStatus("t-"+status.String(), status)
	}
	x.repeats(func() error {
		_, err := x.Prune(x.Context(), after(9*time.Hour), 100)
		return err
	})
	want(x, "left", len(x.all()), 3)
}
