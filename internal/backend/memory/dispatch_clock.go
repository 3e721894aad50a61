package memory

import (
	"math"
	"time"
)

// instant is one reading of the clock. Due times are compared with the wall
// clock. Leases are compared with the time that went by, so that setting the
// wall clock neither ends nor prolongs them.
type instant struct{ wall, steady time.Time }

// dueKey is a slot, or the complement of a lane's id: the two kinds of things
// that wait for an instant of the wall clock.
type dueKey int64

func dueJob(s slot) dueKey   { return dueKey(s) }
func dueLane(l *lane) dueKey { return ^dueKey(l.id) }

// enter locks the dispatcher and lets what has come due take its place. Every
// call begins with it and ends with leave.
func (d *Dispatcher) enter() instant {
	d.mu.Lock()
	wall := d.now()
	now := instant{wall: wall, steady: d.started.Add(wall.Sub(d.started))}
	d.advance(now)
	return now
}

// leave wakes who waits if there is something to be had, or will be before he
// looks by himself, and unlocks the dispatcher.
func (d *Dispatcher) leave(now instant) {
	if d.canGive() || d.untilNext(now) < d.awaited.Sub(now.steady) {
		d.waiter.Wake()
	}
	d.mu.Unlock()
}

// advance takes in order of time whatever became due since it was last called.
func (d *Dispatcher) advance(now instant) {
	for {
		dueFor, expiredFor := overdue(d.instants, now.wall), overdue(d.expiries, now.steady)
		switch {
		case dueFor < 0 && expiredFor < 0:
			return
		case dueFor >= expiredFor:
			key, _, _ := d.instants.PopDue(now.wall)
			if key < 0 {
				d.unpark(d.lanes.byID[^key])
			} else {
				d.enqueue(slot(key))
			}
		default:
			s, _, _ := d.expiries.PopDue(now.steady)
			d.expire(s)
		}
	}
}

// overdue returns how long ago the set's earliest instant was, negative if it
// has not come.
func overdue[K comparable](s *dueHeap[K], now time.Time) time.Duration {
	at, ok := s.Next()
	if !ok {
		return -1
	}
	return now.Sub(at)
}

// untilNext returns how long it takes until something may become ready by
// itself.
func (d *Dispatcher) untilNext(now instant) time.Duration {
	wait := time.Duration(math.MaxInt64)
	if at, ok := d.instants.Next(); ok {
		wait = at.Sub(now.wall)
	}
	if at, ok := d.expiries.Next(); ok {
		wait = min(wait, at.Sub(now.steady))
	}
	return wait
}
