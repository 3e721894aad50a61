package triggertest

import (
	"context"
	"errors"
	"time"
)

var waitCases = []testCase{
	{name: "WaitEndsAtMaxWait", wait: 3, check: waitEndsAtMaxWait},
	{name: "SetWakes", check: setWakes},
	{name: "SetElsewhereWakes", check: setElsewhereWakes},
	{name: "EarlierInstantWakesEarlier", check: earlierInstantWakesEarlier},
	{name: "AgainWakes", check: againWakes},
	{name: "EachWaiterIsServed", check: eachWaiterIsServed},
	{name: "CancelEndsAWait", check: cancelEndsAWait},
}

func waitEndsAtMaxWait(x *stand) {
	x.set(x.in(long), "far")
	began := time.Now()
	got := x.takeFrom(x.Context(), x.Trigger, 1)
	x.ok(got.err)
	if len(got.Taken) > 0 {
		x.Fatalf("took %v", got.Taken)
	}
	if waited := got.when.Sub(began); waited < 3*x.unit || x.FakeClock && waited > 3*x.unit {
		x.Errorf("waited for %v, want %v", waited, 3*x.unit)
	}
	if got.Now.IsZero() {
		x.Error("an empty batch has no time")
	}
}

func setWakes(x *stand) {
	x.set(x.in(long), "far")
	done := x.beside(x.Context(), x.Trigger, 5)
	x.set(x.in(0), "near")
	x.woken(<-done, "near")
}

func setElsewhereWakes(x *stand) {
	there := x.another()
	x.set(x.in(long), "far")
	done := x.beside(x.Context(), there, 5)
	// The other one is certainly waiting when it has taken something.
	for _, id := range names(3) {
		x.set(x.in(0), id)
		got := <-done
		x.woken(got, id)
		x.ok(there.Done(x.Context(), got.Taken...))
		done = x.beside(x.Context(), there, 5)
	}
	at := x.in(2)
	x.set(at, "soon")
	got := <-done
	x.woken(got, "soon")
	x.notBefore(got, at)
}

// woken checks that a wait ended because of a timer and long before its end.
func (x *stand) woken(got taking, id string) {
	x.Helper()
	x.ok(got.err)
	x.same(got.Taken, id)
}

func earlierInstantWakesEarlier(x *stand) {
	at := x.in(4)
	x.set(x.in(long), "far")
	done := x.beside(x.Context(), x.Trigger, 5)
	x.ok(x.another().Set(x.Context(), due("near", x.in(8)), due("nearer", at)))
	got := <-done
	x.woken(got, "nearer")
	x.notBefore(got, at)
}

func againWakes(x *stand) {
	x.set(x.in(0), "a")
	taken := x.expect("a")
	done := x.beside(x.Context(), x.another(), 5)
	at := x.in(2)
	x.ok(x.Again(x.Context(), again(taken[0], at)))
	got := <-done
	x.woken(got, "a")
	x.notBefore(got, at)
}

func eachWaiterIsServed(x *stand) {
	const waiters = 5
	results := make(chan taking, waiters)
	for i := range waiters {
		from := x.Trigger
		if i%2 == 1 {
			from = x.another()
		}
		go func() { results <- x.takeFrom(x.Context(), from, 1) }()
	}
	x.settled()
	ids := names(waiters)
	x.set(x.in(1), ids...)
	seen := map[string]bool{}
	for range waiters {
		got := <-results
		x.ok(got.err)
		for _, one := range got.Taken {
			seen[one.ID] = true
		}
	}
	if len(seen) != waiters {
		x.Errorf("%d waiters got %v", waiters, seen)
	}
}

func cancelEndsAWait(x *stand) {
	x.set(x.in(long), "far")
	ctx, cancel := context.WithCancel(x.Context())
	first, second := x.beside(ctx, x.Trigger, 1), x.beside(ctx, x.Trigger, 1)
	cancel()
	for _, done := range []<-chan taking{first, second} {
		if got := <-done; !errors.Is(got.err, context.Canceled) || len(got.Taken) > 0 {
			x.Errorf("took %v with error %v", got.Taken, got.err)
		}
	}
	// Whoever has gone keeps nothing from those who stay.
	x.set(x.in(1), "near")
	x.expect("near")
}
