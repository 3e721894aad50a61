package rate_test

import (
	"testing"

	"sluice/internal/domain"
	"sluice/internal/quota/rate"
	"sluice/internal/quota/rate/ratetest"
)

// TestDaysThatTheClockWentThrough: without a store, too, what was used while
// the clock was a day ahead counts for the day that it was set back to.
func TestDaysThatTheClockWentThrough(t *testing.T) {
	terms := ratetest.Maple().Terms()
	m := rate.NewMeter(terms, 0)
	now := int64(rate.Second)
	use := func(day, n int64, want rate.Spent) {
		t.Helper()
		now += rate.Second
		m.Advance(&terms, now)
		m.Begin(day, rate.Spent{}, terms.Daily)
		if got := m.Take(&terms, domain.PriorityLow, n, rate.Second); got.Calls != n {
			t.Fatalf("%+v", got)
		}
		if m.Day != day || m.Used != want.Calls || m.UsedLow != want.Low {
			t.Fatalf("of day %d %d are used, %d by LOW; want %+v", m.Day, m.Used, m.UsedLow, want)
		}
	}
	use(20260301, 5, rate.Spent{Calls: 5, Low: 5})
	use(20260302, 7, rate.Spent{Calls: 7, Low: 7})
	use(20260301, 1, rate.Spent{Calls: 13, Low: 13})
	use(20260302, 2, rate.Spent{Calls: 2, Low: 2})
	use(20260303, 3, rate.Spent{Calls: 3, Low: 3})
}
