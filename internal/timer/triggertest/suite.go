// Package triggertest is what every trigger of timers must pass. Each promise
// of the port is a case of its own.
package triggertest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"sluice/internal/timer"
)

// Features says what an adapter is able to show.
type Features struct {
	// FakeClock is set if the adapter takes its time from the time package
	// alone: then the cases run in bubbles of testing/synctest, and lateness is
	// checked to the nanosecond.
	FakeClock bool
	// Shared is set if several triggers can work on the same timers.
	Shared bool
	// Unordered is set if what is due may be handed out in any order, as by a
	// trigger that is told of instants by somebody else.
	Unordered bool
}

// Config is what a case needs of its trigger.
type Config struct {
	Grace, MaxWait time.Duration
}

// Open returns a trigger. With Features.Shared it may be called several times,
// for triggers on the same timers; otherwise it is called once.
type Open func(t *testing.T) timer.Trigger

// Factory makes triggers for the cases.
type Factory struct {
	Features
	// New makes triggers that know nothing and that nothing else uses.
	New func(t *testing.T, c Config) Open
}

type testCase struct {
	name string
	// grace and wait are in units; zero is long.
	grace, wait int
	check       func(*stand)
}

// long is how many units take longer than any case.
const long = 600

// Run runs every case.
func Run(t *testing.T, f Factory) {
	for _, c := range slices.Concat(orderCases, waitCases, graceCases, crowdCases) {
		t.Run(c.name, func(t *testing.T) {
			if f.FakeClock {
				synctest.Test(t, func(t *testing.T) { c.check(f.stand(t, c)) })
				return
			}
			t.Parallel()
			c.check(f.stand(t, c))
		})
	}
}

// stand is a trigger and the words the cases are written in.
type stand struct {
	*testing.T
	timer.Trigger
	Features
	open Open
	// unit is short enough not to wait for long and long enough for a busy
	// machine to do a few calls in.
	unit time.Duration
}

func (f Factory) stand(t *testing.T, c testCase) *stand {
	x := &stand{T: t, Features: f.Features, unit: 200 * time.Millisecond}
	units := func(n int) time.Duration {
		if n == 0 {
			n = long
		}
		return time.Duration(n) * x.unit
	}
	x.open = f.New(t, Config{Grace: units(c.grace), MaxWait: units(c.wait)})
	x.Trigger = x.open(t)
	return x
}

// another returns a second trigger on the same timers, or the same one where
// there is only one.
func (x *stand) another() timer.Trigger {
	if x.Shared {
		return x.open(x.T)
	}
	return x.Trigger
}

// in returns the instant so many units from now.
func (x *stand) in(units int) time.Time { return time.Now().Add(time.Duration(units) * x.unit) }

// settled waits until the goroutines of a bubble are blocked. Where time is
// real there is no such thing, and the case must hold without it.
func (x *stand) settled() {
	if x.FakeClock {
		synctest.Wait()
	}
}

func (x *stand) ok(err error) {
	x.Helper()
	if err != nil {
		x.Fatalf("unexpected error: %v", err)
	}
}

func (x *stand) set(at time.Time, ids ...string) {
	x.Helper()
	dues := make([]timer.Due, len(ids))
	for i, id := range ids {
		dues[i] = timer.Due{ID: id, At: at}
	}
	x.ok(x.Set(x.Context(), dues...))
}

// taking is what one call of Take brought.
type taking struct {
	timer.Batch
	err  error
	when time.Time
}

// takeFrom is one Take that skips what the trigger itself asks for, as it may
// when it begins: nothing that a case sets has these ids.
func (x *stand) takeFrom(ctx context.Context, from timer.Trigger, n int) taking {
	for {
		batch, err := from.Take(ctx, n)
		got := taking{batch, err, time.Now()}
		if len(batch.Taken) > n {
			x.Errorf("took %d, asked for %d", len(batch.Taken), n)
		}
		if err != nil || len(batch.Taken) == 0 {
			return got
		}
		own := func(one timer.Taken) bool { return one.ID == timer.RebuildID || one.ID == timer.MissedID }
		for _, one := range batch.Taken {
			if own(one) {
				x.ok(from.Done(context.WithoutCancel(ctx), one))
			}
		}
		got.Taken = slices.DeleteFunc(slices.Clone(batch.Taken), own)
		if len(got.Taken) > 0 {
			return got
		}
	}
}

// beside takes in a goroutine of its own.
func (x *stand) beside(ctx context.Context, from timer.Trigger, n int) <-chan taking {
	done := make(chan taking, 1)
	go func() { done <- x.takeFrom(ctx, from, n) }()
	x.settled()
	return done
}

// take is one Take that brings something.
func (x *stand) take(n int) taking {
	x.Helper()
	got := x.takeFrom(x.Context(), x.Trigger, n)
	x.ok(got.err)
	if len(got.Taken) == 0 {
		x.Fatalf("the wait ended with nothing")
	}
	return got
}

// expect takes these, in this order unless the trigger knows none.
func (x *stand) expect(ids ...string) (taken []timer.Taken) {
	x.Helper()
	for len(taken) < len(ids) {
		taken = append(taken, x.take(len(ids)-len(taken)).Taken...)
	}
	x.same(taken, ids...)
	return taken
}

func (x *stand) same(taken []timer.Taken, ids ...string) {
	x.Helper()
	got := make([]string, len(taken))
	for i, one := range taken {
		got[i] = one.ID
	}
	if x.Unordered {
		slices.Sort(got)
		ids = slices.Sorted(slices.Values(ids))
	}
	if !slices.Equal(got, ids) {
		x.Fatalf("took %v, want %v", got, ids)
	}
}

// expectNone checks that nothing is handed out for a while.
func (x *stand) expectNone(units int) {
	x.Helper()
	ctx, cancel := context.WithTimeout(x.Context(), time.Duration(units)*x.unit)
	defer cancel()
	for ctx.Err() == nil {
		got := x.takeFrom(ctx, x.Trigger, 100)
		if len(got.Taken) > 0 || got.err != nil && !errors.Is(got.err, context.DeadlineExceeded) {
			x.Fatalf("took %v with error %v, want nothing", got.Taken, got.err)
		}
	}
}

// notBefore checks when something was handed out: where time is fake, at the
// very instant.
func (x *stand) notBefore(got taking, at time.Time) {
	x.Helper()
	if got.Now.Before(at) || got.when.Before(at) {
		x.Fatalf("handed out at %v, by the trigger's clock %v, before %v", got.when, got.Now, at)
	}
	if x.FakeClock && !got.when.Equal(at) {
		x.Fatalf("handed out %v late", got.when.Sub(at))
	}
}

func names(n int) []string {
	ids := make([]string, n)
	for i := range ids {
		ids[i] = fmt.Sprintf("timer-%05d", i)
	}
	return ids
}
