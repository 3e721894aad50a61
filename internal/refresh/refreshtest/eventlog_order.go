package refreshtest

import (
	"bytes"
	"slices"
	"time"

	"sluice/internal/refresh"
)

var orderCases = []logCase{
	{name: "KeyKeepsItsOrder", check: keyKeepsItsOrder},
	{name: "RecordIsWhatWasPublished", check: recordIsWhatWasPublished},
	{name: "KeysSpreadOverAllPartitions", check: keysSpreadOverAllPartitions},
	{name: "KeyHasOnePartitionInEveryProcess", check: keyHasOnePartitionInEveryProcess},
	{name: "TopicsAreApart", check: topicsAreApart},
	{name: "NothingIsPublished", check: nothingIsPublished},
}

func keyKeepsItsOrder(x *logFixture) {
	c := x.joinHere()
	const n = 200
	for i := range n {
		x.publish(refresh.Message{Key: []string{"a", "b", "c"}[i%3], Value: message(i).Value})
	}
	records := x.expect(c, count(0, n))
	last := map[string]int{}
	for _, r := range records {
		if before, ok := last[r.Key]; ok && number(r) != before+3 {
			x.Fatalf("key %s: %d follows %d", r.Key, number(r), before)
		}
		last[r.Key] = number(r)
	}
	x.takeNothing(c)
}

func recordIsWhatWasPublished(x *logFixture) {
	c := x.joinHere()
	before := time.Now()
	messages := []refresh.Message{
		{Key: "github/käse \x00 {}", Value: []byte{0, 1, 2, 255, '\n', '\r'}},
		{Key: "empty", Value: nil},
		{Key: "", Value: []byte("no key")},
	}
	x.publish(messages...)
	found := map[string]refresh.LogRecord{}
	for _, r := range x.take(c, len(messages)) {
		found[r.Key] = r
		if r.Topic != refresh.TopicHigh || r.Claim == 0 && r.Offset < 0 {
			x.Errorf("record %+v", r)
		}
		// Another machine's clock may be a little off.
		if r.At.Before(before.Add(-5*time.Second)) || r.At.After(time.Now().Add(5*time.Second)) {
			x.Errorf("published at %v, it says %v", before, r.At)
		}
	}
	for _, m := range messages {
		if r, ok := found[m.Key]; !ok || !bytes.Equal(r.Value, m.Value) {
			x.Errorf("message %q became %q (there: %v)", m.Value, r.Value, ok)
		}
	}
}

func keysSpreadOverAllPartitions(x *logFixture) {
	for topic, partitions := range map[refresh.Topic]int{refresh.TopicHigh: 24, refresh.TopicLow: 24, refresh.TopicDead: 12} {
		c := x.joinGroup(x.EventLog, "spread-"+string(topic), topic)
		x.ok(x.Publish(x.Context(), topic, spread(0, 2*keys)...))
		parts := byPartition(x.expect(c, count(0, 2*keys)))
		if len(parts) != partitions {
			x.Errorf("%s: %d keys are in %d partitions of %d", topic, keys, len(parts), partitions)
		}
		home := map[string]int32{}
		for p, records := range parts {
			if p < 0 || int(p) >= partitions {
				x.Errorf("%s has a partition %d", topic, p)
			}
			for _, r := range records {
				if before, ok := home[r.Key]; ok && before != p {
					x.Errorf("%s: key %s is in the partitions %d and %d", topic, r.Key, before, p)
				}
				home[r.Key] = p
			}
		}
		x.close(c)
	}
}

func keyHasOnePartitionInEveryProcess(x *logFixture) {
	c := x.joinHere()
	logs := []refresh.EventLog{x.EventLog, x.another(), x.another()}
	const n = 60
	for _, log := range logs {
		x.ok(log.Publish(x.Context(), refresh.TopicHigh, spread(0, n)...))
	}
	home := map[string]int32{}
	for _, r := range x.take(c, len(logs)*n) {
		if before, ok := home[r.Key]; ok && before != r.Partition {
			x.Errorf("key %s is in the partitions %d and %d", r.Key, before, r.Partition)
		}
		home[r.Key] = r.Partition
	}
	if len(home) != n {
		x.Errorf("%d keys of %d", len(home), n)
	}
}

func topicsAreApart(x *logFixture) {
	high, low := x.joinHere(), x.joinGroup(x.EventLog, refresh.LowWorkers, refresh.TopicLow)
	x.publish(sameKey("a", 1, 3)...)
	x.ok(x.Publish(x.Context(), refresh.TopicLow, sameKey("a", 11, 2)...))
	x.ok(x.Publish(x.Context(), refresh.TopicDead, sameKey("a", 21, 2)...))
	if got := numbers(x.take(low, 2)); !slices.Equal(got, []int{11, 12}) {
		x.Errorf("low has %v", got)
	}
	if got := numbers(x.take(high, 3)); !slices.Equal(got, []int{1, 2, 3}) {
		x.Errorf("high has %v", got)
	}
	x.takeNothing(low)
	x.takeNothing(high)
	x.close(low)
}

func nothingIsPublished(x *logFixture) {
	c := x.joinHere()
	x.publish()
	x.done(c)
	x.ok(x.Check(x.Context()))
	x.takeNothing(c)
}
