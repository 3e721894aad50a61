package domain_test

import (
	"testing"
	"time"

	"sluice/internal/domain"
)

func TestHours(t *testing.T) {
	seoul, err := time.LoadLocation("Asia/Seoul")
	if err != nil {
		t.Fatal(err)
	}
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	at := func(zone *time.Location, day, hour, minute int) time.Time {
		return time.Date(2026, 3, day, hour, minute, 0, 0, zone)
	}
	for _, tc := range []struct {
		hours string
		now   time.Time
		until time.Time
	}{
		{"09:00-18:00 Asia/Seoul", at(seoul, 2, 8, 59), time.Time{}},
		{"09:00-18:00 Asia/Seoul", at(seoul, 2, 9, 0), at(seoul, 2, 18, 0)},
		{"09:00-18:00 Asia/Seoul", at(seoul, 2, 17, 59), at(seoul, 2, 18, 0)},
		{"09:00-18:00 Asia/Seoul", at(seoul, 2, 18, 0), time.Time{}},
		{"09:00-18:00 Asia/Seoul", at(time.UTC, 2, 3, 0), at(time.UTC, 2, 9, 0)},
		{"22:00-06:00 Asia/Seoul", at(seoul, 2, 23, 0), at(seoul, 3, 6, 0)},
		{"22:00-06:00 Asia/Seoul", at(seoul, 2, 5, 0), at(seoul, 2, 6, 0)},
		{"22:00-06:00 Asia/Seoul", at(seoul, 2, 12, 0), time.Time{}},
		// The night in which Berlin loses an hour.
		{"22:00-06:00 Europe/Berlin", at(berlin, 28, 23, 0), at(berlin, 29, 6, 0)},
	} {
		h, err := domain.ParseHours(tc.hours)
		if err != nil {
			t.Fatal(err)
		}
		until, ok := h.Until(tc.now)
		if ok == tc.until.IsZero() || !until.Equal(tc.until) {
			t.Errorf("%s at %s: until %s (%t), want %s", tc.hours, tc.now, until, ok, tc.until)
		}
	}
	for _, bad := range []string{"9-18", "09:00", "09:00-25:00", "09:00-09:00", "09:00-18:00 Nowhere/Land"} {
		if h, err := domain.ParseHours(bad); domain.CodeOf(err) != domain.CodeInvalid {
			t.Errorf("%q was read as %q (%v)", bad, h, err)
		}
	}
	if _, ok := (domain.Hours{}).Until(time.Now()); ok {
		t.Error("never is now")
	}
}
