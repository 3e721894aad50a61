// Package dispatchtest is what every dispatcher must pass. Run checks each
// promise of the port in a case of its own, and then all of them together
// against a reference that is too simple to be wrong.
package dispatchtest

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"sluice/internal/dispatch"
	"sluice/internal/domain"
	"sluice/internal/testkit"
)

// Features says what an adapter is able to show.
type Features struct {
	// FakeClock is set if the adapter takes its time from the time package
	// alone: then the cases run in bubbles of testing/synctest, and time is
	// checked to the nanosecond. The others get a clock that the cases move.
	FakeClock bool
	// Sleepers is how many goroutines of a queue sleep on that clock, besides
	// the calls of Lease.
	Sleepers int
	// Scheduled is set if something serves an instant that comes up while calls
	// wait for a later one; without it they look when theirs has come.
	Scheduled bool
	// Late is how long after its instant a call that waits may end.
	Late time.Duration
	// Shared is set if several dispatchers can work on one queue.
	Shared bool
	// LaneLimit is set if the adapter can bound what is leased of one lane.
	LaneLimit bool
}

// Config is what a case needs of its queue.
type Config struct {
	Lease     time.Duration
	LaneLimit int
	// Clock is the time of the queue, nil in a bubble.
	Clock *testkit.HandClock
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
	x := &fixture{T: t, Features: f.Features}
	if !f.FakeClock {
		// Stores keep milliseconds.
		x.clock = testkit.NewHandClock(time.Now().Truncate(time.Millisecond))
	}
	x.open = f.NewQueue(t, Config{Lease: time.Duration(lease) * unit, LaneLimit: laneLimit, Clock: x.clock})
	x.Dispatcher = x.open(t)
	return x
}

// unit is what the cases count time in.
const unit = time.Second

// fixture is a queue with a dispatcher on it and the words the cases are
// written in.
type fixture struct {
	T
	Features
	dispatch.Dispatcher
	open Open
	// clock is nil in a bubble.
	clock *testkit.HandClock
	// calls is how many calls of Lease go on beside the case.
	calls atomic.Int64
}

// another returns a second dispatcher on the same queue, or the same one where
// a queue has only one.
func (x *fixture) another() dispatch.Dispatcher {
	if x.Shared {
		return x.open(x.T)
	}
	return x.Dispatcher
}

// now is the time of the queue.
func (x *fixture) now() time.Time {
	if x.clock != nil {
		return x.clock.Now()
	}
	return time.Now()
}

// pass lets time go by.
func (x *fixture) pass(units int) { x.passTime(time.Duration(units) * unit) }

func (x *fixture) passTime(d time.Duration) {
	if x.clock != nil {
		x.clock.Advance(d)
		return
	}
	time.Sleep(d)
}

// in returns the instant so many units from now.
func (x *fixture) in(units int) time.Time { return x.now().Add(time.Duration(units) * unit) }

// asleep says whether all calls of Lease, and what works for the queue in the
// background, wait for time to pass; changed is closed when that may change.
func (x *fixture) asleep() (all bool, changed <-chan struct{}) {
	n, changed := x.clock.Timers()
	return n >= x.Sleepers+int(x.calls.Load()), changed
}

// settled waits until everything beside the case is blocked.
func (x *fixture) settled() {
	if x.clock == nil {
		synctest.Wait()
		return
	}
	x.clock.Until(func() bool { all, _ := x.asleep(); return all })
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

// lease leases, and lets time go by for as long as that waits.
func (x *fixture) lease(n int) []dispatch.Lease {
	x.Helper()
	w := x.await(x.waitIn(x.Context(), x.Dispatcher, n))
	x.ok(w.err)
	return w.leases
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
			got = append(got, x.jobOf(l))
		}
	}
	if !slices.Equal(got, jobs) {
		x.Fatalf("leased jobs %v, want %v", got, jobs)
	}
	return leases
}

// expectNone checks that nothing can be leased now. In a bubble that takes half
// a unit.
func (x *fixture) expectNone() {
	x.Helper()
	ctx, cancel := context.WithCancel(x.Context())
	defer cancel()
	done := x.waitIn(ctx, x.Dispatcher, 100)
	if x.clock == nil {
		x.passTime(unit / 2)
	}
	select {
	case w := <-done:
		x.Fatalf("leased %v with error %v, want nothing to be ready", w.leases, w.err)
	default:
	}
	cancel()
	if w := <-done; len(w.leases) > 0 || !errors.Is(w.err, context.Canceled) {
		x.Fatalf("leased %v with error %v, want nothing to be ready", w.leases, w.err)
	}
}

// waiting is a call of Lease that goes on beside the case.
type waiting struct {
	leases []dispatch.Lease
	err    error
	ended  time.Time
}

// waitIn calls Lease and returns when that has ended or waits.
func (x *fixture) waitIn(ctx context.Context, d dispatch.Dispatcher, n int) <-chan waiting {
	done := make(chan waiting, 1)
	x.calls.Add(1)
	ended := make(chan struct{})
	go func() {
		leases, err := d.Lease(ctx, n)
		done <- waiting{leases, err, x.now()}
		x.calls.Add(-1)
		close(ended)
		x.passTime(0) // those who look whether all are asleep look again
	}()
	if x.clock == nil {
		x.settled()
		return done
	}
	for {
		all, changed := x.asleep()
		if all {
			return done
		}
		select {
		case <-ended:
			return done
		case <-changed:
		}
	}
}

// drive lets time go by whenever everything waits for it, until ctx ends.
func (x *fixture) drive(ctx context.Context) {
	for x.clock != nil && ctx.Err() == nil {
		all, changed := x.asleep()
		if all {
			x.clock.AdvanceToNext()
			continue
		}
		select {
		case <-ctx.Done():
		case <-changed:
		}
	}
}

// await lets time go by until a call has ended.
func (x *fixture) await(done <-chan waiting) waiting {
	if x.clock == nil {
		return <-done
	}
	for {
		all, changed := x.asleep()
		select {
		case w := <-done:
			return w
		default:
		}
		if all {
			x.clock.AdvanceToNext()
			continue
		}
		select {
		case w := <-done:
			return w
		case <-changed:
		}
	}
}

// awaitScheduled lets time go by until an instant that the call does not know
// of. Where it is scheduled that must do.
func (x *fixture) awaitScheduled(done <-chan waiting, at time.Time) waiting {
	if x.clock == nil || !x.Scheduled {
		return x.await(done)
	}
	x.clock.Until(func() bool {
		next, ok := x.clock.Next()
		return ok && !next.After(at)
	})
	x.clock.AdvanceTo(at)
	return <-done
}

// expectJobs checks what a call beside the case brought.
func (x *fixture) expectJobs(w waiting, jobs ...int64) {
	x.Helper()
	x.ok(w.err)
	var got []int64
	for _, l := range w.leases {
		got = append(got, x.jobOf(l))
	}
	if !slices.Equal(got, jobs) {
		x.Fatalf("the waiting call got jobs %v, want %v", got, jobs)
	}
}

// expectAt checks that something happened at an instant: not before it, and not
// later than the adapter says.
func (x *fixture) expectAt(what string, got, want time.Time) {
	x.Helper()
	if got.Before(want) {
		x.Fatalf("%s came %v early", what, want.Sub(got))
	}
	if got.After(want.Add(x.Late)) {
		x.Fatalf("%s came %v late", what, got.Sub(want))
	}
}

// jobOf is the number of a leased job.
func (x *fixture) jobOf(l dispatch.Lease) int64 {
	x.Helper()
	number, ok := dispatch.JobNumber(l.ID)
	if !ok {
		x.Fatalf("leased %q, which is no job", l.ID)
	}
	return number
}

// remove removes jobs.
func (x *fixture) remove(jobs ...int64) {
	x.Helper()
	x.ok(x.Remove(x.Context(), dispatch.JobIDs(jobs)...))
}

// Entries in the cases' shorthand.

func high(lane string, job int64) dispatch.Entry {
	return dispatch.Entry{ID: dispatch.JobID(job), Lane: lane, Priority: domain.PriorityHigh, Class: domain.ClassChild}
}

func low(lane string, job int64) dispatch.Entry {
	return dispatch.Entry{ID: dispatch.JobID(job), Lane: lane, Priority: domain.PriorityLow, Class: domain.ClassChild}
}

func discovery(e dispatch.Entry) dispatch.Entry {
	e.Class = domain.ClassDiscovery
	return e
}

func at(e dispatch.Entry, instant time.Time) dispatch.Entry {
	e.NotBefore = instant
	return e
}
