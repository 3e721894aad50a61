package duetest

import (
	"context"
	"errors"
	"time"
)

var waitCases = []testCase{
	{name: "WaitEndsAtMaxWait", wait: 3, check: waitEndsAtMaxWait},
	{name: "PutWakes", check: putWakes},
	{name: "PutElsewhereWakes", check: putElsewhereWakes},
	{name: "EarlierInstantWakesEarlier", check: earlierInstantWakesEarlier},
	{name: "AgainWakes", check: againWakes},
	{name: "EachWaiterIsServed", check: eachWaiterIsServed},
	{name: "CancelEndsAWait", check: cancelEndsAWait},
}

func waitEndsAtMaxWait(x *stand) {
	x.put(x.in(long), "far")
	began := time.Now()
	got := x.takeFrom(x.Context(), x.Set, 1)
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

func putWakes(x *stand) {
	x.put(x.in(long), "far")
	done := x.beside(x.Context(), x.Set, 5)
	x.put(x.in(0), "near")
	x.woken(<-done, "near")
}

func putElsewhereWakes(x *stand) {
	there := x.another()
	x.put(x.in(long), "far")
	done := x.beside(x.Context(), there, 5)
	// The other one is certainly waiting when it has taken something.
	for _, name := range names(3) {
		x.put(x.in(0), name)
		got := <-done
		x.woken(got, name)
		x.ok(there.Done(x.Context(), got.Taken...))
		done = x.beside(x.Context(), there, 5)
	}
	at := x.in(2)
	x.put(at, "soon")
	got := <-done
	x.woken(got, "soon")
	x.notBefore(got, at)
}

// woken checks that a wait ended because of an entry and long before its end.
func (x *stand) woken(got taking, name string) {
	x.Helper()
	x.ok(got.err)
	x.same(got.Taken, name)
}

func earlierInstantWakesEarlier(x *stand) {
	at := x.in(4)
	x.put(x.in(long), "far")
	done := x.beside(x.Context(), x.Set, 5)
	x.ok(x.another().Put(x.Context(), entry("near", x.in(long/2)), entry("nearer", at)))
	got := <-done
	x.woken(got, "nearer")
	x.notBefore(got, at)
}

func againWakes(x *stand) {
	x.put(x.in(0), "a")
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
		from := x.Set
		if i%2 == 1 {
			from = x.another()
		}
		go func() { results <- x.takeFrom(x.Context(), from, 1) }()
	}
	x.settled()
	x.put(x.in(1), names(waiters)...)
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
	x.put(x.in(long), "far")
	ctx, cancel := context.WithCancel(x.Context())
	first, second := x.beside(ctx, x.Set, 1), x.beside(ctx, x.Set, 1)
	cancel()
	for _, done := range []<-chan taking{first, second} {
		if got := <-done; !errors.Is(got.err, context.Canceled) || len(got.Taken) > 0 {
			x.Errorf("took %v with error %v", got.Taken, got.err)
		}
	}
	// Whoever has gone keeps nothing from those who stay.
	x.put(x.in(1), "near")
	x.expect("near")
}
