package triggertest

import (
	"time"

	"sluice/internal/timer"
)

// A grace is long enough for a busy machine to say in it what became of what
// was taken.
var graceCases = []testCase{
	{name: "NotDoneComesAgain", grace: 5, check: notDoneComesAgain},
	{name: "DoneDoesNotComeAgain", grace: 4, check: doneDoesNotComeAgain},
	{name: "DoneByTheOneBefore", grace: 4, check: doneByTheOneBefore},
	{name: "DoneAfterSetKeepsTheNew", check: doneAfterSetKeepsTheNew},
	{name: "DoneAfterALaterSetKeepsTheNew", grace: 4, check: doneAfterALaterSetKeepsTheNew},
	{name: "SetOfTaken", check: setOfTaken},
	{name: "RemoveOfTaken", grace: 4, check: removeOfTaken},
	{name: "AgainLaterThanTheGrace", grace: 4, check: againLaterThanTheGrace},
	{name: "AgainAfterSetChangesNothing", check: againAfterSetChangesNothing},
	{name: "TokenOfNobody", check: tokenOfNobody},
}

func due(id string, at time.Time) timer.Due { return timer.Due{ID: id, At: at} }

func again(taken timer.Taken, at time.Time) timer.Again { return timer.Again{Taken: taken, At: at} }

func notDoneComesAgain(x *stand) {
	x.set(x.in(0), "a", "b")
	began := time.Now()
	taken := x.expect("a", "b")
	x.ok(x.Done(x.Context(), taken[0]))
	got := x.take(2)
	x.same(got.Taken, taken[1].ID)
	x.notBefore(got, began.Add(5*x.unit))
	if got.Taken[0].Token == taken[1].Token {
		x.Errorf("the token %d was given twice", taken[1].Token)
	}
}

func doneDoesNotComeAgain(x *stand) {
	x.set(x.in(0), "a")
	// Somebody else may do it.
	x.ok(x.another().Done(x.Context(), x.expect("a")...))
	x.expectNone(6)
}

// doneByTheOneBefore: who was too slow does not end what another one does.
func doneByTheOneBefore(x *stand) {
	x.set(x.in(0), "a")
	slow := x.expect("a")
	second := x.expect("a")
	x.ok(x.Done(x.Context(), slow...))
	x.ok(x.Again(x.Context(), again(slow[0], x.in(long))))
	third := x.expect("a")
	x.ok(x.Done(x.Context(), append(second, third...)...))
	x.expectNone(6)
}

func doneAfterSetKeepsTheNew(x *stand) {
	x.set(x.in(0), "a")
	taken := x.expect("a")
	at := x.in(2)
	x.set(at, "a")
	x.ok(x.Done(x.Context(), taken...))
	got := x.take(1)
	x.same(got.Taken, "a")
	x.notBefore(got, at)
}

// doneAfterALaterSetKeepsTheNew: also one whose instant is after the grace.
func doneAfterALaterSetKeepsTheNew(x *stand) {
	x.set(x.in(0), "a")
	taken := x.expect("a")
	x.set(x.in(long), "a")
	x.ok(x.Done(x.Context(), taken...))
	x.same(x.take(1).Taken, "a")
}

func setOfTaken(x *stand) {
	x.set(x.in(0), "a")
	x.expect("a")
	at := x.in(2)
	x.ok(x.another().Set(x.Context(), due("a", at)))
	got := x.take(1)
	x.same(got.Taken, "a")
	x.notBefore(got, at)
}

func removeOfTaken(x *stand) {
	x.set(x.in(0), "a", "b")
	taken := x.expect("a", "b")
	x.ok(x.another().Remove(x.Context(), "a", "b"))
	x.expectNone(6)
	x.set(x.in(1), "a")
	x.ok(x.Done(x.Context(), taken...))
	x.expect("a")
}

func againLaterThanTheGrace(x *stand) {
	x.set(x.in(0), "a")
	taken := x.expect("a")
	at := x.in(8)
	x.ok(x.Again(x.Context(), again(taken[0], at)))
	x.ok(x.Done(x.Context(), taken...))
	got := x.take(1)
	x.same(got.Taken, "a")
	x.notBefore(got, at)
	x.ok(x.Again(x.Context(), again(got.Taken[0], time.Unix(0, 0))))
	x.expect("a")
}

func againAfterSetChangesNothing(x *stand) {
	x.set(x.in(0), "a")
	taken := x.expect("a")
	x.set(x.in(2), "a")
	x.ok(x.Again(x.Context(), again(taken[0], x.in(long))))
	x.expect("a")
}

func tokenOfNobody(x *stand) {
	x.set(time.Unix(0, 0), "a")
	x.ok(x.Done(x.Context(), timer.Taken{ID: "a"}, timer.Taken{ID: "unknown", Token: 1}))
	x.ok(x.Again(x.Context(), again(timer.Taken{ID: "unknown", Token: 7}, x.in(0)), again(timer.Taken{ID: "other"}, x.in(0))))
	x.expect("a")
	x.expectNone(2)
}
