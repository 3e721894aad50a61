package schedule_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"sluice/internal/schedule"
)

// cronAfter returns the instant of an expression that follows another.
func cronAfter(expression, zone string, after time.Time) time.Time {
	p := schedule.Policy{Cron: expression, Zone: zone, Spread: schedule.For(0)}
	return schedule.Next(p, schedule.Ended{Account: account, RunBegan: after, Now: after}).At
}

// TestClocksAreChanged names what happens in the nights of both changes.
func TestClocksAreChanged(t *testing.T) {
	for _, tc := range []struct {
		zone, cron, after string
		want              []string
	}{
		// 02:00 to 03:00 is left out: it is made up for at 03:00.
		{"Europe/Berlin", "30 2 * * *", "2026-03-28T00:00:00+01:00", []string{
			"2026-03-28T02:30:00+01:00", "2026-03-29T03:00:00+02:00", "2026-03-30T02:30:00+02:00"}},
		{"America/New_York", "30 2 * * *", "2026-03-07T00:00:00-05:00", []string{
			"2026-03-07T02:30:00-05:00", "2026-03-08T03:00:00-04:00", "2026-03-09T02:30:00-04:00"}},
		{"Europe/Berlin", "0 2,3 * * *", "2026-03-29T00:00:00+01:00", []string{
			"2026-03-29T03:00:00+02:00", "2026-03-30T02:00:00+02:00"}},
		// 02:30 and 01:30 come twice: the first counts.
		{"Europe/Berlin", "30 2 * * *", "2026-10-24T00:00:00+02:00", []string{
			"2026-10-24T02:30:00+02:00", "2026-10-25T02:30:00+02:00", "2026-10-26T02:30:00+01:00"}},
		{"America/New_York", "30 1 * * *", "2026-10-31T00:00:00-04:00", []string{
			"2026-10-31T01:30:00-04:00", "2026-11-01T01:30:00-04:00", "2026-11-02T01:30:00-05:00"}},
		// Every hour is every hour that passes.
		{"Europe/Berlin", "30 * * * *", "2026-03-29T01:00:00+01:00", []string{
			"2026-03-29T01:30:00+01:00", "2026-03-29T03:30:00+02:00", "2026-03-29T04:30:00+02:00"}},
		{"Europe/Berlin", "30 * * * *", "2026-10-25T01:45:00+02:00", []string{
			"2026-10-25T02:30:00+02:00", "2026-10-25T02:30:00+01:00", "2026-10-25T03:30:00+01:00"}},
		{"America/New_York", "*/30 * * * *", "2026-11-01T01:00:00-04:00", []string{
			"2026-11-01T01:30:00-04:00", "2026-11-01T01:00:00-05:00", "2026-11-01T01:30:00-05:00", "2026-11-01T02:00:00-05:00"}},
		// A midnight, and a whole day, that a country left out.
		{"America/Sao_Paulo", "@daily", "2018-11-03T12:00:00-03:00", []string{
			"2018-11-04T01:00:00-02:00", "2018-11-05T00:00:00-02:00"}},
		{"Pacific/Apia", "0 9 * * *", "2011-12-29T12:00:00-10:00", []string{
			"2011-12-31T00:00:00+14:00", "2011-12-31T09:00:00+14:00"}},
	} {
		after, err := time.Parse(time.RFC3339, tc.after)
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range tc.want {
			want, err := time.Parse(time.RFC3339, text)
			if err != nil {
				t.Fatal(err)
			}
			got := cronAfter(tc.cron, tc.zone, after)
			if !got.Equal(want) {
				t.Errorf("%s in %s after %s: %s, want %s", tc.cron, tc.zone, after, got.In(want.Location()), text)
			}
			after = got
		}
	}
}

// TestOncePerDay: over years, a time of day has one run on each day, moved by
// its account's share, whenever the runs end.
func TestOncePerDay(t *testing.T) {
	for _, zone := range []string{"Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "America/Havana", "Antarctica/Troll"} {
		location, err := time.LoadLocation(zone)
		if err != nil {
			t.Fatal(err)
		}
		for _, hour := range []int{0, 1, 2, 3, 12, 23} {
			p := schedule.Policy{Cron: fmt.Sprintf("%d %d * * *", 15, hour), Zone: zone, Spread: schedule.For(5 * time.Minute)}
			day := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
			now := time.Date(2025, 12, 31, 23, 30, 0, 0, location)
			for i := range 3 * 365 {
				plan := schedule.Next(p, schedule.Ended{Account: account, RunBegan: now, Now: now})
				if shown := plan.At.In(location).Format(time.DateOnly); shown != day.Format(time.DateOnly) {
					t.Fatalf("%s in %s: a run at %s, want one on %s", p.Cron, zone, plan.At.In(location), day.Format(time.DateOnly))
				}
				// Some runs end when the time comes for the second time.
				now, day = plan.At.Add(time.Duration(i%7)*20*time.Minute), day.AddDate(0, 0, 1)
			}
		}
	}
}

// expression is a random cron expression of every day and what it means.
type expression struct {
	text           string
	minutes, hours []int
}

func drawExpression(t *rapid.T) expression {
	minutes := rapid.SliceOfNDistinct(rapid.IntRange(0, 59), 1, 4, rapid.ID).Draw(t, "minutes")
	e := expression{minutes: minutes, text: list(minutes) + " * * * *"}
	if !rapid.Bool().Draw(t, "every hour") {
		e.hours = rapid.SliceOfNDistinct(rapid.IntRange(0, 23), 1, 5, rapid.ID).Draw(t, "hours")
		e.text = list(minutes) + " " + list(e.hours) + " * * *"
	}
	return e
}

func list(numbers []int) string {
	return strings.ReplaceAll(strings.Trim(fmt.Sprint(numbers), "[]"), " ", ",")
}

func (e expression) names(wall time.Time) bool {
	return slices.Contains(e.minutes, wall.Minute()) && (e.hours == nil || slices.Contains(e.hours, wall.Hour()))
}

// TestCronFollowsTheClock looks at a clock minute by minute, around changes of
// many kinds, and compares.
func TestCronFollowsTheClock(t *testing.T) {
	setRapid(t, 500)
	changes := map[string]string{
		"Europe/Berlin": "2026-03-29T01:00:00Z", "America/New_York": "2026-03-08T07:00:00Z",
		"Australia/Lord_Howe": "2026-04-04T15:00:00Z", "America/Sao_Paulo": "2018-11-04T03:00:00Z",
		"America/Havana": "2026-11-01T05:00:00Z", "Pacific/Apia": "2011-12-30T10:00:00Z",
		"Antarctica/Troll": "2026-10-25T01:00:00Z", "Africa/Casablanca": "2026-02-15T02:00:00Z",
		"Asia/Kathmandu": "2026-01-01T00:00:00Z", "Europe/London": "2026-10-25T01:00:00Z",
	}
	zones := make([]string, 0, len(changes))
	for zone := range changes {
		zones = append(zones, zone)
	}
	slices.Sort(zones)
	rapid.Check(t, func(t *rapid.T) {
		zone := rapid.SampledFrom(zones).Draw(t, "zone")
		change, err := time.Parse(time.RFC3339, changes[zone])
		if err != nil {
			t.Fatal(err)
		}
		after := change.Add(time.Duration(rapid.IntRange(-30*3600, 30*3600).Draw(t, "seconds")) * time.Second)
		e := drawExpression(t)
		got, want := cronAfter(e.text, zone, after), watch(t, e, zone, after)
		if !got.Equal(want) {
			t.Fatalf("%s in %s after %s: %s, want %s", e.text, zone, after, got, want)
		}
	})
}

// watch returns when the expression comes first after an instant. A time that
// the clock showed before does not count again, and one that it jumped over
// counts when it jumps, unless every hour is meant.
func watch(t *rapid.T, e expression, zone string, after time.Time) time.Time {
	location, err := time.LoadLocation(zone)
	if err != nil {
		t.Fatal(err)
	}
	wall := func(instant time.Time) time.Time {
		l := instant.In(location)
		return time.Date(l.Year(), l.Month(), l.Day(), l.Hour(), l.Minute(), 0, 0, time.UTC)
	}
	instant := after.Truncate(time.Minute).Add(-6 * time.Hour)
	latest := wall(instant)
	for range 4 * 24 * 60 {
		instant = instant.Add(time.Minute)
		shown, comes := wall(instant), false
		if e.hours == nil {
			comes = e.names(shown)
		}
		for latest.Before(shown) {
			latest = latest.Add(time.Minute)
			comes = comes || e.hours != nil && e.names(latest)
		}
		if comes && instant.After(after) {
			return instant
		}
	}
	t.Fatal("it never came")
	return time.Time{}
}
