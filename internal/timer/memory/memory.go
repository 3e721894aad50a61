// Package memory says when timers are due inside one process. It keeps nothing:
// after a restart it is filled again from the store by whoever starts.
//
// There is no goroutine of its own. Of the calls that wait in Take one holds
// the seat, and with it the only timer for the earliest instant; the others
// wait for the seat.
package memory

import (
	"cmp"
	"context"
	"sync"
	"time"

	"sluice/internal/dispatch"
	"sluice/internal/due"
	"sluice/internal/timer"
)

// Options configures a Trigger.
type Options struct {
	// Grace is how long something may be taken before it is handed out again;
	// timer.DefaultGrace if zero.
	Grace time.Duration
	// Now is the clock; time.Now if nil.
	Now func() time.Time
	// MaxWait caps every wait; dispatch.MaxWait if zero. It is also how long a
	// clock that was set forward can go unnoticed.
	MaxWait time.Duration
}

// Trigger implements timer.Trigger in process.
type Trigger struct {
	grace, maxWait time.Duration
	now            func() time.Time
	// seat holds a value while a call of Take looks or waits.
	seat chan struct{}
	// earlier has a value when an instant became the earliest.
	earlier chan struct{}

	mu sync.Mutex
	// set holds what waits by its instant, and what is taken by the end of
	// its grace.
	set *due.Set[string]
	// taken holds the tokens of what is taken.
	taken  map[string]int64
	issued int64
}

var _ timer.Trigger = (*Trigger)(nil)

// New returns an empty trigger.
func New(o Options) *Trigger {
	t := &Trigger{
		grace: cmp.Or(max(o.Grace, 0), timer.DefaultGrace), maxWait: cmp.Or(max(o.MaxWait, 0), dispatch.MaxWait),
		now: o.Now, seat: make(chan struct{}, 1), earlier: make(chan struct{}, 1),
		set: due.NewSet[string](), taken: make(map[string]int64),
	}
	if t.now == nil {
		t.now = time.Now
	}
	return t
}

// Set implements timer.Trigger.
func (t *Trigger) Set(_ context.Context, dues ...timer.Due) error {
	defer t.lock()()
	for _, d := range dues {
		// It is not in anybody's hands any more, also if its instant stays.
		delete(t.taken, d.ID)
		if at, known := t.set.At(d.ID); !known || d.At.Before(at) {
			t.set.Put(d.ID, d.At)
		}
	}
	return nil
}

// Remove implements timer.Trigger.
func (t *Trigger) Remove(_ context.Context, ids ...string) error {
	defer t.lock()()
	for _, id := range ids {
		delete(t.taken, id)
		t.set.Remove(id)
	}
	return nil
}

// Done implements timer.Trigger.
func (t *Trigger) Done(_ context.Context, taken ...timer.Taken) error {
	defer t.lock()()
	for _, one := range taken {
		if t.release(one) {
			t.set.Remove(one.ID)
		}
	}
	return nil
}

// Again implements timer.Trigger.
func (t *Trigger) Again(_ context.Context, again ...timer.Again) error {
	defer t.lock()()
	for _, one := range again {
		if t.release(one.Taken) {
			t.set.Put(one.ID, one.At)
		}
	}
	return nil
}

// release ends a taking, if it is the current one.
func (t *Trigger) release(taken timer.Taken) bool {
	if token, is := t.taken[taken.ID]; !is || token != taken.Token {
		return false
	}
	delete(t.taken, taken.ID)
	return true
}

// lock locks the trigger. Unlocking tells who waits of an instant that became
// the earliest.
func (t *Trigger) lock() (unlock func()) {
	t.mu.Lock()
	before, any := t.set.Next()
	return func() {
		if next, ok := t.set.Next(); ok && (!any || next.Before(before)) {
			select {
			case t.earlier <- struct{}{}:
			default:
			}
		}
		t.mu.Unlock()
	}
}
