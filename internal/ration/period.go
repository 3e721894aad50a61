package ration

import (
	"strings"
	"time"

	"sluice/internal/domain"
)

// Period is how long a window is: a duration, or a part of the calendar in some
// place.
type Period struct {
	// Length is the duration; for a part of the calendar, the longest that it can be.
	Length time.Duration
	Part   Part
	// Zone is where the calendar is read; UTC if nil.
	Zone *time.Location
}

// Part is a part of the calendar.
type Part string

// The parts. A Period without one is a duration that begins with the first call.
const (
	Minute Part = "minute"
	Hour   Part = "hour"
	Day    Part = "day"
	Month  Part = "month"
)

// A day in which a clock is set back has 25 hours, such a month 745.
var partLengths = map[Part]time.Duration{
	Minute: time.Minute, Hour: time.Hour, Day: 25 * time.Hour, Month: 31*24*time.Hour + time.Hour,
}

// ParsePeriod reads a period: 90s, 1m, 168h, or minute, hour, day, month. The zone
// is for parts of the calendar alone; "" is UTC.
func ParsePeriod(text, zone string) (Period, error) {
	part := Part(strings.ToLower(strings.TrimSpace(text)))
	length, calendar := partLengths[part]
	if !calendar {
		d, err := time.ParseDuration(strings.TrimSpace(text))
		switch {
		case err != nil:
			return Period{}, domain.Errorf(domain.CodeInvalid, "%q is not a period; give a duration such as 1s, 5m or 24h, or one of minute, hour, day, month", text)
		case d <= 0 || d > 366*24*time.Hour:
			return Period{}, domain.Errorf(domain.CodeInvalid, "a period of %s cannot be kept; give more than nothing and at most a year", text)
		case zone != "":
			return Period{}, domain.Errorf(domain.CodeInvalid, "a zone is for periods of the calendar; give every: day instead of %s, or leave out the zone", text)
		}
		return Period{Length: d}, nil
	}
	p := Period{Length: length, Part: part}
	if zone != "" {
		at, err := time.LoadLocation(zone)
		if err != nil || strings.EqualFold(zone, "local") {
			return Period{}, domain.Errorf(domain.CodeInvalid, "there is no time zone %q; give one such as Asia/Seoul or UTC", zone)
		}
		p.Zone = at
	}
	return p, nil
}

// IsZero says whether there is no period.
func (p Period) IsZero() bool { return p.Length == 0 }

// String is how it is written.
func (p Period) String() string {
	if p.Part == "" {
		return p.Length.String()
	}
	if p.Zone == nil {
		return string(p.Part)
	}
	return string(p.Part) + " in " + p.Zone.String()
}

// Window is the part of the calendar that an instant is in, from its beginning to
// the beginning of the next. Of a duration nothing is known but its length.
func (p Period) Window(at time.Time) (from, to time.Time, known bool) {
	zone := p.Zone
	if zone == nil {
		zone = time.UTC
	}
	t := at.In(zone)
	switch p.Part {
	case Minute, Hour:
		// Zones are off by whole minutes, some of them not by whole hours.
		_, offset := t.Zone()
		step := int64(60)
		if p.Part == Hour {
			step = 3600
		}
		local := t.Unix() + int64(offset)
		from = time.Unix(local-mod(local, step)-int64(offset), 0).UTC()
		return from, from.Add(time.Duration(step) * time.Second), true
	case Day:
		from = midnight(t.Year(), t.Month(), t.Day(), zone)
		to = midnight(t.Year(), t.Month(), t.Day()+1, zone)
	case Month:
		from = midnight(t.Year(), t.Month(), 1, zone)
		to = midnight(t.Year(), t.Month()+1, 1, zone)
	default:
		return time.Time{}, time.Time{}, false
	}
	return from, to, true
}

func mod(n, by int64) int64 { return (n%by + by) % by }

// midnight is the first instant of a day. Where clocks are set forward at midnight
// the day begins later, and time.Date may answer with an hour of the day before.
func midnight(year int, month time.Month, day int, zone *time.Location) time.Time {
	noon := time.Date(year, month, day, 12, 0, 0, 0, zone)
	t := time.Date(year, month, day, 0, 0, 0, 0, zone)
	for t.Day() != noon.Day() {
		t = t.Add(30 * time.Minute)
	}
	return t.UTC()
}
