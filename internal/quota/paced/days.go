package paced

import (
	"slices"
	"time"

	"sluice/internal/domain"
	"sluice/internal/quota/rate"
	"sluice/internal/ration/keeper"
)

const (
	// refundGrace is how long after the beginning of a day calls that are given back may
	// be those of the day before, and do not lower the new day's count.
	refundGrace = 10 * time.Minute
	// mostDates bounds the dates that a call is counted on.
	mostDates = 4
)

// date is a day on which something was granted, and when it certainly has ended, by the
// time that passes.
type date struct {
	rate.Day
	ends time.Duration
}

// today is the date that the clock shows, and what calls draw on meanwhile.
type today struct {
	rate.Day
	// open are the dates that a call is counted on: those before this one that have not
	// ended by the time that passes, for the clock may have been set forward, and this
	// one, the last. dates is how many they are.
	open      []date
	dates     int
	high, low keeper.Ask
	// until is when the first of the others ends.
	until time.Duration
}

// ask is what a call draws on.
func (t *today) ask(p domain.Priority) keeper.Ask {
	if p == domain.PriorityLow {
		return t.low
	}
	return t.high
}

// left is for how long the date lasts that refused.
func (t *today) left(refused string, now time.Time, passed time.Duration) time.Duration {
	for _, d := range t.open[:t.dates-1] {
		if keeper.CountName(dayName, d.String()) == refused {
			return max(d.ends-passed, time.Microsecond)
		}
	}
	return t.End.Sub(now)
}

// today returns what holds now.
func (u *upstream) today(now time.Time, passed time.Duration) *today {
	if t := u.current.Load(); t != nil && t.Has(now) && passed < t.until {
		return t
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if t := u.current.Load(); t != nil && t.Has(now) && passed < t.until {
		return t
	}
	t := u.turn(now, passed)
	u.current.Store(t)
	return t
}

// turn goes over to the date that the clock shows. On whatever date it was shown, each
// date has no more calls than it may; and a clock that was set forward brings nobody the
// calls of the next one, as long as a process runs that saw it.
func (u *upstream) turn(now time.Time, passed time.Duration) *today {
	is := date{u.limits.DayAt(now), passed + u.limits.DayAt(now).End.Sub(now)}
	u.begun = slices.DeleteFunc(u.begun, func(d date) bool { return d.ends <= passed || d.Number == is.Number })
	t := &today{Day: is.Day, until: 1 << 62}
	if u.limits.Daily > 0 {
		for _, d := range u.begun {
			if d.Number < is.Number {
				t.open, t.until = append(t.open, d), min(t.until, d.ends)
			}
		}
	}
	u.begun = append(u.begun, is)
	u.begun = u.begun[max(len(u.begun)-mostDates, 0):]
	t.open = append(t.open, is)
	t.dates = len(t.open)
	t.high, t.low = u.asks(t.open)
	return t
}
