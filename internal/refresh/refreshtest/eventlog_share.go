package refreshtest

import (
	"context"

	"sluice/internal/refresh"
)

var shareCases = []logCase{
	{name: "TwoShare", check: func(x *logFixture) { manyShare(x, 2) }},
	{name: "ThreeShare", check: func(x *logFixture) { manyShare(x, 3) }},
	{name: "OneJoinsWhileTheOtherWorks", check: oneJoinsWhileTheOtherWorks},
	{name: "OneLeaves", check: oneLeaves},
	{name: "TenJoinAtOnce", check: tenJoinAtOnce},
	{name: "LeavingHandsOnAtOnce", check: leavingHandsOnAtOnce},
	{name: "OneIsKilled", needs: canKill, check: oneIsKilled},
	{name: "AllAreKilled", needs: canKill, check: allAreKilled},
	{name: "MoreConsumersThanPartitions", check: moreConsumersThanPartitions},
}

func manyShare(x *logFixture, n int) {
	m := x.newTeam()
	for i := range n {
		log := x.EventLog
		if i > 0 {
			log = x.another()
		}
		m.join(log)
	}
	m.settled()
}

func oneJoinsWhileTheOtherWorks(x *logFixture) {
	m := x.newTeam()
	m.join(x.EventLog)
	m.settled()
	m.join(x.another())
	m.settled()
	m.join(x.another())
	m.settled()
}

func oneLeaves(x *logFixture) {
	m := x.newTeam()
	m.join(x.EventLog)
	second, third := m.join(x.another()), m.join(x.another())
	m.settled()
	m.leave(second)
	m.settled()
	m.leave(third)
	m.settled()
}

// tenJoinAtOnce: however many come or go together, what they share is settled
// as soon as when it is one.
func tenJoinAtOnce(x *logFixture) {
	m := x.newTeam()
	m.join(x.EventLog)
	m.settled()
	ten := m.joinAtOnce(10)
	m.settled()
	m.leaveAtOnce(ten[:7])
	m.settled()
}

// leavingHandsOnAtOnce: what the one that leaves has taken and not done goes to
// the other.
func leavingHandsOnAtOnce(x *logFixture) {
	m := x.newTeam()
	leaver, stayer := m.join(x.EventLog), m.join(x.another())
	m.settled()
	m.rest(leaver)
	m.rest(stayer)
	x.publish(spread(m.published, keys)...)
	held := x.take(leaver, 20)
	x.close(leaver)
	records := x.take(stayer, keys)
	x.inOrder(records)
	there := map[int]bool{}
	for _, r := range records {
		there[number(r)] = true
	}
	for _, r := range held {
		if !there[number(r)] {
			x.Errorf("%v was not handed on", texts([]record{r}))
		}
	}
}

func oneIsKilled(x *logFixture) {
	m := x.newTeam()
	m.join(x.EventLog)
	victim := m.join(x.another())
	m.settled()
	m.rest(victim)
	from := m.publish()
	holding(x, victim)
	x.Kill(x.T, victim)
	m.await()
	m.settled()
	m.mu.Lock()
	defer m.mu.Unlock()
	for n := from; n < m.published; n++ {
		if m.times[n] == 0 {
			x.Errorf("message %d was lost", n)
		}
	}
}

func allAreKilled(x *logFixture) {
	first, second := x.join(x.another()), x.join(x.another())
	x.publish(spread(0, keys)...)
	holding(x, first)
	holding(x, second)
	x.Kill(x.T, first)
	x.Kill(x.T, second)
	m := x.newTeam()
	m.published = keys
	m.join(x.EventLog)
	m.await()
	m.settled()
}

// holding takes some records that are never done.
func holding(x *logFixture, c refresh.LogConsumer) {
	x.Helper()
	ctx, cancel := context.WithTimeout(x.Context(), patience)
	defer cancel()
	if _, err := c.Take(ctx, 30); err != nil {
		x.Fatalf("take: %v", err)
	}
}

func moreConsumersThanPartitions(x *logFixture) {
	const n = 15
	parts := refresh.TopicDead.Partitions()
	type taken struct {
		by      int
		records []record
		err     error
	}
	x.ok(x.Publish(x.Context(), refresh.TopicDead, spread(0, keys)...))
	ctx, cancel := context.WithTimeout(x.Context(), patience)
	defer cancel()
	brought := make(chan taken)
	for i := range n {
		c := x.joinGroup(x.EventLog, "crowd", refresh.TopicDead)
		x.Cleanup(func() { _ = c.Close(context.WithoutCancel(ctx)) })
		go func() {
			for ctx.Err() == nil {
				records, err := c.Take(ctx, 10)
				if err == nil {
					err = c.Done(ctx, records...)
				}
				select {
				case brought <- taken{i, records, err}:
				case <-ctx.Done():
				}
			}
		}()
	}
	seen, partitions := map[int]bool{}, map[int32]bool{}
	for len(seen) < keys {
		t := <-brought
		x.ok(t.err)
		for _, r := range t.records {
			seen[number(r)], partitions[r.Partition] = true, true
		}
	}
	if len(partitions) != parts {
		x.Errorf("%d partitions of %d", len(partitions), parts)
	}
}
