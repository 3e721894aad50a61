package github

import (
	"testing"
	"time"
)

// TestOverlappingCalls: a page that was asked for before something was found gone
// does not prove, by being answered later, that it is there.
func TestOverlappingCalls(t *testing.T) {
	noon := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for name, date := range map[string]time.Time{
		"a date":                noon.Add(6 * time.Second),
		"no date":               {},
		"a date that is absurd": noon.Add(24 * time.Hour),
	} {
		t.Run(name, func(t *testing.T) {
			o := Options{Now: func() time.Time { return noon.Add(6*time.Second + 200*time.Millisecond) }}
			slow := &answer{date: date, asked: noon.Add(200 * time.Millisecond), took: 6 * time.Second}
			check := &answer{date: noon.Add(3 * time.Second), asked: noon.Add(3 * time.Second), took: 10 * time.Millisecond}
			if seen, gone := o.askedAt(slow), o.serverTime(check); seen.After(gone) || seen.Before(noon.Add(-time.Second)) {
				t.Errorf("seen at %v, which proves that it is there after it was found gone at %v", seen, gone)
			}
			if answered := o.serverTime(slow); !answered.Equal(noon.Add(6 * time.Second)) {
				t.Errorf("answered at %v", answered)
			}
		})
	}
}
