package timer

import (
	"time"

	"sluice/internal/domain"
)

// The rules of the store, which every adapter goes by: it loads rows, asks here,
// and writes rows.

// Instant is an instant as stores keep it: to the microsecond. That of the
// beginning of 1970 is one like any other.
func Instant(at time.Time) time.Time { return time.UnixMicro(at.UnixMicro()).UTC() }

// NextInstant is the instant of something to be done as stores keep it. That of
// the beginning of 1970 would mean that there is nothing to be done.
func NextInstant(at time.Time) time.Time { return time.UnixMicro(max(1, at.UnixMicro())).UTC() }

// NewTimer is the timer that a spec becomes if its id is free.
func NewTimer(s Spec, now time.Time) Timer {
	s.At = Instant(s.At)
	if len(s.Payload) == 0 {
		s.Payload = nil
	}
	return Timer{Spec: s, Status: Waiting, SetAt: Instant(now), NextAt: NextInstant(s.At)}
}

// Fires reports whether a firing fires a timer: it waits and is due.
func (f *Firing) Fires(t *Timer) bool { return t.Status == Waiting && !t.At.After(f.Now) }

// Becomes is the status of a timer that fires, with a webhook or without, and
// when something is to be done with it then, zero if nothing is.
func (f *Firing) Becomes(webhook bool) (Status, time.Time) {
	if f.Deliver || webhook {
		return Delivering, NextInstant(f.Now.Add(f.Grace))
	}
	return Completed, time.Time{}
}

// Fire gives a timer its completion if it waits and is due, and reports whether
// it was this firing that did.
func (f *Firing) Fire(t *Timer) bool {
	if !f.Fires(t) {
		return false
	}
	t.Status, t.NextAt = f.Becomes(t.Webhook != "")
	t.FiredAt, t.Server = Instant(f.Now), f.Server
	return true
}

// Check refuses what no delivery can come to.
func (s *Settlement) Check() error {
	if !s.To.HasFired() {
		return domain.Errorf(domain.CodeInvalid, "a delivery of timer %s cannot end as %s", s.ID, s.To)
	}
	return nil
}

// Settle writes down what became of a delivery, and reports whether that counts:
// the timer is being delivered and was not tried more often by now.
func (s *Settlement) Settle(t *Timer) bool {
	if t.Status != Delivering || t.Tries > s.Tries {
		return false
	}
	t.Status, t.NextAt, t.Tries, t.Error = s.To, time.Time{}, s.Tries, s.Error
	if s.To == Delivering {
		t.NextAt = NextInstant(s.Next)
	}
	return true
}

// refused is the error of a change that a timer's status does not allow.
func (t *Timer) refused(verb string) error {
	return domain.Errorf(domain.CodeConflict, "timer %s is %s and cannot be %s", t.ID, t.Status, verb)
}

// Cancel keeps the timer from firing, and reports whether that changed anything.
func (t *Timer) Cancel() (changed bool, err error) {
	if t.Status.HasFired() {
		return false, t.refused("canceled")
	}
	if t.Status == Canceled {
		return false, nil
	}
	t.Status, t.NextAt = Canceled, time.Time{}
	return true, nil
}

// Reschedule gives the timer another instant.
func (t *Timer) Reschedule(at, now time.Time) error {
	if t.Status.HasFired() {
		return t.refused("rescheduled")
	}
	t.Status, t.At, t.SetAt, t.NextAt = Waiting, Instant(at), Instant(now), NextInstant(at)
	return nil
}

// Redeliver has a timer delivered again that was given up.
func (t *Timer) Redeliver(now time.Time) error {
	if t.Status != Dead {
		return t.refused("delivered again")
	}
	t.Status, t.NextAt, t.Tries = Delivering, NextInstant(now), 0
	return nil
}

// Moved reports whether a timer that has fired is not any more what it was when it
// was logged: then it is logged again.
func (t *Timer) Moved(logged *Timer) bool {
	return t.Status.HasFired() && (t.Status != logged.Status || t.Tries != logged.Tries || !t.FiredAt.Equal(logged.FiredAt))
}

// Missing is the error of a timer that there is not.
func Missing(id string) error { return domain.Errorf(domain.CodeNotFound, "there is no timer %s", id) }

// PrefixEnd is the first text after all that begin with a prefix; "" if there is
// none.
func PrefixEnd(prefix string) string {
	end := []byte(prefix)
	for i := len(end) - 1; i >= 0; i-- {
		if end[i] < 0xff {
			end[i]++
			return string(end[:i+1])
		}
	}
	return ""
}
