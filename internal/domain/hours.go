package domain

import (
	"fmt"
	"strings"
	"time"
)

// Hours is a part of every day, such as "09:00-18:00" or, in a time zone,
// "22:00-06:00 Asia/Seoul". The zero value is never.
type Hours struct{ text string }

// ParseHours reads hours. The empty string is never.
func ParseHours(text string) (Hours, error) {
	h := Hours{strings.TrimSpace(text)}
	if h.text == "" {
		return h, nil
	}
	from, to, _, err := h.parts()
	if err == nil && from == to {
		err = fmt.Errorf("it begins and ends at the same time")
	}
	if err != nil {
		return Hours{}, Errorf(CodeInvalid, "%q is not a range of hours; write 09:00-18:00, or 09:00-18:00 Asia/Seoul: %w", text, err)
	}
	return h, nil
}

// String returns the hours as they were written.
func (h Hours) String() string { return h.text }

// IsZero reports whether the hours are never.
func (h Hours) IsZero() bool { return h.text == "" }

// MarshalText implements encoding.TextMarshaler.
func (h Hours) MarshalText() ([]byte, error) { return []byte(h.text), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (h *Hours) UnmarshalText(b []byte) (err error) {
	*h, err = ParseHours(string(b))
	return err
}

// Until returns when the hours that now lies in are over; ok is false if it
// lies in none.
func (h Hours) Until(now time.Time) (end time.Time, ok bool) {
	if h.IsZero() {
		return time.Time{}, false
	}
	from, to, zone, err := h.parts()
	if err != nil {
		return time.Time{}, false
	}
	local := now.In(zone)
	// Hours that began yesterday may reach into today.
	for day := -1; day <= 0; day++ {
		begin := clock(local, day, from)
		last := day
		if to <= from {
			last++
		}
		if end := clock(local, last, to); !local.Before(begin) && local.Before(end) {
			return end, true
		}
	}
	return time.Time{}, false
}

// clock is a time of day on a day near t; it follows daylight saving.
func clock(t time.Time, days, minutes int) time.Time {
	return time.Date(t.Year(), t.Month(), t.Day()+days, minutes/60, minutes%60, 0, 0, t.Location())
}

func (h Hours) parts() (from, to int, zone *time.Location, err error) {
	span, name, named := strings.Cut(h.text, " ")
	zone = time.Local
	if named {
		if zone, err = time.LoadLocation(strings.TrimSpace(name)); err != nil {
			return 0, 0, nil, err
		}
	}
	a, b, ok := strings.Cut(span, "-")
	if !ok {
		return 0, 0, nil, fmt.Errorf("the hyphen is missing")
	}
	if from, err = minutesOf(a); err != nil {
		return 0, 0, nil, err
	}
	to, err = minutesOf(b)
	return from, to, zone, err
}

func minutesOf(s string) (int, error) {
	t, err := time.Parse("15:04", s)
	if err != nil {
		return 0, fmt.Errorf("%q is not a time of day", s)
	}
	return t.Hour()*60 + t.Minute(), nil
}
