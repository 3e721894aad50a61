package due

import (
	"context"
	"time"
)

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

// Sleeper lets one goroutine sleep until an instant while others may wake it
// early, because something earlier came up. A wake-up that arrives while nobody
// sleeps ends the next sleep at once, so none is missed.
type Sleeper struct {
	now   func() time.Time
	limit time.Duration
	wake  chan struct{}
}

// NewSleeper returns a sleeper that never sleeps longer than limit, or without
// limit if that is zero. A nil now is time.Now.
func NewSleeper(limit time.Duration, now func() time.Time) *Sleeper {
	if now == nil {
		now = time.Now
	}
	return &Sleeper{now: now, limit: limit, wake: make(chan struct{}, 1)}
}

// Until sleeps until an instant, the zero time meaning none, and returns nil
// when it has come, when Wake was called, or at the limit. Callers look at what
// is due by their own clock and sleep again. It returns the context's error
// when that ends first.
func (s *Sleeper) Until(ctx context.Context, at time.Time) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	wait := s.limit
	if !at.IsZero() {
		if left := at.Sub(s.now()); s.limit <= 0 || left < s.limit {
			wait = max(left, 0)
		}
	}
	var rings <-chan time.Time
	if s.limit > 0 || !at.IsZero() {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		rings = timer.C
	}
	select {
	case <-rings:
	case <-s.wake:
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}

// Wake ends the sleep that goes on or, if none does, the next one.
func (s *Sleeper) Wake() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}
