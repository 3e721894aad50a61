package dispatchtest

import (
	"reflect"
	"time"

	"sluice/internal/dispatch"
)

var bookCases = []testCase{
	{name: "WaitingJobIsNotDoubled", check: waitingJobIsNotDoubled},
	{name: "LeasedJobIsNotDoubled", check: leasedJobIsNotDoubled},
	{name: "FirstPushDecides", check: firstPushDecides},
	{name: "IDsAreAnyText", check: idsAreAnyText},
	{name: "RemoveForgetsWaiting", check: removeForgetsWaiting},
	{name: "RemoveLeavesLeased", check: removeLeavesLeased},
	{name: "RemovedMayComeAgain", check: removedMayComeAgain},
	{name: "StatsOfAnEmptyQueue", check: statsOfAnEmptyQueue},
	{name: "StatsCountEverything", check: statsCountEverything},
	{name: "StatsFollowTime", check: statsFollowTime},
}

func waitingJobIsNotDoubled(x *fixture) {
	x.push(high("a", 1), high("a", 1))
	x.ok(x.another().Push(x.Context(), high("a", 1)))
	x.expect(1)
	x.expectNone()
}

func leasedJobIsNotDoubled(x *fixture) {
	x.push(high("a", 1))
	held := x.expect(1)
	x.push(high("a", 1), at(high("a", 1), x.in(1)))
	x.pass(2)
	x.expectNone()
	x.ack(held...)
	x.expectNone()
}

func firstPushDecides(x *fixture) {
	x.push(low("a", 1), low("a", 2))
	x.push(high("b", 2))
	for i, l := range x.expect(1, 2) {
		if want := low("a", int64(1+i)); l.Entry != want {
			x.Errorf("leased %+v, want %+v", l.Entry, want)
		}
	}
}

// idsAreAnyText: an id comes back as it was pushed, through every place that an
// entry can be in, and is not taken for another that begins or ends like it.
func idsAreAnyText(x *fixture) {
	ids := []string{
		"job:12", "12", "-129", "job:1", "2", "request:3/17", "timer:tea", "timer:tea:", "timer::tea", ":tea", "0:tea", "1:1:tea",
		"1763187120000001:job:12", "with spaces, and commas", "new\nline", "zero\x00byte", "Zürich", "\xff\xfe", "~rebuild", "",
	}
	for i, id := range ids {
		e := high("a", 0)
		e.ID = id
		if i%2 == 0 {
			e = at(e, x.in(1))
		}
		x.push(e, e)
	}
	x.pass(2)
	var held []dispatch.Lease
	for round := range 2 {
		held = x.lease(len(ids) + 1)
		got := make(map[string]bool)
		for _, l := range held {
			got[l.ID] = true
			if round == 0 {
				x.ok(x.Release(x.Context(), l, x.in(1)))
			}
		}
		if len(held) != len(ids) || len(got) != len(ids) {
			x.Fatalf("leased %d entries with %d ids, want %q", len(held), len(got), ids)
		}
		for _, id := range ids {
			if !got[id] {
				x.Errorf("%q was not leased", id)
			}
		}
		x.pass(2)
	}
	lost, err := x.Renew(x.Context(), held...)
	x.ok(err)
	if len(lost) > 0 {
		x.Fatalf("lost %+v", lost)
	}
	x.ok(x.Release(x.Context(), held[0], time.Time{}))
	x.ok(x.Release(x.Context(), held[1], x.in(500)))
	x.ok(x.Remove(x.Context(), ids...))
	x.ack(held...)
	x.expectStats(dispatch.Stats{})
}

func removeForgetsWaiting(x *fixture) {
	x.push(high("a", 1), high("a", 2), high("a", 3), high("b", 4), at(high("a", 5), x.in(1)))
	x.remove(2, 4, 5, 99)
	x.remove()
	x.expect(1, 3)
	x.pass(2)
	x.expectNone()
}

func removeLeavesLeased(x *fixture) {
	x.push(high("a", 1))
	held := x.expect(1)
	x.remove(1)
	lost, err := x.Renew(x.Context(), held...)
	x.ok(err)
	if len(lost) > 0 {
		x.Fatalf("removing took the lease %+v", lost)
	}
	x.ack(held...)
}

func removedMayComeAgain(x *fixture) {
	x.push(high("a", 1), high("a", 2))
	x.remove(1)
	x.push(high("b", 1))
	x.expect(2, 1)
}

func (x *fixture) expectStats(want dispatch.Stats) {
	x.Helper()
	got, err := x.Stats(x.Context())
	x.ok(err)
	got.NextDue = got.NextDue.UTC()
	for i := range got.Lanes {
		got.Lanes[i].ParkedUntil = got.Lanes[i].ParkedUntil.UTC()
	}
	if !reflect.DeepEqual(got, want) {
		x.Fatalf("statistics are\n%+v, want\n%+v", got, want)
	}
}

func statsOfAnEmptyQueue(x *fixture) {
	x.expectStats(dispatch.Stats{})
	x.push(high("a", 1), at(high("b", 2), x.in(500)))
	x.ack(x.expect(1)...)
	x.remove(2)
	x.ok(x.Park(x.Context(), "c", x.in(500)))
	x.ok(x.Resume(x.Context(), "c"))
	x.expectStats(dispatch.Stats{})
}

// exact is an instant that survives a store which keeps milliseconds.
func (x *fixture) exact(units int) time.Time {
	return x.in(units).Truncate(time.Millisecond).UTC()
}

func statsCountEverything(x *fixture) {
	next, parked := x.exact(500), x.exact(700)
	x.push(high("b", 11), high("b", 12), low("b", 13), high("a", 1), high("a", 2))
	x.push(at(high("a", 3), next), at(high("only due", 21), x.exact(600)))
	x.expect(11, 1)
	x.ok(x.Park(x.Context(), "b", parked))
	x.ok(x.Park(x.Context(), "c", parked))
	x.expectStats(dispatch.Stats{
		Ready: 3, Due: 2, Leased: 2, NextDue: next,
		Lanes: []dispatch.LaneStats{
			{Lane: "a", Ready: 1, Leased: 1},
			{Lane: "b", Ready: 2, Leased: 1, ParkedUntil: parked},
			{Lane: "c", ParkedUntil: parked},
		},
	})
}

func statsFollowTime(x *fixture) {
	x.push(at(high("a", 1), x.in(1)), high("a", 2))
	x.ok(x.Park(x.Context(), "b", x.in(1)))
	x.expect(2)
	x.pass(2)
	x.expectStats(dispatch.Stats{Ready: 1, Leased: 1, Lanes: []dispatch.LaneStats{{Lane: "a", Ready: 1, Leased: 1}}})
	x.pass(leaseUnits)
	x.expectStats(dispatch.Stats{Ready: 2, Lanes: []dispatch.LaneStats{{Lane: "a", Ready: 2}}})
}
