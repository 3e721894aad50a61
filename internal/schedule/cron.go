package schedule

import (
	"errors"
	"math/bits"
	"strings"
	"time"

	"github.com/robfig/cron/v3"

	"sluice/internal/domain"
)

const (
	// allHours has a bit for every hour of a day.
	allHours = 1<<24 - 1
	// star is set by the parser in a field that is a star.
	star = 1 << 63
	// searched is in how many days an expression must have an instant: 29
	// February is up to eight years away.
	searched = 9 * 366
)

// times is a cron expression in a zone. Only the parser is somebody else's: its
// search runs an hour twice, or not at all, when clocks change.
type times struct {
	spec *cron.SpecSchedule
	zone *time.Location
}

// parseCron reads an expression of five fields or a word such as @daily.
func parseCron(text string, zone *time.Location) (times, error) {
	schedule, err := readCron(strings.TrimSpace(text))
	if err != nil {
		return times{}, domain.Errorf(domain.CodeInvalid, "cron %q: %w; write the five fields minute (0-59), hour (0-23), day of month (1-31), "+
			"month (1-12 or JAN-DEC) and day of week (0-6 or SUN-SAT), such as \"0 3 * * *\", or @hourly, @daily, @weekly or @monthly", text, err)
	}
	t := times{spec: schedule, zone: zone}
	if t.after(time.Unix(0, 0)).IsZero() {
		return times{}, domain.Errorf(domain.CodeInvalid, "cron %q never fires; choose a day that exists in its month", text)
	}
	return t, nil
}

func readCron(text string) (*cron.SpecSchedule, error) {
	if strings.HasPrefix(text, "TZ=") || strings.HasPrefix(text, "CRON_TZ=") {
		return nil, errors.New("the time zone belongs in zone, not here")
	}
	if strings.HasPrefix(text, "@every") {
		return nil, errors.New("the time between runs belongs in every, not here")
	}
	parsed, err := cron.ParseStandard(text)
	if err != nil {
		return nil, err
	}
	spec, ok := parsed.(*cron.SpecSchedule)
	if !ok {
		return nil, errors.New("it names no times of day")
	}
	return spec, nil
}

// after returns the first instant after an instant; zero if there is none.
func (t times) after(instant time.Time) time.Time {
	year, month, day := instant.In(t.zone).Date()
	for i := range searched {
		// Days are counted without a zone: all of them have midnight there.
		date := time.Date(year, month, day+i, 0, 0, 0, 0, time.UTC)
		if !t.onDay(date) {
			continue
		}
		if found := t.afterOn(date, instant); !found.IsZero() {
			return found
		}
	}
	return time.Time{}
}

// afterOn returns the first instant of a day after an instant; zero if none.
func (t times) afterOn(date, instant time.Time) (first time.Time) {
	for hours := t.spec.Hour & allHours; hours != 0; hours &= hours - 1 {
		hour := time.Duration(bits.TrailingZeros64(hours)) * time.Hour
		for minutes := t.spec.Minute &^ star; minutes != 0; minutes &= minutes - 1 {
			minute := time.Duration(bits.TrailingZeros64(minutes)) * time.Minute
			for _, found := range t.instants(date.Add(hour + minute)) {
				if found.After(instant) && (first.IsZero() || found.Before(first)) {
					first = found
				}
			}
		}
		// With hours that are named, later ones of the day come later.
		if !first.IsZero() && t.spec.Hour&allHours != allHours {
			return first
		}
	}
	return first
}

// instants returns when the clocks of the zone show a time, which is given in
// UTC, and a run is to begin. A time that comes twice counts once, and one that
// is left out counts when clocks go on; but if every hour is meant there is
// another near, and times count as they come.
func (t times) instants(wall time.Time) []time.Time {
	found := time.Date(wall.Year(), wall.Month(), wall.Day(), wall.Hour(), wall.Minute(), 0, 0, t.zone)
	begin, end := found.ZoneBounds()
	everyHour := t.spec.Hour&allHours == allHours
	switch shown := shownAt(found); {
	case shown.After(wall) && !everyHour:
		return []time.Time{begin}
	case shown.Before(wall) && !everyHour:
		return []time.Time{end}
	case !shown.Equal(wall):
		return nil
	}
	instants := []time.Time{found}
	if !begin.IsZero() {
		before := wall.Add(-offset(begin.Add(-1)))
		if before.Before(begin) {
			instants = []time.Time{before, found}
		}
	}
	if !end.IsZero() {
		behind := wall.Add(-offset(end))
		if !behind.Before(end) {
			instants = append(instants, behind)
		}
	}
	if everyHour {
		return instants
	}
	return instants[:1]
}

// onDay reports whether the expression names a day. As cron has it, the day of
// the month and that of the week are alternatives unless one of them is a star.
func (t times) onDay(date time.Time) bool {
	if t.spec.Month&(1<<uint(date.Month())) == 0 {
		return false
	}
	ofMonth := t.spec.Dom&(1<<uint(date.Day())) != 0
	ofWeek := t.spec.Dow&(1<<uint(date.Weekday())) != 0
	if t.spec.Dom&star != 0 || t.spec.Dow&star != 0 {
		return ofMonth && ofWeek
	}
	return ofMonth || ofWeek
}

// shownAt returns what local clocks show at an instant, as a time in UTC.
func shownAt(instant time.Time) time.Time { return instant.UTC().Add(offset(instant)) }

// offset returns how far local clocks are ahead of UTC at an instant.
func offset(instant time.Time) time.Duration {
	_, seconds := instant.Zone()
	return time.Duration(seconds) * time.Second
}
