package refreshtest

import (
	"context"
	"errors"
	"sync"
	"time"

	"sluice/internal/refresh"
)

// team is several consumers of one group, each with a worker that takes and
// does, and a journal of all they take.
type team struct {
	x       *logFixture
	members map[refresh.LogConsumer]*member
	// published is how many messages there are: those of the numbers below it.
	published int

	mu sync.Mutex
	// by says who took a message, and how often anybody did.
	by      map[int]refresh.LogConsumer
	times   map[int]int
	home    map[int]int32
	highest map[int32]int64
	news    chan struct{}
}

type member struct {
	cancel context.CancelFunc
	ended  chan struct{}
}

func (x *logFixture) newTeam() *team {
	return &team{
		x: x, members: map[refresh.LogConsumer]*member{}, by: map[int]refresh.LogConsumer{}, times: map[int]int{},
		home: map[int]int32{}, highest: map[int32]int64{}, news: make(chan struct{}, 1),
	}
}

// join adds a consumer and lets it work.
func (m *team) join(log refresh.EventLog) refresh.LogConsumer {
	m.x.Helper()
	c := m.x.join(log)
	m.employ(c)
	return c
}

// joinAtOnce adds consumers of so many processes together.
func (m *team) joinAtOnce(n int) []refresh.LogConsumer {
	m.x.Helper()
	consumers, errs := make([]refresh.LogConsumer, n), make([]error, n)
	var joining sync.WaitGroup
	for i := range n {
		log := m.x.another()
		joining.Go(func() { consumers[i], errs[i] = log.Join(m.x.Context(), refresh.HighWorkers, refresh.TopicHigh) })
	}
	joining.Wait()
	m.x.ok(errors.Join(errs...))
	for _, c := range consumers {
		m.employ(c)
	}
	return consumers
}

// leaveAtOnce closes consumers together.
func (m *team) leaveAtOnce(consumers []refresh.LogConsumer) {
	m.x.Helper()
	errs := make([]error, len(consumers))
	var leaving sync.WaitGroup
	for i, c := range consumers {
		m.rest(c)
		leaving.Go(func() { errs[i] = c.Close(m.x.Context()) })
	}
	leaving.Wait()
	m.x.ok(errors.Join(errs...))
}

// employ lets a consumer work.
func (m *team) employ(c refresh.LogConsumer) {
	ctx, cancel := context.WithCancel(m.x.Context())
	one := &member{cancel, make(chan struct{})}
	m.members[c] = one
	go m.work(ctx, c, one.ended)
	m.x.Cleanup(func() {
		cancel()
		<-one.ended
		_ = c.Close(context.WithoutCancel(ctx))
	})
}

func (m *team) work(ctx context.Context, c refresh.LogConsumer, ended chan<- struct{}) {
	defer close(ended)
	for ctx.Err() == nil {
		records, err := c.Take(ctx, 50)
		if err != nil && ctx.Err() == nil {
			m.x.Errorf("take: %v", err)
			return
		}
		m.note(c, records)
		if err := c.Done(context.WithoutCancel(ctx), records...); err != nil {
			m.x.Errorf("done: %v", err)
			return
		}
	}
}

// note writes down what was taken. The first handing out of each record goes
// in order, whoever has the partition.
func (m *team) note(c refresh.LogConsumer, records []refresh.LogRecord) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, r := range records {
		n := number(r)
		if m.times[n]++; m.times[n] == 1 {
			if before, ok := m.highest[r.Partition]; ok && r.Offset < before {
				m.x.Errorf("%v comes first after offset %d", texts([]record{r}), before)
			}
			m.highest[r.Partition] = r.Offset
		}
		m.by[n], m.home[n] = c, r.Partition
	}
	select {
	case m.news <- struct{}{}:
	default:
	}
}

// rest ends the worker of a consumer, which stays a member of its group.
func (m *team) rest(c refresh.LogConsumer) {
	one := m.members[c]
	delete(m.members, c)
	one.cancel()
	<-one.ended
}

func (m *team) stop() {
	for c := range m.members {
		m.rest(c)
	}
}

// leave closes a consumer.
func (m *team) leave(c refresh.LogConsumer) {
	m.x.Helper()
	m.rest(c)
	m.x.close(c)
}

// publish appends one message of each key, and returns the number of the first.
func (m *team) publish() int {
	m.x.Helper()
	from := m.published
	m.published += keys
	m.x.publish(spread(from, keys)...)
	return from
}

// await waits until all that is published was taken.
func (m *team) await() {
	m.x.Helper()
	end := time.NewTimer(patience)
	defer end.Stop()
	for {
		m.mu.Lock()
		missing := m.published - len(m.times)
		m.mu.Unlock()
		if missing == 0 {
			return
		}
		select {
		case <-m.news:
		case <-end.C:
			m.x.Fatalf("%d of %d messages were not taken within %v", missing, m.published, patience)
		}
	}
}

// round publishes and says how many partitions each member took records of;
// false if any record was taken twice or any partition by two.
func (m *team) round() (map[refresh.LogConsumer]map[int32]bool, bool) {
	m.x.Helper()
	from := m.publish()
	m.await()
	m.mu.Lock()
	defer m.mu.Unlock()
	owners, shares, clean := map[int32]refresh.LogConsumer{}, map[refresh.LogConsumer]map[int32]bool{}, true
	for n := from; n < m.published; n++ {
		c, p := m.by[n], m.home[n]
		if owner, ok := owners[p]; m.times[n] > 1 || ok && owner != c {
			clean = false
		}
		owners[p] = c
		if shares[c] == nil {
			shares[c] = map[int32]bool{}
		}
		shares[c][p] = true
	}
	return shares, clean
}

// fair says whether all members have about the same share.
func (m *team) fair(shares map[refresh.LogConsumer]map[int32]bool) bool {
	least, most := refresh.TopicHigh.Partitions(), 0
	for c := range m.members {
		least, most = min(least, len(shares[c])), max(most, len(shares[c]))
	}
	return len(shares) == len(m.members) && most-least <= 1
}

// settled publishes until the partitions are shared out evenly, and stay so for
// some rounds in a row. A consumer whose machine is busy may be taken for dead
// meanwhile: then they are shared out once more.
func (m *team) settled() {
	m.x.Helper()
	end := time.Now().Add(patience)
	pause := time.NewTicker(100 * time.Millisecond)
	defer pause.Stop()
	for inARow := 0; inARow < 4; {
		shares, clean := m.round()
		if clean && m.fair(shares) {
			inARow++
			continue
		}
		if inARow = 0; time.Now().After(end) {
			m.x.Fatalf("after %v the shares of %d members are %v (clean: %v)", patience, len(m.members), sizes(shares), clean)
		}
		<-pause.C
	}
}

func sizes(shares map[refresh.LogConsumer]map[int32]bool) (out []int) {
	for _, share := range shares {
		out = append(out, len(share))
	}
	return out
}

// partitionsOf says which partitions a member took from in the last round.
func (m *team) partitionsOf(c refresh.LogConsumer) map[int32]bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := map[int32]bool{}
	for n := m.published - keys; n < m.published; n++ {
		if m.by[n] == c {
			out[m.home[n]] = true
		}
	}
	return out
}
