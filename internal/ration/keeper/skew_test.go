package keeper_test

import (
	"testing"
	"time"

	"sluice/internal/ration/keeper"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// answer lets skew see an answer of an upstream that is ahead, sent and
// received after the given delays.
func answer(s *keeper.Skew, local time.Time, ahead, latency time.Duration) {
	s.Observe(local.Add(ahead).Truncate(time.Second).UnixMicro(), local.UnixMicro(), local.Add(latency).UnixMicro())
}

func latest(s *keeper.Skew, at time.Time) time.Time { return time.UnixMicro(s.Latest(at.UnixMicro())) }

func TestSkewNeverEarlyAndTightens(t *testing.T) {
	const ahead = 90*time.Minute + 250*time.Millisecond
	reset := noon.Add(2 * time.Hour)
	truth := reset.Add(-ahead)
	var s keeper.Skew
	previous := time.Duration(1<<63 - 1)
	// The upstream's clock stands at .25, .65 and .05 of a second: each answer
	// dates its second more exactly, or takes longer.
	for _, c := range []struct{ at, latency time.Duration }{
		{400 * time.Millisecond, 2 * time.Second},
		{400 * time.Millisecond, 30 * time.Millisecond},
		{800 * time.Millisecond, 10 * time.Millisecond},
		{400 * time.Millisecond, 5 * time.Second},
	} {
		answer(&s, noon.Add(c.at), ahead, c.latency)
		late := latest(&s, reset).Sub(truth)
		if late < 0 || late > previous {
			t.Fatalf("after an answer at %v: %v after the reset, was %v", c.at, late, previous)
		}
		if time.UnixMicro(s.Earliest(reset.UnixMicro())).After(truth) {
			t.Fatalf("after an answer at %v: Earliest is after the reset", c.at)
		}
		previous = late
	}
	if previous > 110*time.Millisecond {
		t.Fatalf("the best of four answers leaves %v", previous)
	}
}

func TestSkewLearnsAnewWhenTheClockWasSet(t *testing.T) {
	var s keeper.Skew
	answer(&s, noon, time.Hour, 0)
	// The local clock is put right: it jumps an hour ahead.
	answer(&s, noon.Add(time.Hour+time.Minute), 0, 0)
	reset := noon.Add(2 * time.Hour)
	if got := latest(&s, reset); got.Before(reset) {
		t.Fatalf("Latest is %v before the reset", reset.Sub(got))
	}
}

func TestSkewForgetsOldBounds(t *testing.T) {
	var s keeper.Skew
	reset := noon.Add(24 * time.Hour)
	answer(&s, noon, 400*time.Millisecond, 0)
	// The upstream's clock falls back little by little, by less than a Date
	// can show at once.
	for i := range 5 {
		answer(&s, noon.Add(time.Duration(i+1)*11*time.Minute), -time.Duration(i)*200*time.Millisecond, 0)
	}
	if truth := reset.Add(800 * time.Millisecond); latest(&s, reset).Before(truth) {
		t.Fatalf("Latest is %v early", truth.Sub(latest(&s, reset)))
	}
}

func TestNoSkewAssumesThatClocksAgree(t *testing.T) {
	var s keeper.Skew
	s.Observe(0, noon.UnixMicro(), noon.UnixMicro())
	if d := latest(&s, noon).Sub(noon); d < 0 || d > 100*time.Millisecond {
		t.Fatalf("Latest is %v off", d)
	}
}
