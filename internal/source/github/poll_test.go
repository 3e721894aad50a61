package github

import (
	"testing"
	"time"

	sim "sluice/internal/simulator/github"
)

// TestEventsAreLeftAloneForThePollInterval asks again too soon, and then late
// enough.
func TestEventsAreLeftAloneForThePollInterval(t *testing.T) {
	c := newClock()
	w := newWorld(t, sim.Options{Seed: 4, Accounts: 1, Shape: smallShape(), Now: c.Now})
	login := w.Logins()[0]
	d := w.driver(t, Options{Now: c.Now}, login)
	asked := func() bool { return d.pages[CursorKey(UserEvents, userResource(login))] > 0 }
	for _, step := range []struct {
		wait time.Duration
		want bool
	}{{0, true}, {10 * time.Second, false}, {2 * time.Minute, true}} {
		c.advance(step.wait)
		d.run(c.Now())
		d.noFailures()
		if asked() != step.want {
			t.Errorf("after %s: events were asked for: %t, want %t", step.wait, asked(), step.want)
		}
	}
}
