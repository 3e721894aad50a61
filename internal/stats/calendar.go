package stats

import (
	"maps"
	"slices"
	"time"
)

const (
	secondsPerHour = 60 * 60
	secondsPerDay  = 24 * secondsPerHour
	// The instants that a date of four digits can name. Commit times are
	// whatever a committer's clock said.
	firstSecond = -62135596800 // 0001-01-01T00:00:00Z
	lastSecond  = 253402300799 // 9999-12-31T23:59:59Z
)

// calendar counts activities by UTC day, weekday and hour. A day is its number
// since 1970-01-01.
type calendar struct {
	days        map[int64]int64
	weekdays    [7]int64
	hours       [24]int64
	first, last int64
	dated       bool
}

// add counts an activity; one without a usable date is left out.
func (c *calendar) add(at time.Time) {
	second := at.Unix()
	if at.IsZero() || second < firstSecond || second > lastSecond {
		return
	}
	if !c.dated || second < c.first {
		c.first = second
	}
	if !c.dated || second > c.last {
		c.last = second
	}
	c.dated = true
	day := dayOf(second)
	c.days[day]++
	c.weekdays[weekdayOf(day)]++
	c.hours[(second-day*secondsPerDay)/secondsPerHour]++
}

// activity returns the calendar in its public form, all but the total.
func (c *calendar) activity(asOf time.Time) Activity {
	a := Activity{
		ActiveDays: int64(len(c.days)),
		ByWeekday:  c.weekdays,
		ByHour:     c.hours,
		ByDay:      make(map[string]int64, len(c.days)),
	}
	if !c.dated {
		return a
	}
	a.First, a.Last = time.Unix(c.first, 0).UTC(), time.Unix(c.last, 0).UTC()
	for day, n := range c.days {
		a.ByDay[dateOf(day)] = n
	}
	a.Current, a.Longest = streaks(slices.Sorted(maps.Keys(c.days)), dayOf(asOf.Unix()))
	return a
}

// streaks finds the streak that lasts until today, or yesterday while today
// has brought nothing yet, and the longest one. Days are distinct and sorted.
func streaks(days []int64, today int64) (current, longest Streak) {
	for from := 0; from < len(days); {
		to := from
		for to+1 < len(days) && days[to+1] == days[to]+1 {
			to++
		}
		if n := int64(to - from + 1); n >= longest.Days {
			longest = streak(days[from], days[to])
		}
		if days[from] <= today && days[to] >= today-1 {
			current = streak(days[from], min(days[to], today))
		}
		from = to + 1
	}
	return current, longest
}

func streak(from, to int64) Streak {
	return Streak{Days: to - from + 1, From: dateOf(from), To: dateOf(to)}
}

// dayOf returns the day a second falls in, also before 1970.
func dayOf(second int64) int64 {
	day := second / secondsPerDay
	if second%secondsPerDay < 0 {
		day--
	}
	return day
}

// weekdayOf returns 0 for a Sunday; 1970-01-01 was a Thursday.
func weekdayOf(day int64) int64 { return ((day+4)%7 + 7) % 7 }

func dateOf(day int64) string {
	return time.Unix(day*secondsPerDay, 0).UTC().Format(time.DateOnly)
}
