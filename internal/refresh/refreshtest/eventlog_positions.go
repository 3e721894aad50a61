package refreshtest

import (
	"math/rand/v2"
	"slices"

	"sluice/internal/refresh"
)

type record = refresh.LogRecord

var positionCases = []logCase{
	{name: "DoneIsNotHandedOutAgain", check: doneIsNotHandedOutAgain},
	{name: "NotDoneComesAgain", check: notDoneComesAgain},
	{name: "GapHoldsThePosition", check: gapHoldsThePosition},
	{name: "GapsOfManyPartitions", check: gapsOfManyPartitions},
	{name: "DoneTwice", check: doneTwice},
	{name: "DoneOfAnotherOwnerChangesNothing", check: doneOfAnotherOwnerChangesNothing},
	{name: "DoneAfterCloseChangesNothing", check: doneAfterCloseChangesNothing},
	{name: "GroupsAreIndependent", check: groupsAreIndependent},
	{name: "ReopenedLogHasEverything", check: reopenedLogHasEverything},
	{name: "RecordsOfALostPartitionAreGone", check: recordsOfALostPartitionAreGone},
	{name: "EpochStays", check: epochStays},
}

func doneIsNotHandedOutAgain(x *logFixture) {
	c := x.join(x.EventLog)
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

func notDoneComesAgain(x *logFixture) {
	c := x.join(x.EventLog)
	x.publish(spread(0, 100)...)
	x.expect(c, count(0, 100))
	x.takeNothing(c)
	x.close(c)
	x.expect(x.joinHere(), count(0, 100))
}

func gapHoldsThePosition(x *logFixture) {
	c := x.join(x.EventLog)
	x.publish(sameKey("a", 0, 10)...)
	records := x.expect(c, count(0, 10))
	x.done(c, records[9], records[0], records[8], records[1], records[3], records[4])
	x.close(c)
	// 2 is the gap: everything from it on comes again.
	c = x.join(x.EventLog)
	records = x.expect(c, count(2, 8))
	x.done(c, records[1:]...)
	x.done(c, records[0])
	x.close(c)
	x.takeNothing(x.joinHere())
}

func gapsOfManyPartitions(x *logFixture) {
	c := x.join(x.EventLog)
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

func doneTwice(x *logFixture) {
	c := x.join(x.EventLog)
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
func doneOfAnotherOwnerChangesNothing(x *logFixture) {
	first := x.join(x.EventLog)
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

func doneAfterCloseChangesNothing(x *logFixture) {
	c := x.join(x.EventLog)
	x.publish(spread(0, 50)...)
	records := x.expect(c, count(0, 50))
	x.close(c)
	// Whether it is told so is the adapter's business.
	_ = c.Done(x.Context(), records...)
	x.expect(x.joinHere(), count(0, 50))
}

func groupsAreIndependent(x *logFixture) {
	one, two := x.joinGroup(x.EventLog, "one", refresh.TopicHigh), x.joinGroup(x.another(), "two", refresh.TopicHigh)
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
	one, two = x.joinGroup(x.EventLog, "one", refresh.TopicHigh), x.joinGroup(x.EventLog, "two", refresh.TopicHigh)
	x.expect(two, again)
	x.takeNothing(one)
	x.close(one)
	x.close(two)
}

func reopenedLogHasEverything(x *logFixture) {
	c := x.join(x.EventLog)
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
	x.EventLogInstance = x.Reopen(x.T)
	x.publish(spread(keys+100, 100)...)
	c = x.joinHere()
	x.expect(c, append(again, count(keys, 200)...))
	x.takeNothing(c)
}

// recordsOfALostPartitionAreGone: who has taken them is told.
func recordsOfALostPartitionAreGone(x *logFixture) {
	c := x.join(x.EventLog)
	x.publish(spread(0, keys)...)
	records := x.expect(c, count(0, keys))
	for i := range records {
		if records[i].Gone() {
			x.Fatalf("%v is gone", texts(records[i:i+1]))
		}
	}
	other := x.join(x.another())
	got := x.take(other, 1)[0]
	for i := range records {
		if lost := records[i].Partition == got.Partition; lost && !becomesGone(x, &records[i]) {
			x.Fatalf("%v is not gone", texts(records[i:i+1]))
		}
	}
	if got.Gone() {
		x.Fatal("what was just taken is gone")
	}
	x.close(c)
	for i := range records {
		if !becomesGone(x, &records[i]) {
			x.Fatalf("%v is not gone although its consumer is", texts(records[i:i+1]))
		}
	}
	x.close(other)
}

func becomesGone(x *logFixture, r *record) bool {
	select {
	case <-r.Lost:
		return true
	case <-x.Context().Done():
		return false
	}
}

// epochStays while nothing is lost, in every process; topics are apart.
func epochStays(x *logFixture) {
	epoch, err := x.Epoch(x.Context(), refresh.TopicHigh)
	x.ok(err)
	x.publish(spread(0, 10)...)
	again, err := x.another().Epoch(x.Context(), refresh.TopicHigh)
	x.ok(err)
	if epoch == "" || epoch != again {
		x.Errorf("epoch %q became %q", epoch, again)
	}
}
