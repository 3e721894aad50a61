// Package dispatchtest is what every dispatcher must pass. Run checks each
// promise of the port in a case of its own, and then all of them together
// against a reference that is too simple to be wrong.
package dispatchtest

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"sluice/internal/dispatch"
	"sluice/internal/domain"
)

// Features says what an adapter is able to show.
type Features struct {
	// FakeClock is set if the adapter takes its time from the time package
	// alone: then the cases run in bubbles of testing/synctest, and time is
	// checked to the nanosecond.
	FakeClock bool
	// Shared is set if several dispatchers can work on one queue.
	Shared bool
	// LaneLimit is set if the adapter can bound what is leased of one lane.
	LaneLimit bool
}

// Config is what a case needs of its queue.
type Config struct {
	Lease     time.Duration
	LaneLimit int
}

// Open returns a dispatcher on a queue. With Features.Shared it may be called
// several times; otherwise it is called once.
type Open func(t T) dispatch.Dispatcher

// Factory makes queues for the cases.
type Factory struct {
	Features
	// NewQueue makes an empty queue that nothing else uses.
	NewQueue func(t T, c Config) Open
}

// T is the part of testing.T that the cases and the factories use.
type T interface {
	Helper()
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
	Cleanup(func())
	Context() context.Context
}

// Run runs every case that the features allow.
func Run(t *testing.T, f Factory) {
	cases := slices.Concat(orderCases, timeCases, leaseCases, waitCases, bookCases, crowdCases)
	for _, c := range cases {
		if c.needs != nil && !c.needs(f.Features) {
			continue
		}
		t.Run(c.name, func(t *testing.T) { f.run(t, c) })
	}
	t.Run("Model", func(t *testing.T) { checkModel(t, f) })
}

type testCase struct {
	name      string
	needs     func(Features) bool
	laneLimit int
	check     func(*fixture)
}

func (f Factory) run(t *testing.T, c testCase) {
	if f.FakeClock {
		synctest.Test(t, func(t *testing.T) { c.check(f.fixture(t, leaseUnits, c.laneLimit)) })
		return
	}
	t.Parallel()
	c.check(f.fixture(t, leaseUnits, c.laneLimit))
}

// leaseUnits is how many units a lease lasts in the cases.
const leaseUnits = 10

func (f Factory) fixture(t T, lease, laneLimit int) *fixture {
	// Where time is real, a unit is short enough not to wait for long and long
	// enough for a busy machine to do a few calls in.
	unit := 200 * time.Millisecond
	if f.FakeClock {
		unit = time.Second
	}
	x := &fixture{T: t, unit: unit, fake: f.FakeClock, shared: f.Shared}
	x.open = f.NewQueue(t, Config{Lease: time.Duration(lease) * unit, LaneLimit: laneLimit})
	x.Dispatcher = x.open(t)
	return x
}

// fixture is a queue with a dispatcher on it and the words the cases are
// written in.
type fixture struct {
	T
	dispatch.Dispatcher
	open         Open
	unit         time.Duration
	fake, shared bool
}

// another returns a second dispatcher on the same queue, or the same one where
// a queue has only one.
func (x *fixture) another() dispatch.Dispatcher {
	if x.shared {
		return x.open(x.T)
	}
	return x.Dispatcher
}

// pass lets time go by. In a bubble that takes none.
func (x *fixture) pass(units int) { time.Sleep(time.Duration(units) * x.unit) }

// in returns the instant so many units from now.
func (x *fixture) in(units int) time.Time { return time.Now().Add(time.Duration(units) * x.unit) }

// settled waits until the goroutines of a bubble are blocked. Where time is
// real there is no such thing, and the case must hold without it.
func (x *fixture) settled() {
	if x.fake {
		synctest.Wait()
	}
}

func (x *fixture) ok(err error) {
	x.Helper()
	if err != nil {
		x.Fatalf("unexpected error: %v", err)
	}
}

func (x *fixture) push(entries ...dispatch.Entry) {
	x.Helper()
	x.ok(x.Push(x.Context(), entries...))
}

func (x *fixture) lease(n int) []dispatch.Lease {
	x.Helper()
	leases, err := x.Lease(x.Context(), n)
	x.ok(err)
	return leases
}

func (x *fixture) ack(leases ...dispatch.Lease) {
	x.Helper()
	x.ok(x.Ack(x.Context(), leases...))
}

// expect leases entries one by one and checks that they are these jobs, in
// this order.
func (x *fixture) expect(jobs ...int64) (leases []dispatch.Lease) {
	x.Helper()
	var got []int64
	for range jobs {
		for _, l := range x.lease(1) {
			leases = append(leases, l)
			got = append(got, l.Job)
		}
	}
	if !slices.Equal(got, jobs) {
		x.Fatalf("leased jobs %v, want %v", got, jobs)
	}
	return leases
}

// expectNone checks that nothing can be leased now. It takes half a unit.
func (x *fixture) expectNone() {
	x.Helper()
	ctx, cancel := context.WithTimeout(x.Context(), x.unit/2)
	defer cancel()
	leases, err := x.Lease(ctx, 100)
	if len(leases) > 0 || !errors.Is(err, context.DeadlineExceeded) {
		x.Fatalf("leased %v with error %v, want nothing to be ready", leases, err)
	}
}

// waiting is a call of Lease that goes on beside the case.
type waiting struct {
	leases []dispatch.Lease
	err    error
	ended  time.Time
}

func (x *fixture) waitIn(ctx context.Context, d dispatch.Dispatcher, n int) <-chan waiting {
	done := make(chan waiting, 1)
	go func() {
		leases, err := d.Lease(ctx, n)
		done <- waiting{leases, err, time.Now()}
	}()
	x.settled()
	return done
}

// expectJobs checks what a call beside the case brought.
func (x *fixture) expectJobs(w waiting, jobs ...int64) {
	x.Helper()
	x.ok(w.err)
	var got []int64
	for _, l := range w.leases {
		got = append(got, l.Job)
	}
	if !slices.Equal(got, jobs) {
		x.Fatalf("the waiting call got jobs %v, want %v", got, jobs)
	}
}

// expectAt checks that something happened not before an instant and, in a
// bubble, not after it either.
func (x *fixture) expectAt(what string, got, want time.Time) {
	x.Helper()
	if got.Before(want) {
		x.Fatalf("%s came %v early", what, want.Sub(got))
	}
	if x.fake && got.After(want) {
		x.Fatalf("%s came %v late", what, got.Sub(want))
	}
}

// Entries in the cases' shorthand.

func high(lane string, job int64) dispatch.Entry {
	return dispatch.Entry{Job: job, Lane: lane, Priority: domain.PriorityHigh, Class: domain.ClassChild}
}

func low(lane string, job int64) dispatch.Entry {
	return dispatch.Entry{Job: job, Lane: lane, Priority: domain.PriorityLow, Class: domain.ClassChild}
}

func discovery(e dispatch.Entry) dispatch.Entry {
	e.Class = domain.ClassDiscovery
	return e
}

func at(e dispatch.Entry, instant time.Time) dispatch.Entry {
	e.NotBefore = instant
	return e
}
