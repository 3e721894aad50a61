package timertest

import (
	"time"

	"sluice/internal/domain"
	"sluice/internal/timer"
)

var changeCases = []testCase{
	{"CancelInEveryStatus", cancelStatuses},
	{"RescheduleInEveryStatus", rescheduleStatuses},
	{"RedeliverInEveryStatus", redeliverStatuses},
	{"ChangesOfWhatIsNotThere", changeMissing},
	{"NextAtInEveryStatus", nextAtStatuses},
	{"CancelOrFire", cancelOrFire},
	{"RescheduleOrFire", rescheduleOrFire},
}

// wantRefused checks that a change was refused and did nothing.
func (x *fixture) wantRefused(before timer.Timer, err error) {
	x.Helper()
	x.wantCode(err, domain.CodeConflict)
	want(x, "refused timer", x.timer(before.ID), before)
}

func cancelStatuses(x *fixture) {
	for _, status := range allStatuses {
		expected := x.inStatus("t-"+status.String(), status)
		got, err := x.Cancel(x.Context(), expected.ID)
		if status.HasFired() {
			x.wantRefused(expected, err)
			continue
		}
		x.ok(err)
		expected.Status, expected.NextAt = timer.Canceled, time.Time{}
		want(x, "answer", got, expected)
		want(x, "timer", x.timer(expected.ID), expected)
		want(x, "fired", x.fire(firing(after(9*time.Hour), expected.ID)), []timer.FireResult{{Timer: expected}})
	}
}

func rescheduleStatuses(x *fixture) {
	for _, status := range allStatuses {
		expected := x.inStatus("t-"+status.String(), status)
		for _, at := range []time.Time{after(5 * time.Hour), after(-5 * time.Hour)} {
			got, err := x.Reschedule(x.Context(), expected.ID, at, after(time.Minute))
			if status.HasFired() {
				x.wantRefused(expected, err)
				continue
			}
			x.ok(err)
			expected.Status, expected.At, expected.NextAt, expected.SetAt = timer.Waiting, at, at, after(time.Minute)
			want(x, "answer", got, expected)
			want(x, "timer", x.timer(expected.ID), expected)
		}
	}
	x.put(spec("later"))
	_, err := x.Reschedule(x.Context(), "later", after(2*time.Hour), after(time.Minute))
	x.ok(err)
	want(x, "fired at the old instant", x.fire(firing(after(time.Hour), "later"))[0].New, false)
	want(x, "fired at the new instant", x.fire(firing(after(2*time.Hour), "later"))[0].New, true)
}

func redeliverStatuses(x *fixture) {
	for _, status := range allStatuses {
		expected := x.inStatus("t-"+status.String(), status)
		got, err := x.Redeliver(x.Context(), expected.ID, after(3*time.Hour))
		if status != timer.Dead {
			x.wantRefused(expected, err)
			continue
		}
		x.ok(err)
		// Why the last attempt failed is told until there is another.
		expected.Status, expected.NextAt, expected.Tries = timer.Delivering, after(3*time.Hour), 0
		want(x, "answer", got, expected)
		want(x, "timer", x.timer(expected.ID), expected)
		x.settle(timer.Settlement{ID: expected.ID, To: timer.Completed, Tries: 1})
		expected.Status, expected.NextAt, expected.Tries, expected.Error = timer.Completed, time.Time{}, 1, ""
		want(x, "delivered", x.timer(expected.ID), expected)
	}
}

func changeMissing(x *fixture) {
	x.put(spec("there"))
	_, err := x.Cancel(x.Context(), "missing")
	x.wantCode(err, domain.CodeNotFound)
	_, err = x.Reschedule(x.Context(), "missing", after(time.Hour), start)
	x.wantCode(err, domain.CodeNotFound)
	_, err = x.Redeliver(x.Context(), "missing", start)
	x.wantCode(err, domain.CodeNotFound)
	x.settle(timer.Settlement{ID: "missing", To: timer.Completed, Tries: 1})
	want(x, "timers", idsOf(x.all(), timerID), []string{"there"})
}

func nextAtStatuses(x *fixture) {
	expected := map[timer.Status]time.Time{timer.Waiting: after(time.Hour), timer.Delivering: after(2*time.Hour + 15*time.Second)}
	for _, status := range allStatuses {
		want(x, status.String(), x.inStatus("t-"+status.String(), status).NextAt, expected[status])
	}
	open := x.openNow()
	want(x, "open", len(open), 2)
	want(x, "waiting", open["t-WAITING"], expected[timer.Waiting])
	want(x, "delivering", open["t-DELIVERING"], expected[timer.Delivering])
}

// cancelOrFire: of a cancellation and a firing at the same time one wins.
func cancelOrFire(x *fixture) {
	for _, id := range x.putMany(20) {
		var canceled error
		var fired []timer.FireResult
		together(2, func(i int) {
			var err error
			if i == 0 {
				_, canceled = x.Cancel(x.Context(), id)
				return
			}
			if fired, err = x.Fire(x.Context(), firing(after(2*time.Hour), id)); err != nil || len(fired) != 1 {
				x.Errorf("fire: %v", err)
			}
		})
		status := timer.Canceled
		if canceled != nil {
			x.wantCode(canceled, domain.CodeConflict)
			status = timer.Completed
		}
		want(x, "status", x.timer(id).Status, status)
		want(x, "fired", fired[0].New, canceled != nil)
	}
}

func rescheduleOrFire(x *fixture) {
	for _, id := range x.putMany(20) {
		var moved error
		var fired []timer.FireResult
		together(2, func(i int) {
			var err error
			if i == 0 {
				_, moved = x.Reschedule(x.Context(), id, after(9*time.Hour), after(time.Minute))
				return
			}
			if fired, err = x.Fire(x.Context(), firing(after(2*time.Hour), id)); err != nil || len(fired) != 1 {
				x.Errorf("fire: %v", err)
			}
		})
		if moved != nil {
			x.wantCode(moved, domain.CodeConflict)
		}
		t := x.timer(id)
		want(x, "fired", fired[0].New, moved != nil)
		want(x, "status", t.Status == timer.Waiting, moved == nil)
	}
}
