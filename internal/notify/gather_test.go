package notify_test

import (
	"testing"
	"time"

	"sluice/internal/notify"
)

// TestFurthest: a table of which not all was read is read on from where it was
// left, whatever others that tell the same kind have told.
func TestFurthest(t *testing.T) {
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	letter := func(minute int) notify.Event {
		return notify.BuriedLetter("x", "why", "game", "key", at.Add(time.Duration(minute)*time.Minute))
	}
	timer := func(minute int) notify.Event {
		return notify.GivenUpTimer("tea", "gone", at.Add(time.Duration(minute)*time.Minute))
	}
	for name, c := range map[string]struct {
		events  []notify.Event
		minutes int
		more    bool
	}{
		"nothing":                       {nil, 0, false},
		"less than asked for of each":   {[]notify.Event{letter(1), timer(2)}, 0, false},
		"more letters, and later timer": {[]notify.Event{letter(1), letter(2), timer(9)}, 2, true},
		"more of both":                  {[]notify.Event{letter(1), letter(5), timer(2), timer(3)}, 3, true},
	} {
		reached, more := notify.Furthest(c.events, 2)
		if more != c.more || more && !reached.Equal(at.Add(time.Duration(c.minutes)*time.Minute)) {
			t.Errorf("%s: %v, %v", name, reached, more)
		}
	}
}
