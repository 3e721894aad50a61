package memory

import (
	"container/list"
	"context"
	"fmt"
	"math"
	"time"

	"sluice/internal/dispatch"
	"sluice/internal/domain"
)

// waiters are the calls that wait in Lease, the longest waiting first.
type waiters struct{ list.List }

// waiter is one call that waits for up to want entries. Whoever makes entries
// ready puts the leases into its hand and takes it off the list, so nobody is
// woken for nothing.
type waiter struct {
	want int
	hand chan []dispatch.Lease
}

// Lease implements dispatch.Dispatcher. Calls that wait are served in the
// order in which they came.
func (d *Dispatcher) Lease(ctx context.Context, n int) ([]dispatch.Lease, error) {
	if n < 1 {
		return nil, fmt.Errorf("lease %d entries: at least 1 is needed", n)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	leases, place := d.takeOrWait(n)
	if place == nil {
		return leases, nil
	}
	limit := time.NewTimer(dispatch.MaxWait)
	defer limit.Stop()
	select {
	case leases := <-place.Value.(*waiter).hand:
		return leases, nil
	case <-limit.C:
		return d.giveUp(place, nil)
	case <-ctx.Done():
		return d.giveUp(place, ctx.Err())
	}
}

func (d *Dispatcher) takeOrWait(n int) ([]dispatch.Lease, *list.Element) {
	now := d.enter()
	defer d.leave(now)
	if leases := d.take(n, now); len(leases) > 0 {
		return leases, nil
	}
	return nil, d.waiters.PushBack(&waiter{want: n, hand: make(chan []dispatch.Lease, 1)})
}

// giveUp ends a wait. What was handed over, or became ready, at the same
// moment is returned rather than lost.
func (d *Dispatcher) giveUp(place *list.Element, cause error) ([]dispatch.Lease, error) {
	now := d.enter()
	defer d.leave(now)
	w := place.Value.(*waiter)
	select {
	case leases := <-w.hand:
		return leases, nil
	default:
		d.waiters.Remove(place)
		return nil, cause
	}
}

// serve hands what is ready to those who wait.
func (d *Dispatcher) serve(now instant) {
	for d.turns.first != nil && d.waiters.Len() > 0 {
		w := d.waiters.Remove(d.waiters.Front()).(*waiter)
		w.hand <- d.take(w.want, now)
	}
}

// take leases up to n ready entries, one of each lane in turn.
func (d *Dispatcher) take(n int, now instant) []dispatch.Lease {
	if d.turns.first == nil {
		return nil
	}
	leases := make([]dispatch.Lease, 0, min(n, d.ready))
	for len(leases) < n && d.turns.first != nil {
		leases = append(leases, d.takeFrom(d.turns.first, now))
	}
	return leases
}

func (d *Dispatcher) takeFrom(l *lane, now instant) dispatch.Lease {
	k := l.pick()
	s := l.queues[k].first()
	d.dequeue(s)
	l.leased++
	d.turns.remove(l)
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
		Entry:      dispatch.Entry{Job: r.job, Lane: l.name, Priority: k.priority(), Class: k.class()},
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
	if !d.records.has(s) {
		return 0, false
	}
	r := d.records.at(s)
	return s, r.state == leased && r.job == l.Job && r.issue == uint32(l.Token)
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
	if k < lowChild {
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
