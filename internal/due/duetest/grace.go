package duetest

import (
	"strings"
	"time"

	"sluice/internal/due"
)

// A grace is long enough for a busy machine to say in it what became of what
// was taken.
var graceCases = []testCase{
	{name: "NotDoneComesAgain", grace: 5, check: notDoneComesAgain},
	{name: "DoneDoesNotComeAgain", grace: 4, check: doneDoesNotComeAgain},
	{name: "DoneByTheOneBefore", grace: 4, check: doneByTheOneBefore},
	{name: "DoneAfterPutKeepsTheNew", anew: true, check: doneAfterPutKeepsTheNew},
	{name: "DoneAfterALaterPutKeepsTheNew", grace: 4, anew: true, check: doneAfterALaterPutKeepsTheNew},
	{name: "PutOfTaken", anew: true, check: putOfTaken},
	{name: "RemoveOfTaken", grace: 4, anew: true, check: removeOfTaken},
	{name: "AgainLaterThanTheGrace", grace: 4, check: againLaterThanTheGrace},
	{name: "AgainAfterPutChangesNothing", anew: true, check: againAfterPutChangesNothing},
	{name: "TokenOfNobody", check: tokenOfNobody},
}

func again(taken due.Taken, at time.Time) due.Again { return due.Again{Taken: taken, At: at} }

func notDoneComesAgain(x *stand) {
	x.put(x.in(0), "a", "b")
	began := time.Now()
	taken := x.expect("a", "b")
	x.ok(x.Done(x.Context(), taken[0]))
	got := x.take(2)
	x.same(got.Taken, strings.TrimPrefix(taken[1].ID, id("")))
	x.notBefore(got, began.Add(5*x.unit))
	if got.Taken[0].Token == taken[1].Token {
		x.Errorf("the token %d was given twice", taken[1].Token)
	}
}

func doneDoesNotComeAgain(x *stand) {
	x.put(x.in(0), "a")
	// Somebody else may do it.
	x.ok(x.another().Done(x.Context(), x.expect("a")...))
	x.expectNone(6)
}

// doneByTheOneBefore: who was too slow does not end what another one does.
func doneByTheOneBefore(x *stand) {
	x.put(x.in(0), "a")
	slow := x.expect("a")
	second := x.expect("a")
	x.ok(x.Done(x.Context(), slow...))
	x.ok(x.Again(x.Context(), again(slow[0], x.in(long))))
	third := x.expect("a")
	x.ok(x.Done(x.Context(), append(second, third...)...))
	x.expectNone(6)
}

func doneAfterPutKeepsTheNew(x *stand) {
	x.put(x.in(0), "a")
	taken := x.expect("a")
	at := x.in(2)
	x.put(at, "a")
	x.ok(x.Done(x.Context(), taken...))
	got := x.take(1)
	x.same(got.Taken, "a")
	x.notBefore(got, at)
}

// doneAfterALaterPutKeepsTheNew: also one whose instant is after the grace.
func doneAfterALaterPutKeepsTheNew(x *stand) {
	x.put(x.in(0), "a")
	taken := x.expect("a")
	x.put(x.in(long), "a")
	x.ok(x.Done(x.Context(), taken...))
	x.same(x.take(1).Taken, "a")
}

func putOfTaken(x *stand) {
	x.put(x.in(0), "a")
	x.expect("a")
	at := x.in(2)
	x.ok(x.another().Put(x.Context(), entry("a", at)))
	got := x.take(1)
	x.same(got.Taken, "a")
	x.notBefore(got, at)
}

func removeOfTaken(x *stand) {
	x.put(x.in(0), "a", "b")
	taken := x.expect("a", "b")
	x.ok(x.another().Remove(x.Context(), id("a"), id("b")))
	x.expectNone(6)
	x.put(x.in(1), "a")
	x.ok(x.Done(x.Context(), taken...))
	x.expect("a")
}

func againLaterThanTheGrace(x *stand) {
	x.put(x.in(0), "a")
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

func againAfterPutChangesNothing(x *stand) {
	x.put(x.in(0), "a")
	taken := x.expect("a")
	x.put(x.in(2), "a")
	x.ok(x.Again(x.Context(), again(taken[0], x.in(long))))
	x.expect("a")
}

func tokenOfNobody(x *stand) {
	x.put(time.Unix(0, 0), "a")
	x.ok(x.Done(x.Context(), due.Taken{ID: id("a")}, due.Taken{ID: id("unknown"), Token: 1}))
	x.ok(x.Again(x.Context(), again(due.Taken{ID: id("unknown"), Token: 7}, x.in(0)), again(due.Taken{ID: id("other")}, x.in(0))))
	x.expect("a")
	x.expectNone(2)
}
