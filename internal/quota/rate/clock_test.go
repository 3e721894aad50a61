package rate_test

import (
	"fmt"
	"testing"
	"time"

	"sluice/internal/domain"
	"sluice/internal/quota/rate"
	"sluice/internal/quota/rate/ratetest"
)

// TestAClockThatIsBelieved is why the keeper on Redis doubts the server's clock: it
// simulates one that goes by it. Every step forward fills the buckets once more. The
// split of 450 and 25 of 500 has room for one such burst; a caller that comes with
// full buckets breaks the limit with the second step within a second, and one that
// is at it already with the third. If this test fails as a split has more room, the
// doubt can go.
func TestAClockThatIsBelieved(t *testing.T) {
	for _, c := range []struct {
		hard, rate, burst int
		rested            bool
		// fullest is how many calls the fullest second has after so many steps.
		fullest []int
	}{
		{500, 450, 25, false, []int{475, 475, 500, 525}},
		{500, 450, 25, true, []int{475, 499, 524, 549}},
		{20, 18, 1, true, []int{18, 19, 20, 21}},
		{10, 9, 1, true, []int{9, 10, 11, 12}},
	} {
		l := rate.Limits{Hard: c.hard, Rate: c.rate, Burst: c.burst, LowRate: c.rate, LowBurst: c.burst}
		for steps, want := range c.fullest {
			name := fmt.Sprintf("%d+%d of %d, rested %v, %d steps", c.rate, c.burst, c.hard, c.rested, steps)
			got := believe(l, c.rested, steps)
			t.Logf("%s: %d calls in the fullest second", name, got)
			if got != want {
				t.Errorf("%s: %d calls in the fullest second, want %d", name, got, want)
			}
		}
	}
}

// believe lets a meter go by a clock that is set, and returns the calls of the
// fullest second of the time that passes.
func believe(l rate.Limits, rested bool, steps int) int {
	terms := l.Terms()
	var clock, passed time.Duration
	m := rate.NewMeter(terms, 0)
	var seconds ratetest.Seconds
	pass := func(d time.Duration) { clock, passed = clock+d, passed+d }
	pass(time.Second) // nothing is granted in the first
	ratetest.Rush(rested, steps, 50*time.Microsecond, func() int {
		m.Advance(&terms, clock.Microseconds())
		taken := m.Take(&terms, domain.PriorityHigh, 100, rate.Second)
		seconds.Add(passed, int(taken.Calls))
		return int(taken.Calls)
	}, pass, func(d time.Duration) { clock += d })
	return seconds.Fullest()
}
