package paced_test

import (
	"testing"
	"time"

	"sluice/internal/backend/memory"
	"sluice/internal/domain"
	"sluice/internal/quota/paced"
	"sluice/internal/quota/rate"
	"sluice/internal/quota/rate/ratetest"
)

// TestDaysThatTheClockWentThrough: what is used while the clock is a day ahead counts on
// both dates, and on its own alone when the clock is right again. A date that is over
// holds nobody up.
func TestDaysThatTheClockWentThrough(t *testing.T) {
	clock := ratetest.NewClock(ratetest.Morning)
	rations := memory.NewRations(memory.RationsOptions{Now: clock.Now, Passed: clock.Passed})
	limits := ratetest.Maple()
	limits.Daily, limits.DailyReserve = 40, 0
	k, err := paced.New(map[string]rate.Limits{ratetest.Upstream: limits}, rations, paced.Options{Now: clock.Now, Passed: clock.Passed})
	if err != nil {
		t.Fatal(err)
	}
	use := func(day string, n, granted int, used int64) rate.Grant {
		t.Helper()
		clock.Advance(time.Second)
		g, err := k.Reserve(t.Context(), ratetest.Upstream, domain.PriorityHigh, n)
		if err != nil || g.Calls != granted {
			t.Fatalf("of %d calls %d were granted, %v; want %d", n, g.Calls, err, granted)
		}
		u, err := k.Usage(t.Context(), ratetest.Upstream)
		if err != nil || u.Day != day || u.Used != used {
			t.Fatalf("used %+v, %v; want %d of %s", u, err, used, day)
		}
		return g
	}
	if _, err := k.Reserve(t.Context(), ratetest.Upstream, domain.PriorityHigh, 1); err != nil {
		t.Fatal(err)
	}
	use("2026-03-01", 5, 5, 5)
	clock.Set(24 * time.Hour)
	use("2026-03-02", 7, 7, 7)
	clock.Set(-24 * time.Hour)
	use("2026-03-01", 1, 1, 13)
	clock.Set(24 * time.Hour)
	use("2026-03-02", 20, 20, 27)
	// The date that the clock has left by itself has not ended: 33 of its 40 are used.
	g := use("2026-03-02", 20, 7, 34)
	end := time.Date(2026, 3, 2, 0, 0, 0, 0, ratetest.Seoul).Add(24 * time.Hour)
	if g.Reason != rate.ReasonDaily || !g.RetryAt.Equal(end) {
		t.Errorf("the others are told %+v, want %v", g, end)
	}
	clock.Set(-24 * time.Hour)
	use("2026-03-01", 20, 0, 40)
	clock.Advance(time.Date(2026, 3, 2, 0, 0, 0, 0, ratetest.Seoul).Sub(clock.Now()))
	use("2026-03-02", 20, 6, 40)
}
