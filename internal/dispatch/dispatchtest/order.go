package dispatchtest

import (
	"sluice/internal/dispatch"
	"sluice/internal/domain"
)

var orderCases = append([]testCase{
	{name: "FirstComeFirstServed", check: firstComeFirstServed},
	{name: "HighBeforeLow", check: highBeforeLow},
	{name: "ChildrenBeforeDiscovery", check: childrenBeforeDiscovery},
	{name: "PriorityBeforeClass", check: priorityBeforeClass},
	{name: "LowGetsItsShare", check: lowGetsItsShare},
	{name: "LowShareSurvivesSteadyHigh", check: lowShareSurvivesSteadyHigh},
	{name: "LanesTakeTurns", check: lanesTakeTurns},
	{name: "HugeLaneDoesNotStarveSmall", check: hugeLaneDoesNotStarveSmall},
	{name: "BatchKeepsTurns", check: batchKeepsTurns},
	{name: "EntryComesBackWhole", check: entryComesBackWhole},
	{name: "LaneLimit", needs: func(f Features) bool { return f.LaneLimit }, laneLimit: 2, check: laneLimit},
}, priorityCases...)

func firstComeFirstServed(x *fixture) {
	x.push(high("a", 3), high("a", 1))
	x.push(high("a", 2))
	x.expect(3, 1, 2)
}

func highBeforeLow(x *fixture) {
	x.push(low("a", 1), high("a", 2), low("a", 3), high("a", 4))
	x.expect(2, 4, 1, 3)
}

func childrenBeforeDiscovery(x *fixture) {
	x.push(discovery(high("a", 1)), high("a", 2), discovery(high("a", 3)), high("a", 4))
	x.expect(2, 4, 1, 3)
}

func priorityBeforeClass(x *fixture) {
	x.push(low("a", 1), discovery(low("a", 2)), discovery(high("a", 3)), high("a", 4))
	x.expect(4, 3, 1, 2)
}

// lowGetsItsShare: of any ten entries in a row at least one is LOW while LOW
// waits, and HIGH gets the rest.
func lowGetsItsShare(x *fixture) {
	for job := range int64(100) {
		x.push(high("a", 1000+job))
	}
	for job := range int64(5) {
		x.push(low("a", 1+job))
	}
	for want := range int64(5) {
		lows, first := 0, int64(0)
		for _, l := range x.lease(10) {
			if l.Priority == domain.PriorityLow {
				lows, first = lows+1, x.jobOf(l)
			}
		}
		if lows != 1 || first != 1+want {
			x.Fatalf("ten entries held %d LOW, the last of them job %d; want one, job %d", lows, first, 1+want)
		}
	}
}

// lowShareSurvivesSteadyHigh: HIGH entries that keep arriving do not push LOW
// out.
func lowShareSurvivesSteadyHigh(x *fixture) {
	x.push(low("a", 1))
	for job := int64(2); job < 20; job++ {
		x.push(high("a", job), high("a", 100+job))
		l := x.lease(1)[0]
		x.ack(l)
		if x.jobOf(l) == 1 {
			if job != 11 {
				x.Fatalf("LOW came as entry %d, want the tenth", job-1)
			}
			return
		}
	}
	x.Fatalf("LOW was not served among 18 entries")
}

func lanesTakeTurns(x *fixture) {
	x.push(high("a", 1), high("a", 2), high("a", 3), high("b", 11), high("b", 12), high("c", 21))
	x.expect(1, 11, 21, 2, 12, 3)
}

func hugeLaneDoesNotStarveSmall(x *fixture) {
	var huge []dispatch.Entry
	for job := range int64(2000) {
		huge = append(huge, high("huge", 1000+job))
	}
	x.push(huge...)
	x.ack(x.expect(1000, 1001, 1002)...)
	x.push(high("small", 1), high("small", 2))
	x.expect(1003, 1, 1004, 2, 1005, 1006)
}

// batchKeepsTurns: one call for many is as fair as many calls for one.
func batchKeepsTurns(x *fixture) {
	x.push(high("a", 1), high("a", 2), high("a", 3), high("b", 11), high("b", 12))
	x.expectJobs(waiting{leases: x.lease(3)}, 1, 11, 2)
	x.expectJobs(waiting{leases: x.lease(10)}, 12, 3)
}

func entryComesBackWhole(x *fixture) {
	entries := []dispatch.Entry{
		high("first lane", 1), discovery(high("first lane", 2)),
		low("first lane", -3), discovery(low("first lane", 1<<62)),
	}
	x.push(entries...)
	tokens := make(map[uint64]bool)
	for i, l := range x.lease(len(entries)) {
		if l.Entry != entries[i] || l.Deliveries != 1 {
			x.Errorf("leased %+v, want %+v delivered once", l, entries[i])
		}
		tokens[l.Token] = true
	}
	if len(tokens) != len(entries) {
		x.Errorf("%d leases have %d tokens", len(entries), len(tokens))
	}
}

func laneLimit(x *fixture) {
	for job := int64(1); job <= 5; job++ {
		x.push(high("a", job))
	}
	x.push(high("b", 11), high("b", 12))
	leases := x.lease(10)
	x.expectJobs(waiting{leases: leases}, 1, 11, 2, 12)
	x.expectNone()

	x.ack(leases[0])
	x.expect(3)
	x.expectNone()

	x.ok(x.Release(x.Context(), leases[2], x.in(50)))
	x.expect(4)
	x.expectNone()

	// A whole lane that opens at once is still bounded.
	x.push(high("c", 21), high("c", 22), high("c", 23))
	x.ok(x.Park(x.Context(), "c", x.in(50)))
	x.ok(x.Resume(x.Context(), "c"))
	x.expectJobs(waiting{leases: x.lease(10)}, 21, 22)
	x.expectNone()
}
