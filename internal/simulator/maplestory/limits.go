package maplestory

import "time"

// korea is where the API's days begin and end.
var korea = time.FixedZone("KST", 9*60*60)

func dayOf(at time.Time) int64 {
	return (at.Unix() + 9*60*60) / (24 * 60 * 60)
}

// verdict is what the limits say of a call.
type verdict uint8

const (
	admitted verdict = iota
	beyondSecond
	beyondDay
)

// account holds what one key has used. Refused calls use nothing. The auditor's
// lock guards it: one instant both counts a call and decides on it.
type account struct {
	second slidingSecond
	day    int64
	today  int
}

func (a *account) admit(l Limits, now time.Time) verdict {
	if day := dayOf(now); day != a.day {
		a.day, a.today = day, 0
	}
	if l.PerDay > 0 && a.today >= l.PerDay {
		return beyondDay
	}
	if l.PerSecond > 0 {
		if a.second.at(now.UnixNano()) >= l.PerSecond {
			return beyondSecond
		}
		a.second.add(now.UnixNano())
	}
	a.today++
	return admitted
}

// slidingSecond counts the instants of the last second: those after now - 1 s.
type slidingSecond struct {
	times []int64
	first int
}

// at is how many there were in the second that ends at now.
func (s *slidingSecond) at(now int64) int {
	for s.first < len(s.times) && s.times[s.first] <= now-int64(time.Second) {
		s.first++
	}
	if s.first > 1024 && s.first > len(s.times)/2 {
		s.times = append(s.times[:0], s.times[s.first:]...)
		s.first = 0
	}
	return len(s.times) - s.first
}

// add notes an instant and counts the second that ends with it.
func (s *slidingSecond) add(now int64) int {
	s.times = append(s.times, now)
	return s.at(now)
}
