package eventlogtest

import (
	"math/rand/v2"
	"slices"

	"sluice/internal/refresh/eventlog"
)

type record = eventlog.Record

var positionCases = []testCase{
	{name: "DoneIsNotHandedOutAgain", check: doneIsNotHandedOutAgain},
	{name: "NotDoneComesAgain", check: notDoneComesAgain},
	{name: "GapHoldsThePosition", check: gapHoldsThePosition},
	{name: "GapsOfManyPartitions", check: gapsOfManyPartitions},
	{name: "DoneTwice", check: doneTwice},
	{name: "DoneOfAnotherOwnerChangesNothing", check: doneOfAnotherOwnerChangesNothing},
	{name: "DoneAfterCloseChangesNothing", check: doneAfterCloseChangesNothing},
	{name: "GroupsAreIndependent", check: groupsAreIndependent},
	{name: "ReopenedLogHasEverything", check: reopenedLogHasEverything},
}

func doneIsNotHandedOutAgain(x *fixture) {
	c := x.join(x.Log)
	x.publish(spread(0, 100)...)
	records := x.expect(c, count(0, 100))
	rand.Shuffle(len(records), func(i, j int) { records[i], records[j] = records[j], records[i] })
	for len(records) > 0 {
		n := min(7, len(records))
		x.done(c, records[:n]...)
		records = records[n:]
	}
	x.close(c)
	again := x.joinHere()
	x.publish(message(100))
	x.expect(again, []int{100})
	x.takeNothing(again)
}

func notDoneComesAgain(x *fixture) {
	c := x.join(x.Log)
	x.publish(spread(0, 100)...)
	x.expect(c, count(0, 100))
	x.takeNothing(c)
	x.close(c)
	x.expect(x.joinHere(), count(0, 100))
}

func gapHoldsThePosition(x *fixture) {
	c := x.join(x.Log)
	x.publish(sameKey("a", 0, 10)...)
	records := x.expect(c, count(0, 10))
	x.done(c, records[9], records[0], records[8], records[1], records[3], records[4])
	x.close(c)
	// 2 is the gap: everything from it on comes again.
	c = x.join(x.Log)
	records = x.expect(c, count(2, 8))
	x.done(c, records[1:]...)
	x.done(c, records[0])
	x.close(c)
	x.takeNothing(x.joinHere())
}

func gapsOfManyPartitions(x *fixture) {
	c := x.join(x.Log)
	x.publish(spread(0, 3*keys)...)
	var again []int
	for p, records := range byPartition(x.expect(c, count(0, 3*keys))) {
		gap := int(p) % len(records)
		x.done(c, slices.Concat(records[gap+1:], records[:gap])...)
		again = append(again, numbers(records[gap:])...)
	}
	x.close(c)
	c = x.joinHere()
	x.expect(c, again)
	x.takeNothing(c)
}

func doneTwice(x *fixture) {
	c := x.join(x.Log)
	x.publish(sameKey("a", 0, 4)...)
	records := x.expect(c, count(0, 4))
	x.done(c, records[0], records[0], records[2])
	x.done(c, records[0], records[2])
	x.close(c)
	x.expect(x.joinHere(), count(1, 3))
}

// doneOfAnotherOwnerChangesNothing: the first takes everything; the second gets
// a share of the partitions and takes what is in them. What the first says of
// those has no effect.
func doneOfAnotherOwnerChangesNothing(x *fixture) {
	first := x.join(x.Log)
	x.publish(spread(0, keys)...)
	old := x.expect(first, count(0, keys))
	second := x.join(x.another())
	lost := x.take(second, 50)
	x.done(first, old...)
	x.close(first)
	x.close(second)
	third := x.joinHere()
	// What the second took and nobody has done comes again.
	want := map[int]bool{}
	for _, r := range lost {
		want[number(r)] = true
	}
	for len(want) > 0 {
		for _, r := range x.take(third, 1) {
			delete(want, number(r))
		}
	}
}

func doneAfterCloseChangesNothing(x *fixture) {
	c := x.join(x.Log)
	x.publish(spread(0, 50)...)
	records := x.expect(c, count(0, 50))
	x.close(c)
	// Whether it is told so is the adapter's business.
	_ = c.Done(x.Context(), records...)
	x.expect(x.joinHere(), count(0, 50))
}

func groupsAreIndependent(x *fixture) {
	one, two := x.joinGroup(x.Log, "one", eventlog.High), x.joinGroup(x.another(), "two", eventlog.High)
	x.publish(spread(0, 100)...)
	x.done(one, x.expect(one, count(0, 100))...)
	records := x.expect(two, count(0, 100))
	parts := byPartition(records)
	var again []int
	for _, part := range parts {
		x.done(two, part[0])
		again = append(again, numbers(part[1:])...)
	}
	x.close(one)
	x.close(two)
	one, two = x.joinGroup(x.Log, "one", eventlog.High), x.joinGroup(x.Log, "two", eventlog.High)
	x.expect(two, again)
	x.takeNothing(one)
	x.close(one)
	x.close(two)
}

func reopenedLogHasEverything(x *fixture) {
	c := x.join(x.Log)
	x.publish(spread(0, keys)...)
	records := x.expect(c, count(0, keys))
	parts := byPartition(records)
	var again []int
	for _, part := range parts {
		half := len(part) / 2
		x.done(c, part[:half]...)
		again = append(again, numbers(part[half:])...)
	}
	x.close(c)
	x.publish(spread(keys, 100)...)
	x.Instance = x.Reopen(x.T)
	x.publish(spread(keys+100, 100)...)
	c = x.joinHere()
	x.expect(c, append(again, count(keys, 200)...))
	x.takeNothing(c)
}
