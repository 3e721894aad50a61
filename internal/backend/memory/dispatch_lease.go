package memory

import (
	"context"
	"fmt"
	"math"
	"time"

	"sluice/internal/dispatch"
	"sluice/internal/domain"
)

// Lease implements dispatch.Dispatcher. Calls that wait are served in the
// order in which they came.
func (d *Dispatcher) Lease(ctx context.Context, n int) (leases []dispatch.Lease, err error) {
	if n < 1 {
		return nil, fmt.Errorf("lease %d entries: at least 1 is needed", n)
	}
	err = d.waiter.Wait(ctx, func() (bool, time.Duration, error) {
		var wait time.Duration
		leases, wait = d.takeOrWait(n)
		return len(leases) > 0, wait, nil
	})
	return leases, err
}

// takeOrWait leases what is ready. If that is nothing it returns how long
// nothing will be, unless a call changes that: whichever does wakes who waits.
func (d *Dispatcher) takeOrWait(n int) ([]dispatch.Lease, time.Duration) {
	now := d.enter()
	defer d.leave(now)
	leases := d.take(n, now)
	wait := dispatch.MaxWait
	if len(leases) == 0 {
		wait = min(wait, d.untilNext(now))
		d.awaited = now.steady.Add(wait)
	}
	return leases, wait
}

func (d *Dispatcher) canGive() bool {
	return d.turns[isHigh].first != nil || d.turns[isLow].first != nil
}

// take leases up to n ready entries, one of each lane in turn.
func (d *Dispatcher) take(n int, now instant) []dispatch.Lease {
	if !d.canGive() {
		return nil
	}
	leases := make([]dispatch.Lease, 0, min(n, d.ready))
	for len(leases) < n && d.canGive() {
		l, priority := d.whose()
		leases = append(leases, d.takeFrom(l, priority, now))
	}
	return leases
}

func (d *Dispatcher) takeFrom(l *lane, priority int, now instant) dispatch.Lease {
	k := l.pick(priority)
	s := l.queues[k].first()
	d.dequeue(s)
	l.leased++
	d.turns[priority].remove(l, priority)
	d.seat(l)

	d.issued++
	r := d.records.at(s)
	r.state = leased
	r.issue = d.issued
	if r.deliveries < math.MaxUint16 {
		r.deliveries++
	}
	d.expiries.Put(s, now.steady.Add(d.lease))
	return dispatch.Lease{
		Entry:      dispatch.Entry{ID: d.records.id(s), Lane: l.name, Priority: k.priority(), Class: k.class()},
		Token:      token(s, r.issue),
		Deliveries: int(r.deliveries),
	}
}

// token names a slot and when it was issued. Two leases of one job are told
// apart unless exactly a multiple of 2^32 leases lies between them.
func token(s slot, issue uint32) uint64 { return uint64(s)<<32 | uint64(issue) }

// held returns the slot of a lease that is still valid.
func (d *Dispatcher) held(l dispatch.Lease) (slot, bool) {
	s := slot(l.Token >> 32)
	k, known := d.records.keys.of(l.ID)
	if !known || !d.records.has(s) {
		return 0, false
	}
	r := d.records.at(s)
	return s, r.state == leased && r.key == k && r.issue == uint32(l.Token)
}

// endLease takes a held entry from its worker.
func (d *Dispatcher) endLease(s slot) *lane {
	d.expiries.Remove(s)
	l := d.lanes.byID[d.records.at(s).lane]
	l.leased--
	return l
}

// expire takes an entry whose worker was silent for too long, and whose expiry
// is out of the set already, and makes it ready again.
func (d *Dispatcher) expire(s slot) {
	r := d.records.at(s)
	d.lanes.byID[r.lane].leased--
	r.state = dueAgain
	d.enqueue(s)
}

func (k rank) priority() domain.Priority {
	if k.of() == isHigh {
		return domain.PriorityHigh
	}
	return domain.PriorityLow
}

func (k rank) class() domain.Class {
	if k == highChild || k == lowChild {
		return domain.ClassChild
	}
	return domain.ClassDiscovery
}
