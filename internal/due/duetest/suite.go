// Package duetest is what everything must pass that holds entries until they are
// due: sets of their own, and dispatchers with their delayed entries. Each
// promise of the port is a case of its own.
package duetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"sluice/internal/due"
)

// Features says what an adapter is able to show.
type Features struct {
	// FakeClock is set if the adapter takes its time from the time package
	// alone: then the cases run in bubbles of testing/synctest, and lateness is
	// checked to the nanosecond.
	FakeClock bool
	// Shared is set if several can work on the same entries.
	Shared bool
	// Unordered is set if what is due may be handed out in any order, as by one
	// that is told of instants by somebody else.
	Unordered bool
	// Leased is set for a dispatcher (see Dispatched): what is taken stays
	// with who has it, whoever puts or removes it, and the longest wait is the
	// dispatcher's own.
	Leased bool
}

// Config is what a case needs of its set.
type Config struct {
	Grace, MaxWait time.Duration
}

// Open returns a set. With Features.Shared it may be called several times, for
// the same entries; otherwise it is called once.
type Open func(t *testing.T) due.Set

// Factory makes sets for the cases.
type Factory struct {
	Features
	// New makes sets that know nothing and that nothing else uses.
	New func(t *testing.T, c Config) Open
}

type testCase struct {
	name string
	// grace and wait are in units; zero is long.
	grace, wait int
	// anew is set if what is taken is put or removed.
	anew  bool
	check func(*stand)
}

// long is how many units take longer than any case.
const long = 600

// Run runs every case.
func Run(t *testing.T, f Factory) {
	for _, c := range slices.Concat(orderCases, waitCases, graceCases, crowdCases) {
		if f.Leased && (c.anew || c.wait > 0) {
			continue
		}
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

// stand is a set and the words the cases are written in.
type stand struct {
	*testing.T
	due.Set
	Features
	open Open
	// unit is short enough not to wait for long and, where time is real, long
	// enough for a busy machine to do a few calls in.
	unit time.Duration
}

func (f Factory) stand(t *testing.T, c testCase) *stand {
	x := &stand{T: t, Features: f.Features, unit: 200 * time.Millisecond}
	if !f.FakeClock {
		x.unit = 600 * time.Millisecond
	}
	units := func(n int) time.Duration {
		if n == 0 {
			n = long
		}
		return time.Duration(n) * x.unit
	}
	x.open = f.New(t, Config{Grace: units(c.grace), MaxWait: units(c.wait)})
	x.Set = x.open(t)
	return x
}

// another returns a second set of the same entries, or the same one where
// there is only one.
func (x *stand) another() due.Set {
	if x.Shared {
		return x.open(x.T)
	}
	return x.Set
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

// id is what an entry of a case is called, as a timer is. Ids that begin with a
// tilde are nobody's.
func id(name string) string {
	if strings.HasPrefix(name, "~") {
		return name
	}
	return "timer:" + name
}

func entry(name string, at time.Time) due.Entry { return due.Entry{ID: id(name), At: at} }

func (x *stand) put(at time.Time, names ...string) {
	x.Helper()
	entries := make([]due.Entry, len(names))
	for i, name := range names {
		entries[i] = entry(name, at)
	}
	x.ok(x.Put(x.Context(), entries...))
}

// taking is what one call of Take brought.
type taking struct {
	due.Batch
	err  error
	when time.Time
}

// takeFrom is one Take that skips what the set itself asks for, as it may
// when it begins: nothing that a case sets has these ids.
func (x *stand) takeFrom(ctx context.Context, from due.Set, n int) taking {
	for {
		batch, err := from.Take(ctx, n)
		got := taking{batch, err, time.Now()}
		if len(batch.Taken) > n {
			x.Errorf("took %d, asked for %d", len(batch.Taken), n)
		}
		if err != nil || len(batch.Taken) == 0 {
			return got
		}
		own := func(one due.Taken) bool { return one.ID == due.RebuildID || one.ID == due.MissedID }
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
func (x *stand) beside(ctx context.Context, from due.Set, n int) <-chan taking {
	done := make(chan taking, 1)
	go func() { done <- x.takeFrom(ctx, from, n) }()
	x.settled()
	return done
}

// take is one Take that brings something.
func (x *stand) take(n int) taking {
	x.Helper()
	got := x.takeFrom(x.Context(), x.Set, n)
	x.ok(got.err)
	if len(got.Taken) == 0 {
		x.Fatalf("the wait ended with nothing")
	}
	return got
}

// expect takes these, in this order unless there is none.
func (x *stand) expect(names ...string) (taken []due.Taken) {
	x.Helper()
	for len(taken) < len(names) {
		taken = append(taken, x.take(len(names)-len(taken)).Taken...)
	}
	x.same(taken, names...)
	return taken
}

func (x *stand) same(taken []due.Taken, names ...string) {
	x.Helper()
	got, want := make([]string, len(taken)), make([]string, len(names))
	for i, one := range taken {
		got[i] = one.ID
	}
	for i, name := range names {
		want[i] = id(name)
	}
	if x.Unordered {
		slices.Sort(got)
		slices.Sort(want)
	}
	if !slices.Equal(got, want) {
		x.Fatalf("took %v, want %v", got, want)
	}
}

// expectNone checks that nothing is handed out for a while.
func (x *stand) expectNone(units int) {
	x.Helper()
	ctx, cancel := context.WithTimeout(x.Context(), time.Duration(units)*x.unit)
	defer cancel()
	for ctx.Err() == nil {
		got := x.takeFrom(ctx, x.Set, 100)
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
		x.Fatalf("handed out at %v, by the set's clock %v, before %v", got.when, got.Now, at)
	}
	if x.FakeClock && !got.when.Equal(at) {
		x.Fatalf("handed out %v late", got.when.Sub(at))
	}
}

func names(n int) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf("%05d", i)
	}
	return all
}
