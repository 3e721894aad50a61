package due

import "time"

// Alarm calls a function at one instant that can be moved. It has no goroutine
// of its own until it rings. It may ring although it was moved or stopped at
// the same moment, so the function looks at the truth again. Set and Stop are
// not safe for concurrent use.
type Alarm struct {
	ring  func()
	timer *time.Timer
	at    time.Time
}

// NewAlarm returns an alarm that is not set.
func NewAlarm(ring func()) *Alarm { return &Alarm{ring: ring} }

// Set moves the alarm to an instant. Both times are read from the same clock.
// Setting it again to the instant it has costs nothing, also after it rang:
// whoever finds that it rang early must Stop it first.
func (a *Alarm) Set(now, at time.Time) {
	if a.at.Equal(at) {
		return
	}
	a.at = at
	wait := max(0, at.Sub(now))
	if a.timer == nil {
		a.timer = time.AfterFunc(wait, a.ring)
		return
	}
	a.timer.Reset(wait)
}

// Stop unsets the alarm.
func (a *Alarm) Stop() {
	if a.at.IsZero() {
		return
	}
	a.at = time.Time{}
	a.timer.Stop()
}
