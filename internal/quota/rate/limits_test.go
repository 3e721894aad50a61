package rate_test

import (
	"strings"
	"testing"
	"time"

	"sluice/internal/domain"
	"sluice/internal/quota/rate"
	"sluice/internal/quota/rate/ratetest"
)

func TestCheckNamesTheFix(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*rate.Limits)
		fix    string
	}{
		"a bucket that lets 900 through": {func(l *rate.Limits) { l.Burst = 450 }, "set burst to at most 50"},
		"a rate without room":            {func(l *rate.Limits) { l.Rate = 500 }, "set rate to at most 499"},
		"no hard limit":                  {func(l *rate.Limits) { l.Hard = 0 }, "what the upstream allows"},
		"no rate":                        {func(l *rate.Limits) { l.Rate = 0 }, "at least 1"},
		"no burst":                       {func(l *rate.Limits) { l.Burst = 0 }, "at least 1"},
		"LOW faster than all":            {func(l *rate.Limits) { l.LowRate = 451 }, "1 to 450"},
		"LOW without a rate":             {func(l *rate.Limits) { l.LowRate = 0 }, "1 to 450"},
		"LOW with a larger burst":        {func(l *rate.Limits) { l.LowBurst = 26 }, "1 to 25"},
		"everything reserved":            {func(l *rate.Limits) { l.Reserve = 25 }, "0 to 24"},
		"a negative day":                 {func(l *rate.Limits) { l.Daily = -1 }, "0 for none"},
		"more reserved than the day has": {func(l *rate.Limits) { l.DailyReserve = l.Daily + 1 }, "0 to 20000000"},
	} {
		l := ratetest.Maple()
		if err := l.Check(); err != nil {
			t.Fatal(err)
		}
		c.change(&l)
		if err := l.Check(); domain.CodeOf(err) != domain.CodeInvalid || !strings.Contains(err.Error(), c.fix) {
			t.Errorf("%s: %v; want it to say %q", name, err, c.fix)
		}
	}
}

func TestDayIsThatOfTheZone(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	l := rate.Limits{Zone: berlin}
	// The night when clocks are put forward has 23 hours.
	d := l.DayAt(time.Date(2026, 3, 28, 23, 30, 0, 0, time.UTC))
	if d.Number != 20260329 || d.String() != "2026-03-29" || d.End.Sub(d.Start) != 23*time.Hour {
		t.Errorf("day %+v of %v", d, d.End.Sub(d.Start))
	}
	if !d.Has(d.Start) || d.Has(d.End) {
		t.Error("a day has its first instant, and not that of the next")
	}
	if d := (rate.Limits{}).DayAt(time.Date(2026, 3, 28, 23, 30, 0, 0, time.UTC)); d.String() != "2026-03-28" {
		t.Errorf("without a zone the day is %s", d)
	}
}
