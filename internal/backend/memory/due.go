package memory

import (
	"cmp"
	"context"
	"sync"
	"time"

	"sluice/internal/domain"
	"sluice/internal/due"
)

// DueSetOptions configures a DueSet.
type DueSetOptions struct {
	// Grace is how long something may be taken before it is handed out again;
	// due.DefaultGrace if zero.
	Grace time.Duration
	// Now is the clock; time.Now if nil.
	Now func() time.Time
	// MaxWait caps every wait; due.MaxWait if zero. It is also how long a
	// clock that was set forward can go unnoticed.
	MaxWait time.Duration
}

// DueSet implements due.Set in process. It keeps nothing: after a restart it is
// filled again by whoever starts. There is no goroutine of its own.
type DueSet struct {
	grace, maxWait time.Duration
	now            func() time.Time
	waiter         *due.Waiter

	mu sync.Mutex
	// heap holds what waits by its instant, and what is taken by the end of
	// its grace.
	heap *dueHeap[string]
	// taken holds the tokens of what is taken.
	taken  map[string]int64
	issued int64
}

var _ due.Set = (*DueSet)(nil)

// NewDueSet returns an empty set.
func NewDueSet(o DueSetOptions) *DueSet {
	s := &DueSet{
		grace: cmp.Or(max(o.Grace, 0), due.DefaultGrace), maxWait: cmp.Or(max(o.MaxWait, 0), due.MaxWait),
		now: o.Now, heap: newDueHeap[string](), taken: make(map[string]int64),
	}
	s.waiter = due.NewWaiter(s.maxWait)
	if s.now == nil {
		s.now = time.Now
	}
	return s
}

// Put implements due.Set.
func (s *DueSet) Put(_ context.Context, entries ...due.Entry) error {
	defer s.lock()()
	for _, e := range entries {
		// It is not in anybody's hands any more, also if its instant stays.
		delete(s.taken, e.ID)
		if at, known := s.heap.At(e.ID); !known || e.At.Before(at) {
			s.heap.Put(e.ID, e.At)
		}
	}
	return nil
}

// Remove implements due.Set.
func (s *DueSet) Remove(_ context.Context, ids ...string) error {
	defer s.lock()()
	for _, id := range ids {
		delete(s.taken, id)
		s.heap.Remove(id)
	}
	return nil
}

// Take implements due.Set. Calls are served in the order in which they came.
func (s *DueSet) Take(ctx context.Context, n int) (batch due.Batch, err error) {
	if n < 1 {
		return due.Batch{}, domain.Errorf(domain.CodeInvalid, "take %d entries: at least 1 is needed", n)
	}
	err = s.waiter.Wait(ctx, func() (bool, time.Duration, error) {
		var wait time.Duration
		batch, wait = s.take(n)
		return len(batch.Taken) > 0, wait, nil
	})
	if err == nil && batch.Now.IsZero() {
		batch.Now = s.now() // its turn did not come
	}
	return batch, err
}

// take takes what is due now. If that is nothing it returns how long nothing
// will be.
func (s *DueSet) take(n int) (due.Batch, time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	batch := due.Batch{Now: now}
	for len(batch.Taken) < n {
		id, _, ok := s.heap.PopDue(now)
		if !ok {
			break
		}
		s.issued++
		batch.Taken = append(batch.Taken, due.Taken{ID: id, Token: s.issued})
	}
	// They go back when all are out, so that none comes twice in a batch.
	for _, one := range batch.Taken {
		s.taken[one.ID] = one.Token
		s.heap.Put(one.ID, now.Add(s.grace))
	}
	wait := s.maxWait
	if next, ok := s.heap.Next(); ok {
		wait = min(wait, next.Sub(now))
	}
	return batch, wait
}

// Done implements due.Set.
func (s *DueSet) Done(_ context.Context, taken ...due.Taken) error {
	defer s.lock()()
	for _, one := range taken {
		if s.release(one) {
			s.heap.Remove(one.ID)
		}
	}
	return nil
}

// Again implements due.Set.
func (s *DueSet) Again(_ context.Context, again ...due.Again) error {
	defer s.lock()()
	for _, one := range again {
		if s.release(one.Taken) {
			s.heap.Put(one.ID, one.At)
		}
	}
	return nil
}

// release ends a taking, if it is the current one.
func (s *DueSet) release(taken due.Taken) bool {
	if token, is := s.taken[taken.ID]; !is || token != taken.Token {
		return false
	}
	delete(s.taken, taken.ID)
	return true
}

// lock locks the set. Unlocking wakes who waits if an instant became the
// earliest.
func (s *DueSet) lock() (unlock func()) {
	s.mu.Lock()
	before, any := s.heap.Next()
	return func() {
		if next, ok := s.heap.Next(); ok && (!any || next.Before(before)) {
			s.waiter.Wake()
		}
		s.mu.Unlock()
	}
}
