package dispatchtest

import "time"

var timeCases = []testCase{
	{name: "DueWaitsForItsInstant", check: dueWaitsForItsInstant},
	{name: "DueInThePastIsReady", check: dueInThePastIsReady},
	{name: "DueByTimeAlone", check: dueByTimeAlone},
	{name: "DueTogetherInOrder", check: dueTogetherInOrder},
	{name: "PushMovesUp", check: pushMovesUp},
	{name: "PushNeverMovesBack", check: pushNeverMovesBack},
	{name: "ParkedLaneGivesNothing", check: parkedLaneGivesNothing},
	{name: "ParkedLaneOpensByItself", check: parkedLaneOpensByItself},
	{name: "ParkKeepsTheLaterInstant", check: parkKeepsTheLaterInstant},
	{name: "ParkInThePastDoesNothing", check: parkInThePastDoesNothing},
	{name: "ResumeOpensAtOnce", check: resumeOpensAtOnce},
	{name: "ResumeOfAnOpenLane", check: resumeOfAnOpenLane},
	{name: "DueInAParkedLane", check: dueInAParkedLane},
	{name: "LeasesOutliveParking", check: leasesOutliveParking},
}

func dueWaitsForItsInstant(x *fixture) {
	when := x.in(3)
	x.push(at(high("a", 1), when))
	x.expectNone()
	x.expect(1)
	x.expectAt("the due entry", x.now(), when)
}

func dueInThePastIsReady(x *fixture) {
	x.push(high("a", 1), at(high("a", 2), x.in(-5)), at(high("a", 3), x.in(-9)))
	x.expect(1, 2, 3)
}

// dueByTimeAlone: priority decides only among what is due.
func dueByTimeAlone(x *fixture) {
	x.push(at(high("a", 1), x.in(4)), at(low("a", 2), x.in(2)))
	x.expect(2, 1)
	x.push(at(low("a", 3), x.in(1)), at(high("a", 4), x.in(2)))
	x.pass(3)
	x.expect(4, 3)
}

func dueTogetherInOrder(x *fixture) {
	when := x.in(2)
	var jobs []int64
	for job := int64(20); job > 0; job-- {
		x.push(at(high("a", job), when))
		jobs = append(jobs, job)
	}
	x.pass(3)
	x.expect(jobs...)
}

func pushMovesUp(x *fixture) {
	when := x.in(3)
	x.push(at(high("a", 1), x.in(500)), at(high("a", 2), x.in(500)))
	x.push(high("a", 2))
	x.expect(2)
	x.push(at(high("a", 1), when))
	x.expect(1)
	x.expectAt("the entry that moved up", x.now(), when)
	x.pass(1)
	x.expectNone()
}

func pushNeverMovesBack(x *fixture) {
	x.push(high("a", 1), at(high("a", 2), x.in(2)))
	x.push(at(high("a", 1), x.in(500)), at(high("a", 2), x.in(500)))
	x.expect(1)
	x.pass(3)
	x.expect(2)
}

func parkedLaneGivesNothing(x *fixture) {
	x.push(high("a", 1))
	x.ok(x.Park(x.Context(), "a", x.in(500)))
	x.ok(x.Park(x.Context(), "b", x.in(500)))
	x.push(high("a", 2), high("b", 11), high("c", 21))
	x.expect(21)
	x.expectNone()
}

func parkedLaneOpensByItself(x *fixture) {
	until := x.in(3)
	x.push(high("a", 1), high("a", 2), high("a", 3))
	x.ok(x.Park(x.Context(), "a", until))
	leases := x.lease(10)
	x.expectAt("the parked lane", x.now(), until)
	x.expectJobs(waiting{leases: leases}, 1, 2, 3)
}

func parkKeepsTheLaterInstant(x *fixture) {
	until := x.in(4)
	x.push(high("a", 1), high("b", 2))
	x.ok(x.Park(x.Context(), "a", until))
	x.ok(x.Park(x.Context(), "a", x.in(2)))
	x.ok(x.Park(x.Context(), "b", x.in(2)))
	x.ok(x.Park(x.Context(), "b", x.in(500)))
	x.expect(1)
	x.expectAt("the parked lane", x.now(), until)
	x.expectNone()
}

func parkInThePastDoesNothing(x *fixture) {
	x.push(high("a", 1), high("a", 2))
	x.ok(x.Park(x.Context(), "a", x.in(-1)))
	x.ok(x.Park(x.Context(), "a", time.Time{}))
	x.expect(1, 2)
}

func resumeOpensAtOnce(x *fixture) {
	x.push(high("a", 1), high("a", 2))
	x.ok(x.Park(x.Context(), "a", x.in(500)))
	x.ok(x.Resume(x.Context(), "a"))
	x.expect(1)
	// The old instant is gone: a new parking may be shorter.
	until := x.in(2)
	x.ok(x.Park(x.Context(), "a", until))
	x.expect(2)
	x.expectAt("the lane parked again", x.now(), until)
}

func resumeOfAnOpenLane(x *fixture) {
	x.ok(x.Resume(x.Context(), "never seen"))
	x.push(high("a", 1), high("b", 2), high("a", 3))
	x.ok(x.Resume(x.Context(), "a"))
	x.expect(1, 2, 3)
}

func dueInAParkedLane(x *fixture) {
	until := x.in(3)
	x.ok(x.Park(x.Context(), "a", until))
	x.push(at(high("a", 1), x.in(1)), at(high("a", 2), x.in(5)))
	x.expect(1)
	x.expectAt("the entry of the parked lane", x.now(), until)
	x.expect(2)
}

func leasesOutliveParking(x *fixture) {
	x.push(high("a", 1), high("a", 2))
	held := x.expect(1)
	x.ok(x.Park(x.Context(), "a", x.in(500)))
	lost, err := x.Renew(x.Context(), held...)
	x.ok(err)
	if len(lost) > 0 {
		x.Fatalf("parking took the lease %+v", lost)
	}
	x.ack(held...)
	x.ok(x.Resume(x.Context(), "a"))
	x.expect(2)
	x.expectNone()
}
