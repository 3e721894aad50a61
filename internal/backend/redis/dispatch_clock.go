package redis

import (
	"strconv"
	"time"
)

// Clock is time as a test lets it pass.
type Clock interface {
	Now() time.Time
	// AfterFunc does something in a goroutine of its own, unless it is stopped
	// before.
	AfterFunc(d time.Duration, do func()) (stop func() bool)
}

// serverTime is what scripts are told about the time, in microseconds: nothing,
// except in tests.
func (d *Dispatcher) serverTime() string {
	if d.clock == nil {
		return ""
	}
	return strconv.FormatInt(d.clock.Now().UnixMicro(), 10)
}

func (d *Dispatcher) now() time.Time {
	if d.clock == nil {
		return time.Now()
	}
	return d.clock.Now()
}

// timer returns a channel that gets a value when a time has passed.
func (d *Dispatcher) timer(t time.Duration) (passed <-chan time.Time, stop func() bool) {
	if d.clock == nil {
		timer := time.NewTimer(t)
		return timer.C, timer.Stop
	}
	c := make(chan time.Time, 1)
	return c, d.clock.AfterFunc(t, func() { c <- time.Time{} })
}
