package dispatchtest

import (
	"fmt"

	"sluice/internal/domain"
)

// priorityCases are about what goes first among lanes: HIGH before LOW, whoever
// owns it, and nobody for ever.
var priorityCases = []testCase{
	{name: "HighGoesFirstWhoeverOwnsIt", check: highGoesFirstWhoeverOwnsIt},
	{name: "LowKeepsItsShareAmongLanes", check: lowKeepsItsShareAmongLanes},
	{name: "LanesTakeTurnsWithinAPriority", check: lanesTakeTurnsWithinAPriority},
	{name: "ParkedLowHasNoShare", check: parkedLowHasNoShare},
	{name: "FullLaneGivesNothingOfEither", needs: func(f Features) bool { return f.LaneLimit }, laneLimit: 1, check: fullLaneGivesNothingOfEither},
}

// highGoesFirstWhoeverOwnsIt: somebody signs up while the harvests of hundreds
// of others are due.
func highGoesFirstWhoeverOwnsIt(x *fixture) {
	for lane := range int64(300) {
		name := fmt.Sprint("harvest-", lane)
		x.push(low(name, 1000+lane), low(name, 2000+lane))
	}
	x.ack(x.expect(1000, 1001)...)
	x.push(high("signup", 1), high("signup", 2))
	x.push(discovery(high("another", 3)))
	x.expect(1, 3, 2, 1002)
}

// lowKeepsItsShareAmongLanes: of any ten entries in a row one is LOW while LOW
// can be had, whichever lanes they are of, and the LOW lanes take turns.
func lowKeepsItsShareAmongLanes(x *fixture) {
	for job := range int64(60) {
		x.push(high(fmt.Sprint("high-", job%7), 1000+job))
	}
	x.push(low("low-a", 1), low("low-a", 2), low("low-a", 3), low("low-b", 11), low("high-0", 21))
	for i, want := range []int64{1, 11, 21, 2, 3} {
		lows, job := 0, int64(0)
		for _, l := range x.lease(10) {
			if l.Priority == domain.PriorityLow {
				lows, job = lows+1, x.jobOf(l)
			}
		}
		if lows != 1 || job != want {
			x.Fatalf("ten entries, for the %d. time, held %d LOW, the last of them job %d; want one, job %d", i+1, lows, job, want)
		}
	}
}

func lanesTakeTurnsWithinAPriority(x *fixture) {
	x.push(low("a", 31), low("a", 32), high("a", 1), high("a", 2), high("b", 11), low("b", 41), high("c", 21), high("c", 22))
	x.expect(1, 11, 21, 2, 22, 31, 41, 32)
}

// parkedLowHasNoShare: what nobody can have does not count as waiting.
func parkedLowHasNoShare(x *fixture) {
	x.push(low("low", 1))
	x.ok(x.Park(x.Context(), "low", x.in(1000)))
	for job := range int64(12) {
		x.push(high("a", 100+job))
	}
	x.expect(100, 101, 102, 103, 104, 105, 106, 107, 108, 109)
	x.ok(x.Resume(x.Context(), "low"))
	x.expect(110, 111, 1)
}

func fullLaneGivesNothingOfEither(x *fixture) {
	x.push(high("a", 1), high("a", 2), low("a", 3), low("b", 11))
	first := x.lease(10)
	x.expectJobs(waiting{leases: first}, 1, 11)
	x.expectNone()
	x.ack(first[0])
	x.expect(2)
	x.expectNone()
}
