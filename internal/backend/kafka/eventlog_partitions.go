package kafka

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"sluice/internal/refresh"
)

// partition is what a consumer knows of a partition while it owns it.
type partition struct {
	// claim tells this ownership from every other.
	claim int64
	// lost is closed when it ends.
	lost chan struct{}
	// next is the offset behind the last one that was handed out.
	next int64
	// taken is what was handed out and is not behind the position, in order.
	// Kafka may leave offsets out.
	taken []handed
	// position is where everything before is done. It is the group's position
	// in Kafka if committed, as it is when nothing was done yet.
	position  kgo.EpochOffset
	committed bool
}

// handed is a record that was handed out.
type handed struct {
	offset int64
	epoch  int32 // of the broker that led the partition
	done   bool
}

// finish notes that a record is dealt with and moves the position over the
// prefix that is.
func (p *partition) finish(offset int64) {
	at, found := slices.BinarySearchFunc(p.taken, offset, func(h handed, offset int64) int { return cmp.Compare(h.offset, offset) })
	if !found {
		return
	}
	p.taken[at].done = true
	for len(p.taken) > 0 && p.taken[0].done {
		p.position = kgo.EpochOffset{Epoch: p.taken[0].epoch, Offset: p.taken[0].offset + 1}
		p.committed = false
		p.taken = p.taken[1:]
	}
}

// assigned is told which partitions have become this consumer's.
func (c *consumer) assigned(_ context.Context, _ *kgo.Client, topics map[string][]int32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, number := range topics[c.name] {
		c.partitions[number] = &partition{claim: newClaim(), lost: make(chan struct{}), committed: true}
	}
}

// lost is told which partitions are somebody else's by now. What was done and
// not committed will be done again.
func (c *consumer) lost(_ context.Context, _ *kgo.Client, topics map[string][]int32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, number := range topics[c.name] {
		c.forget(number)
	}
}

// forget ends the ownership of a partition. The caller holds the lock.
func (c *consumer) forget(number int32) {
	if p := c.partitions[number]; p != nil {
		close(p.lost)
		delete(c.partitions, number)
	}
}

// revoked is told which partitions are to be given up. It waits a little for
// what was taken from them: each record that is done in time is not done twice.
func (c *consumer) revoked(ctx context.Context, _ *kgo.Client, topics map[string][]int32) {
	numbers := topics[c.name]
	if len(numbers) == 0 || c.ending.Err() != nil {
		return
	}
	c.awaitDone(ctx, numbers)
	limited, cancel := c.log.limited(ctx)
	defer cancel()
	if err := c.giveUp(limited, numbers); err != nil {
		c.log.options.Log.Warn("kafka: positions of partitions that were given up are not committed", "topic", c.name, "error", err)
	}
}

// awaitDone waits until nothing of some partitions is being done, or for
// RevokeWait.
func (c *consumer) awaitDone(ctx context.Context, numbers []int32) {
	timer := time.NewTimer(c.log.options.RevokeWait)
	defer timer.Stop()
	for {
		c.mu.Lock()
		busy, progress := c.busy(numbers), c.progress
		c.mu.Unlock()
		if !busy {
			return
		}
		select {
		case <-progress:
		case <-timer.C:
			return
		case <-c.ending.Done():
			return
		case <-ctx.Done():
			return
		}
	}
}

func (c *consumer) busy(numbers []int32) bool {
	return slices.ContainsFunc(numbers, func(number int32) bool {
		p := c.partitions[number]
		return p != nil && len(p.taken) > 0
	})
}

// handOut writes down what was fetched and makes records of it.
func (c *consumer) handOut(fetches kgo.Fetches) []refresh.LogRecord {
	count := fetches.NumRecords()
	if count == 0 {
		return nil
	}
	out := make([]refresh.LogRecord, 0, count)
	c.mu.Lock()
	defer c.mu.Unlock()
	fetches.EachRecord(func(r *kgo.Record) {
		p := c.partitions[r.Partition]
		if p == nil {
			return
		}
		if p.next == 0 {
			// The first record is where the group stands.
			p.position = kgo.EpochOffset{Epoch: r.LeaderEpoch, Offset: r.Offset}
		}
		p.taken = append(p.taken, handed{offset: r.Offset, epoch: r.LeaderEpoch})
		p.next, p.committed = r.Offset+1, false
		out = append(out, refresh.LogRecord{
			Topic: c.topic, Partition: r.Partition, Offset: r.Offset, At: r.Timestamp, Claim: p.claim, Lost: p.lost,
			Message: refresh.Message{Key: string(r.Key), Value: r.Value},
		})
	})
	c.commitSoon()
	return out
}

// commitSoon lets positions be committed in a moment.
func (c *consumer) commitSoon() {
	select {
	case c.dirty <- struct{}{}:
	default:
	}
}

// Done implements refresh.LogConsumer.
func (c *consumer) Done(_ context.Context, records ...refresh.LogRecord) error {
	if len(records) == 0 {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ending.Err() != nil {
		return nil
	}
	for _, r := range records {
		if p := c.partitions[r.Partition]; p != nil && p.claim == r.Claim {
			p.finish(r.Offset)
		}
	}
	close(c.progress)
	c.progress = make(chan struct{})
	c.commitSoon()
	return nil
}
