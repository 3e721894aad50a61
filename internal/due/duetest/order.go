package duetest

import (
	"context"
	"time"

	"sluice/internal/domain"
	"sluice/internal/due"
)

var orderCases = []testCase{
	{name: "DueOrder", check: dueOrder},
	{name: "NothingBeforeItsInstant", check: nothingBeforeItsInstant},
	{name: "PastInstantsAtOnce", check: pastInstantsAtOnce},
	{name: "TenYearsAhead", check: tenYearsAhead},
	{name: "TakesNoMoreThanAsked", check: takesNoMoreThanAsked},
	{name: "PutMovesEarlierNeverLater", check: putMovesEarlierNeverLater},
	{name: "RemoveOfWaiting", check: removeOfWaiting},
	{name: "ReservedIDs", check: reservedIDs},
	{name: "NothingToDo", check: nothingToDo},
}

func dueOrder(x *stand) {
	x.ok(x.Put(x.Context(),
		entry("third", x.in(-2)), entry("first", x.in(-40)), entry("fourth", x.in(1)), entry("second", x.in(-30))))
	x.expect("first", "second", "third", "fourth")
}

func nothingBeforeItsInstant(x *stand) {
	// Odd instants show whether somebody rounds to less.
	for i, name := range names(5) {
		at := time.Now().Add(x.unit + time.Duration(i)*(17*time.Millisecond+301*time.Microsecond)).Truncate(time.Microsecond)
		x.put(at, name)
		got := x.take(5)
		x.same(got.Taken, name)
		x.notBefore(got, at)
	}
}

func pastInstantsAtOnce(x *stand) {
	x.put(time.Unix(0, 0), "from-1970")
	x.expect("from-1970")
	x.put(x.in(-1), "past")
	x.expect("past")
}

func tenYearsAhead(x *stand) {
	at := time.Now().AddDate(10, 0, 0)
	x.put(at, "in ten years")
	x.put(time.Date(2199, 12, 31, 23, 59, 59, 0, time.UTC), "at the end")
	x.expectNone(2)
	x.put(x.in(0), "in ten years")
	x.expect("in ten years")
}

func takesNoMoreThanAsked(x *stand) {
	all := names(5)
	for i, name := range all {
		x.put(x.in(i-10), name)
	}
	var taken []due.Taken
	for len(taken) < len(all) {
		// More than that is an error of every case.
		taken = append(taken, x.take(2).Taken...)
	}
	x.same(taken, all...)
}

// putMovesEarlierNeverLater: of two that race to move an entry the later must
// not win.
func putMovesEarlierNeverLater(x *stand) {
	first := x.in(5)
	x.put(first, "a", "b")
	x.put(x.in(long), "a")
	x.put(x.in(1), "b")
	got := x.take(2)
	if got.Now.Before(first) {
		x.same(got.Taken, "b")
	}
	// On a busy machine both may be due by now.
	x.ok(x.Done(x.Context(), got.Taken...))
	taken := got.Taken
	for len(taken) < 2 {
		got = x.take(2)
		x.ok(x.Done(x.Context(), got.Taken...))
		taken = append(taken, got.Taken...)
	}
	if x.same(taken, "b", "a"); !got.Now.Before(first.Add(long / 2 * x.unit)) {
		x.Errorf("the last was handed out at %v, long after %v", got.Now, first)
	}
	x.expectNone(6)
}

func removeOfWaiting(x *stand) {
	x.put(x.in(2), "a", "b", "c")
	x.ok(x.another().Remove(x.Context(), id("a"), id("c"), id("unknown")))
	x.expect("b")
	x.expectNone(2)
	x.put(x.in(1), "a")
	x.expect("a")
}

func reservedIDs(x *stand) {
	x.put(x.in(1), "~prune")
	x.put(x.in(2), "~guard:server:1")
	taken := x.expect("~prune", "~guard:server:1")
	x.ok(x.Done(x.Context(), taken...))
	x.put(x.in(1), due.RebuildID, due.MissedID)
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
	x.ok(x.Put(x.Context()))
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
