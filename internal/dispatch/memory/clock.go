package memory

import (
	"time"

	"sluice/internal/due"
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

// enter locks the dispatcher, lets what has come due take its place and hands
// it to those who wait. Every call begins with it and ends with leave.
func (d *Dispatcher) enter() instant {
	d.mu.Lock()
	wall := d.now()
	now := instant{wall: wall, steady: d.started.Add(wall.Sub(d.started))}
	d.advance(now)
	d.serve(now)
	return now
}

// leave hands what the call made ready to those who wait and unlocks the
// dispatcher.
func (d *Dispatcher) leave(now instant) {
	d.serve(now)
	d.arm(now)
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
func overdue[K comparable](s *due.Set[K], now time.Time) time.Duration {
	at, ok := s.Next()
	if !ok {
		return -1
	}
	return now.Sub(at)
}

// arm sets the alarm to the next instant at which something may become ready.
// Nobody needs it while nobody waits.
func (d *Dispatcher) arm(now instant) {
	if d.waiters.Len() == 0 {
		d.alarm.Stop()
		return
	}
	wait, any := time.Duration(0), false
	if at, ok := d.instants.Next(); ok {
		wait, any = at.Sub(now.wall), true
	}
	if at, ok := d.expiries.Next(); ok {
		if left := at.Sub(now.steady); !any || left < wait {
			wait, any = left, true
		}
	}
	if !any {
		d.alarm.Stop()
		return
	}
	d.alarm.Set(now.steady, now.steady.Add(wait))
}

// alarmed is what the alarm calls. If it rang early, leaving sets it again.
func (d *Dispatcher) alarmed() {
	now := d.enter()
	d.alarm.Stop()
	d.leave(now)
}
