package testkit_test

import (
	"testing"
	"time"

	"sluice/internal/testkit"
)

var start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func TestTimersFireInTime(t *testing.T) {
	c := testkit.NewHandClock(start)
	fired := make(chan string, 3)
	for name, d := range map[string]time.Duration{"one": time.Second, "two": 2 * time.Second, "now": 0} {
		c.AfterFunc(d, func() { fired <- name })
	}
	if got := <-fired; got != "now" {
		t.Errorf("%q fired at once", got)
	}
	c.Advance(time.Second)
	if got := <-fired; got != "one" {
		t.Errorf("%q fired after a second", got)
	}
	if n, _ := c.Timers(); n != 1 {
		t.Errorf("%d timers wait, want 1", n)
	}
	c.AdvanceToNext()
	if got := <-fired; got != "two" || !c.Now().Equal(start.Add(2*time.Second)) {
		t.Errorf("%q fired at %v", got, c.Now())
	}
	if next, ok := c.Next(); ok {
		t.Errorf("something waits for %v", next)
	}
}

func TestStoppedTimerDoesNotFire(t *testing.T) {
	c := testkit.NewHandClock(start)
	stop := c.AfterFunc(time.Second, func() { t.Error("a stopped timer fired") })
	if !stop() {
		t.Error("it was not stopped in time")
	}
	c.Advance(time.Hour)
	fired := make(chan struct{})
	stop = c.AfterFunc(time.Second, func() { close(fired) })
	c.Advance(time.Second)
	<-fired
	if stop() {
		t.Error("a timer that fired was stopped in time")
	}
}

func TestUntilHearsOfTimers(t *testing.T) {
	c := testkit.NewHandClock(start)
	done := make(chan struct{})
	go func() {
		defer close(done)
		c.Until(func() bool { n, _ := c.Timers(); return n == 2 })
	}()
	c.AfterFunc(time.Second, func() {})
	c.AfterFunc(time.Second, func() {})
	<-done
	c.AdvanceTo(start.Add(-time.Hour))
	if !c.Now().Equal(start) {
		t.Errorf("the clock went back to %v", c.Now())
	}
}
