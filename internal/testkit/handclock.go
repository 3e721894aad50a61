package testkit

import (
	"sync"
	"time"
)

// HandClock stands still until it is moved by hand. It stands for the clock of a
// server and for the timers of a process, where a bubble of testing/synctest cannot:
// servers are outside of every bubble.
type HandClock struct {
	mu     sync.Mutex
	now    time.Time
	timers map[*handTimer]struct{}
	// changed is closed and replaced whenever a timer comes or goes.
	changed chan struct{}
}

type handTimer struct {
	at time.Time
	do func()
}

// NewHandClock returns a clock that shows an instant.
func NewHandClock(now time.Time) *HandClock {
	return &HandClock{now: now, timers: make(map[*handTimer]struct{}), changed: make(chan struct{})}
}

// Now returns what the clock shows.
func (c *HandClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// AfterFunc does something in a goroutine of its own when the clock has moved
// by d. Stopping it says whether that came in time.
func (c *HandClock) AfterFunc(d time.Duration, do func()) (stop func() bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := &handTimer{at: c.now.Add(d), do: do}
	c.timers[t] = struct{}{}
	c.fire()
	return func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		_, there := c.timers[t]
		delete(c.timers, t)
		c.note()
		return there
	}
}

// Advance moves the clock and fires what becomes due.
func (c *HandClock) Advance(d time.Duration) { c.AdvanceTo(c.Now().Add(d)) }

// AdvanceTo moves the clock to an instant, never backwards.
func (c *HandClock) AdvanceTo(at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if at.After(c.now) {
		c.now = at
	}
	c.fire()
}

// AdvanceToNext moves the clock to the instant of the next timer, if there is
// one.
func (c *HandClock) AdvanceToNext() {
	if next, ok := c.Next(); ok {
		c.AdvanceTo(next)
	}
}

// Next returns the instant of the next timer, if there is one.
func (c *HandClock) Next() (at time.Time, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for t := range c.timers {
		if !ok || t.at.Before(at) {
			at, ok = t.at, true
		}
	}
	return at, ok
}

// Timers returns how many timers wait, and a channel that is closed when that
// changes.
func (c *HandClock) Timers() (n int, changed <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.timers), c.changed
}

// Until waits until a condition on the clock's timers holds. It looks again
// whenever a timer comes or goes.
func (c *HandClock) Until(holds func() bool) {
	for {
		_, changed := c.Timers()
		if holds() {
			return
		}
		<-changed
	}
}

// fire starts what is due. The lock is held.
func (c *HandClock) fire() {
	for t := range c.timers {
		if !t.at.After(c.now) {
			delete(c.timers, t)
			go t.do()
		}
	}
	c.note()
}

// note tells whoever waits for the timers to change. The lock is held.
func (c *HandClock) note() {
	close(c.changed)
	c.changed = make(chan struct{})
}
