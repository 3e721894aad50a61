package engine

import (
	"testing"
	"time"
)

// TestTheLaterWaitIsShown: two jobs of a lane may be refused at once, one until the
// next window and one until calls under way are counted. Dispatch keeps the lane closed
// until the later instant, and that is what people are told, in whatever order they
// come.
func TestTheLaterWaitIsShown(t *testing.T) {
	now := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	long, short := Wait{"primary", now.Add(time.Hour)}, Wait{"primary", now.Add(time.Second)}
	for name, order := range map[string][]Wait{"short last": {long, short}, "long last": {short, long}} {
		waits := newWaitReasons(func() time.Time { return now })
		for _, w := range order {
			waits.set("lane", w)
		}
		if got := waits.all()["lane"]; got != long {
			t.Errorf("%s: it waits for %v, want %v", name, got, long)
		}
		// Whoever opens the lane begins anew.
		waits.clear("lane")
		waits.set("lane", short)
		if got := waits.all()["lane"]; got != short {
			t.Errorf("%s: opened and closed again, it waits for %v, want %v", name, got, short)
		}
	}
	waits := newWaitReasons(func() time.Time { return now })
	waits.set(waitStore, long)
	waits.set(waitStore, short)
	if got := waits.all()[waitStore]; got != short {
		t.Errorf("the store waits for %v, want the last one", got)
	}
}
