package memory

import (
	"context"
	"sync"
	"time"

	"sluice/internal/dispatch"
	"sluice/internal/domain"
	"sluice/internal/due"
)

// DispatcherOptions configures a Dispatcher.
type DispatcherOptions struct {
	// Lease is how long a worker may be silent before its job is given to
	// another; dispatch.DefaultLease if zero.
	Lease time.Duration
	// LaneLimit is how many entries of one lane may be leased at once; zero is
	// no limit.
	LaneLimit int
	// Now is the clock; time.Now if nil.
	Now func() time.Time
}

// Dispatcher implements dispatch.Dispatcher in process. It keeps nothing: after
// a restart it is filled again from the state. An unknown priority counts as
// LOW, an unknown class as discovery. The entry of a lease carries no NotBefore.
//
// Every call looks at the clock, lets what has come due take its place, does
// its own work, and wakes who waits in Lease if there is a reason. There is no
// goroutine of its own; while calls wait, one timer stands for the earliest
// instant.
type Dispatcher struct {
	lease     time.Duration
	laneLimit int
	now       func() time.Time
	started   time.Time

	mu      sync.Mutex
	records records
	lanes   lanes
	// turns are the lanes that can give something, by priority; highs counts
	// the HIGH entries handed out in a row while LOW could be had.
	turns [2]ring
	highs int
	// instants holds the jobs that are due later and the ends of parkings,
	// by the wall clock; expiries holds the leases, by elapsed time.
	instants *dueHeap[dueKey]
	expiries *dueHeap[slot]
	issued   uint32
	ready    int
	waiter   *due.Waiter
	// awaited is when whoever waits looks by himself, by elapsed time.
	awaited time.Time
}

var _ dispatch.Dispatcher = (*Dispatcher)(nil)

// NewDispatcher returns an empty dispatcher.
func NewDispatcher(o DispatcherOptions) *Dispatcher {
	if o.Lease <= 0 {
		o.Lease = dispatch.DefaultLease
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Dispatcher{
		lease:     o.Lease,
		laneLimit: o.LaneLimit,
		now:       o.Now,
		started:   o.Now(),
		records:   newRecords(),
		lanes:     newLanes(),
		instants:  newDueHeap[dueKey](),
		expiries:  newDueHeap[slot](),
		waiter:    due.NewWaiter(dispatch.MaxWait),
	}
}

// Push implements dispatch.Dispatcher. A job that is due later moves up if it
// is pushed with an earlier instant; everything else about it stays.
func (d *Dispatcher) Push(_ context.Context, entries ...dispatch.Entry) error {
	now := d.enter()
	defer d.leave(now)
	for i := range entries {
		d.push(&entries[i], now.wall)
	}
	return nil
}

func (d *Dispatcher) push(e *dispatch.Entry, now time.Time) {
	later := e.NotBefore.After(now)
	s := d.records.find(e.ID)
	if s != 0 {
		if !d.records.at(s).state.waitsForTime() {
			return
		}
		if !later {
			d.instants.Remove(dueJob(s))
			d.enqueue(s)
		} else if at, _ := d.instants.At(dueJob(s)); e.NotBefore.Before(at) {
			d.instants.Put(dueJob(s), e.NotBefore)
		}
		return
	}
	s = d.records.add(e.ID)
	home := d.lanes.open(e.Lane)
	home.members++
	r := d.records.at(s)
	r.lane = home.id
	r.rank = rankOf(e.Priority, e.Class)
	if later {
		r.state = dueFresh
		d.instants.Put(dueJob(s), e.NotBefore)
		return
	}
	d.enqueue(s)
}

// Renew implements dispatch.Dispatcher. A lease is lost from its last instant
// on, also if nobody else has the job yet.
func (d *Dispatcher) Renew(_ context.Context, leases ...dispatch.Lease) (lost []dispatch.Lease, err error) {
	now := d.enter()
	defer d.leave(now)
	for _, l := range leases {
		if s, held := d.held(l); held {
			d.expiries.Put(s, now.steady.Add(d.lease))
		} else {
			lost = append(lost, l)
		}
	}
	return lost, nil
}

// Ack implements dispatch.Dispatcher.
func (d *Dispatcher) Ack(_ context.Context, leases ...dispatch.Lease) error {
	now := d.enter()
	defer d.leave(now)
	for i := range leases {
		if s, held := d.held(leases[i]); held {
			d.forget(s, d.endLease(s))
		}
	}
	return nil
}

// Release implements dispatch.Dispatcher. Entries that were handed back go
// before those never handed out, in the order in which they came back.
func (d *Dispatcher) Release(_ context.Context, lease dispatch.Lease, at time.Time) error {
	now := d.enter()
	defer d.leave(now)
	s, held := d.held(lease)
	if !held {
		return nil
	}
	d.endLease(s)
	r := d.records.at(s)
	r.deliveries--
	r.state = dueAgain
	if at.After(now.wall) {
		d.instants.Put(dueJob(s), at)
		d.seat(d.lanes.byID[r.lane])
		return nil
	}
	d.enqueue(s)
	return nil
}

// Park implements dispatch.Dispatcher.
func (d *Dispatcher) Park(_ context.Context, name string, until time.Time) error {
	now := d.enter()
	defer d.leave(now)
	if !until.After(now.wall) {
		return nil
	}
	l := d.lanes.open(name)
	if at, parked := d.instants.At(dueLane(l)); parked && !until.After(at) {
		return nil
	}
	l.parked = true
	d.instants.Put(dueLane(l), until)
	d.seat(l)
	return nil
}

// Resume implements dispatch.Dispatcher.
func (d *Dispatcher) Resume(_ context.Context, name string) error {
	now := d.enter()
	defer d.leave(now)
	if l := d.lanes.byName[name]; l != nil && l.parked {
		d.instants.Remove(dueLane(l))
		d.unpark(l)
	}
	return nil
}

// Remove implements dispatch.Dispatcher. A leased job stays with its worker.
func (d *Dispatcher) Remove(_ context.Context, ids ...string) error {
	now := d.enter()
	defer d.leave(now)
	for _, id := range ids {
		s := d.records.find(id)
		if s == 0 {
			continue
		}
		r := d.records.at(s)
		switch {
		case r.state == leased:
		case r.state.waitsForTime():
			d.instants.Remove(dueJob(s))
			d.forget(s, d.lanes.byID[r.lane])
		default:
			d.forget(s, d.dequeue(s))
		}
	}
	return nil
}

func rankOf(p domain.Priority, c domain.Class) rank {
	r := highChild
	if p != domain.PriorityHigh {
		r = lowChild
	}
	if c != domain.ClassChild && c != domain.ClassWalk {
		r++
	}
	return r
}
