package timer_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"sluice/internal/domain"
	"sluice/internal/timer"
)

// faults breaks calls. A call that fails was done, or was not: its caller
// cannot know.
type faults struct {
	mu            sync.Mutex
	dice          *rand.Rand
	before, after float64
	// left, if not negative, is how many calls are still answered: the process
	// dies then, at one of them or after it.
	left int
	// only names the methods that are broken; nil means all.
	only map[string]bool
	// broken lets every call fail before it was done.
	broken bool
	calls  map[string]int
}

func noFaults() *faults { return &faults{left: -1, calls: map[string]int{}} }

func randomFaults(seed uint64, p float64) *faults {
	f := noFaults()
	f.dice, f.before, f.after = random(seed), p, p
	return f
}

// dying is a process that answers so many calls.
func dying(dice *rand.Rand, calls int) *faults {
	f := noFaults()
	f.dice, f.left = dice, calls
	return f
}

func (f *faults) breakDown(broken bool, methods ...string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.broken, f.only = broken, nil
	for _, m := range methods {
		if f.only == nil {
			f.only = map[string]bool{}
		}
		f.only[m] = true
	}
}

func (f *faults) heal() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.broken, f.before, f.after, f.left = false, 0, 0, -1
}

func (f *faults) dead() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.left == 0
}

func (f *faults) decide(method string) (before, after bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls[method]++
	if f.only != nil && !f.only[method] {
		return false, false
	}
	switch {
	case f.broken || f.left == 0:
		return true, false
	case f.left > 0:
		f.left--
		// The last call may have been done.
		return f.left == 0 && f.dice.IntN(2) == 0, f.left == 0
	case f.dice == nil:
		return false, false
	}
	roll := f.dice.Float64()
	return roll < f.before, roll > 1-f.after
}

var errInjected = domain.Errorf(domain.CodeUnavailable, "injected")

func (f *faults) do(method string, call func() error) error {
	before, after := f.decide(method)
	if before {
		return errInjected
	}
	if err := call(); err != nil || !after {
		return err
	}
	return errInjected
}

// faultyStore is a store that fails.
type faultyStore struct {
	timer.Store
	*faults
}

func (s faultyStore) Put(ctx context.Context, specs []timer.Spec, now time.Time) (out []timer.Stored, err error) {
	err = s.do("Put", func() (err error) { out, err = s.Store.Put(ctx, specs, now); return err })
	return out, err
}

func (s faultyStore) Timer(ctx context.Context, id string) (out timer.Timer, err error) {
	err = s.do("Timer", func() (err error) { out, err = s.Store.Timer(ctx, id); return err })
	return out, err
}

func (s faultyStore) Cancel(ctx context.Context, id string) (out timer.Timer, err error) {
	err = s.do("Cancel", func() (err error) { out, err = s.Store.Cancel(ctx, id); return err })
	return out, err
}

func (s faultyStore) Reschedule(ctx context.Context, id string, at, now time.Time) (out timer.Timer, err error) {
	err = s.do("Reschedule", func() (err error) { out, err = s.Store.Reschedule(ctx, id, at, now); return err })
	return out, err
}

func (s faultyStore) Fire(ctx context.Context, f timer.Firing) (out []timer.Fired, err error) {
	err = s.do("Fire", func() (err error) { out, err = s.Store.Fire(ctx, f); return err })
	return out, err
}

func (s faultyStore) Settle(ctx context.Context, settled []timer.Settlement) error {
	return s.do("Settle", func() error { return s.Store.Settle(ctx, settled) })
}

func (s faultyStore) Open(ctx context.Context, fn func(timer.Due) error) error {
	return s.do("Open", func() error { return s.Store.Open(ctx, fn) })
}

func (s faultyStore) Overdue(ctx context.Context, at time.Time, limit int) (out []timer.Due, err error) {
	err = s.do("Overdue", func() (err error) { out, err = s.Store.Overdue(ctx, at, limit); return err })
	return out, err
}

// faultyTrigger is a trigger that fails.
type faultyTrigger struct {
	timer.Trigger
	*faults
}

func (s faultyTrigger) Set(ctx context.Context, dues ...timer.Due) error {
	return s.do("Set", func() error { return s.Trigger.Set(ctx, dues...) })
}

func (s faultyTrigger) Remove(ctx context.Context, ids ...string) error {
	return s.do("Remove", func() error { return s.Trigger.Remove(ctx, ids...) })
}

func (s faultyTrigger) Take(ctx context.Context, n int) (out timer.Batch, err error) {
	err = s.do("Take", func() (err error) { out, err = s.Trigger.Take(ctx, n); return err })
	return out, err
}

func (s faultyTrigger) Done(ctx context.Context, taken ...timer.Taken) error {
	return s.do("Done", func() error { return s.Trigger.Done(ctx, taken...) })
}

func (s faultyTrigger) Again(ctx context.Context, again ...timer.Again) error {
	return s.do("Again", func() error { return s.Trigger.Again(ctx, again...) })
}

// insist repeats a call that the backends do not take, as a person would.
func insist(tb testing.TB, call func() error) error {
	tb.Helper()
	for range 10_000 {
		if err := call(); !errors.Is(err, errInjected) {
			return err
		}
	}
	tb.Fatal("it never works")
	return nil
}
