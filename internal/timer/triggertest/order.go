package triggertest

import (
	"context"
	"time"

	"sluice/internal/domain"
	"sluice/internal/timer"
)

var orderCases = []testCase{
	{name: "DueOrder", check: dueOrder},
	{name: "NothingBeforeItsInstant", check: nothingBeforeItsInstant},
	{name: "PastInstantsAtOnce", check: pastInstantsAtOnce},
	{name: "TenYearsAhead", check: tenYearsAhead},
	{name: "TakesNoMoreThanAsked", check: takesNoMoreThanAsked},
	{name: "SetMovesEarlierNeverLater", check: setMovesEarlierNeverLater},
	{name: "RemoveOfWaiting", check: removeOfWaiting},
	{name: "ReservedIDs", check: reservedIDs},
	{name: "NothingToDo", check: nothingToDo},
}

func dueOrder(x *stand) {
	x.ok(x.Set(x.Context(),
		timer.Due{ID: "third", At: x.in(-2)}, timer.Due{ID: "first", At: x.in(-40)}, timer.Due{ID: "fourth", At: x.in(1)},
		timer.Due{ID: "second", At: x.in(-30)}))
	x.expect("first", "second", "third", "fourth")
}

func nothingBeforeItsInstant(x *stand) {
	// Odd instants show whether somebody rounds to less.
	for i, id := range names(5) {
		at := time.Now().Add(x.unit + time.Duration(i)*(17*time.Millisecond+301*time.Microsecond)).Truncate(time.Microsecond)
		x.set(at, id)
		got := x.take(5)
		x.same(got.Taken, id)
		x.notBefore(got, at)
	}
}

func pastInstantsAtOnce(x *stand) {
	x.set(time.Unix(0, 0), "from-1970")
	x.expect("from-1970")
	x.set(x.in(-1), "past")
	x.expect("past")
}

func tenYearsAhead(x *stand) {
	at := time.Now().AddDate(10, 0, 0)
	x.set(at, "in ten years")
	x.set(time.Date(2199, 12, 31, 23, 59, 59, 0, time.UTC), "at the end")
	x.expectNone(2)
	x.set(x.in(0), "in ten years")
	x.expect("in ten years")
}

func takesNoMoreThanAsked(x *stand) {
	ids := names(5)
	for i, id := range ids {
		x.set(x.in(i-10), id)
	}
	var taken []timer.Taken
	for len(taken) < len(ids) {
		// More than that is an error of every case.
		taken = append(taken, x.take(2).Taken...)
	}
	x.same(taken, ids...)
}

// setMovesEarlierNeverLater: of two that race to move a timer the later must
// not win.
func setMovesEarlierNeverLater(x *stand) {
	x.set(x.in(5), "a", "b")
	x.set(x.in(long), "a")
	x.set(x.in(1), "b")
	got := x.take(2)
	x.same(got.Taken, "b")
	x.ok(x.Done(x.Context(), got.Taken...))
	x.same(x.take(2).Taken, "a")
	x.expectNone(6)
}

func removeOfWaiting(x *stand) {
	x.set(x.in(2), "a", "b", "c")
	x.ok(x.another().Remove(x.Context(), "a", "c", "unknown"))
	x.expect("b")
	x.expectNone(2)
	x.set(x.in(1), "a")
	x.expect("a")
}

func reservedIDs(x *stand) {
	x.set(x.in(1), timer.PruneID)
	x.set(x.in(2), "~guard:server:1")
	taken := x.expect(timer.PruneID, "~guard:server:1")
	x.ok(x.Done(x.Context(), taken...))
	x.set(x.in(1), timer.RebuildID, timer.MissedID)
	seen := map[string]bool{}
	for len(seen) < 2 {
		batch, err := x.Take(x.Context(), 5)
		x.ok(err)
		x.ok(x.Done(x.Context(), batch.Taken...))
		for _, one := range batch.Taken {
			seen[one.ID] = true
		}
	}
}

func nothingToDo(x *stand) {
	x.ok(x.Set(x.Context()))
	x.ok(x.Remove(x.Context()))
	x.ok(x.Done(x.Context()))
	x.ok(x.Again(x.Context()))
	if _, err := x.Take(x.Context(), 0); domain.CodeOf(err) != domain.CodeInvalid {
		x.Errorf("taking none: %v, want an error of code invalid", err)
	}
	ended, cancel := context.WithCancel(x.Context())
	cancel()
	if _, err := x.Take(ended, 1); err == nil {
		x.Error("a call whose context has ended took something")
	}
}
