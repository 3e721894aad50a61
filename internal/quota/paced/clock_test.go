package paced_test

import (
	"fmt"
	"testing"
	"time"

	"sluice/internal/backend/memory"
	"sluice/internal/domain"
	"sluice/internal/quota/paced"
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
			got := believe(t, l, c.rested, steps)
			t.Logf("%s: %d calls in the fullest second", name, got)
			if got != want {
				t.Errorf("%s: %d calls in the fullest second, want %d", name, got, want)
			}
		}
	}
}

// believe lets a keeper go by a clock that is set, and returns the calls of the fullest
// second of the time that passes.
func believe(t *testing.T, l rate.Limits, rested bool, steps int) int {
	clock, passed := ratetest.Morning, time.Duration(0)
	started := clock
	now, believed := func() time.Time { return clock }, func() time.Duration { return clock.Sub(started) }
	rations := memory.NewRations(memory.RationsOptions{Now: now, Passed: believed})
	k, err := paced.New(map[string]rate.Limits{ratetest.Upstream: l}, rations, paced.Options{Now: now, Passed: believed})
	if err != nil {
		t.Fatal(err)
	}
	var seconds ratetest.Seconds
	pass := func(d time.Duration) { clock, passed = clock.Add(d), passed+d }
	pass(time.Second) // nothing is granted in the first
	ratetest.Rush(rested, steps, 50*time.Microsecond, func() int {
		g, err := k.Reserve(t.Context(), ratetest.Upstream, domain.PriorityHigh, 100)
		if err != nil {
			t.Fatal(err)
		}
		seconds.Add(passed, g.Calls)
		return g.Calls
	}, pass, func(d time.Duration) { clock = clock.Add(d) })
	return seconds.Fullest()
}
