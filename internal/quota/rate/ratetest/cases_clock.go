package ratetest

import "time"

// stepBy is how far a clock is set forward: enough to fill every bucket.
const stepBy = 5 * time.Second

// Rush plays a greedy caller, who asks again after each pause, for three seconds,
// under a clock that is set forward some times within the second of them, right
// after a call was granted, when the buckets are emptiest. A rested caller begins in
// that second, with full buckets.
func Rush(rested bool, steps int, pause time.Duration, ask func() (calls int), pass, set func(time.Duration)) {
	second := int(time.Second / pause)
	first := 0
	if rested {
		pass(10 * time.Second)
		first = second
	}
	done := 0
	for i := first; i < 3*second; i++ {
		if calls := ask(); calls > 0 && done < steps && i >= second+second*(done+1)/(steps+1) {
			set(stepBy)
			done++
		}
		pass(pause)
	}
}

// greedyUnderSteps: whoever asks for all it can get is granted the rate and a burst
// in no second more, however often the clock is set forward in it. A keeper that
// believed its clock would grant a burst for every step: see
// TestAClockThatIsBelieved.
func greedyUnderSteps(s *suite) {
	l := Maple()
	for _, rested := range []bool{false, true} {
		for steps := range 5 {
			s.seconds = Seconds{}
			s.start(l)
			asked := 0
			Rush(rested, steps, 4*time.Millisecond, func() int {
				g, err := s.Keepers()[asked%len(s.Keepers())].Reserve(s.Context(), Upstream, high, 100)
				if err != nil {
					s.Fatal(err)
				}
				s.check(g, 100)
				asked++
				return g.Calls
			}, s.clock.Advance, s.clock.Set)
			if most := s.seconds.Fullest(); most > l.Rate+l.Burst || s.seconds.Total() < 2*l.Rate-l.Burst {
				s.Fatalf("rested %v, the clock set %d times: %d calls in the fullest second, %d in all", rested, steps, most, s.seconds.Total())
			}
		}
	}
}
