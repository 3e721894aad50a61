package sqlite

import (
	"context"
	"slices"
	"time"

	driver "zombiezen.com/go/sqlite"

	"sluice/internal/refresh"
)

// logConsumer implements refresh.LogConsumer.
type logConsumer struct {
	log   *EventLog
	topic *topic
	group *consumerGroup
	// The log's mutex guards these. turn is the partition to begin with, so
	// that none waits for ever behind a full one.
	paused, closed bool
	turn           int
}

// recordSpan is records of one partition that are handed out together.
type recordSpan struct {
	number    int
	partition int64
	claim     int64
	lost      <-chan struct{}
	from, to  int64
}

// Take implements refresh.LogConsumer.
func (c *logConsumer) Take(ctx context.Context, n int) ([]refresh.LogRecord, error) {
	end := time.NewTimer(c.log.maxWait)
	defer end.Stop()
	for {
		if err := ctx.Err(); err != nil || n <= 0 {
			return nil, err
		}
		spans, news, err := c.reserve(n)
		if err != nil {
			return nil, err
		}
		if len(spans) > 0 {
			return c.read(ctx, spans)
		}
		select {
		case <-news:
		case <-end.C:
			return nil, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// reserve decides what to hand out; if nothing, it says what to wait for.
func (c *logConsumer) reserve(n int) (spans []recordSpan, news <-chan struct{}, err error) {
	c.log.mu.Lock()
	defer c.log.mu.Unlock()
	if c.closed {
		return nil, nil, errClosed("consumer")
	}
	if c.paused {
		return nil, c.topic.wait(), nil
	}
	count := len(c.group.shares)
	begin := c.turn
	for i := range count {
		number := (begin + i) % count
		s, p := &c.group.shares[number], c.topic.partitions[number]
		if s.owner != c || s.next > p.last {
			continue
		}
		to := min(p.last, s.next+int64(n)-1)
		spans = append(spans, recordSpan{number: number, partition: p.id, claim: s.claim, lost: s.lost, from: s.next, to: to})
		n -= int(to - s.next + 1)
		s.next = to + 1
		c.turn = number + 1
		if n == 0 {
			break
		}
	}
	if len(spans) == 0 {
		news = c.topic.wait()
	}
	return spans, news, nil
}

// read fetches what was reserved. It takes its time when ctx ends: what is
// reserved must be handed out, or given back.
func (c *logConsumer) read(ctx context.Context, spans []recordSpan) (records []refresh.LogRecord, err error) {
	err = c.log.db.Read(context.WithoutCancel(ctx), func(conn *driver.Conn) error {
		for _, s := range spans {
			records = slices.Grow(records, int(s.to-s.from+1))
			err := Exec(conn, "SELECT position, at, key, value FROM eventlog_record WHERE partition_id = ? AND position BETWEEN ? AND ? ORDER BY position",
				func(r *driver.Stmt) {
					records = append(records, refresh.LogRecord{
						Topic: c.topic.name, Partition: int32(s.number), Offset: r.ColumnInt64(0), Claim: s.claim, Lost: s.lost,
						At:      fromMicros(r.ColumnInt64(1)),
						Message: refresh.Message{Key: string(readBlob(r, 2)), Value: readBlob(r, 3)},
					})
				}, s.partition, s.from, s.to)
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		c.giveBack(spans)
		return nil, err
	}
	return records, nil
}

// giveBack makes what could not be read be handed out again, in order: from
// the first record that is not done.
func (c *logConsumer) giveBack(spans []recordSpan) {
	c.log.mu.Lock()
	defer c.log.mu.Unlock()
	for _, taken := range spans {
		if s := &c.group.shares[taken.number]; s.owner == c && s.claim == taken.claim {
			c.log.give(s, c)
		}
	}
}

// Done implements refresh.LogConsumer.
func (c *logConsumer) Done(ctx context.Context, records ...refresh.LogRecord) error {
	c.log.mu.Lock()
	defer c.log.mu.Unlock()
	moved := false
	for i := range records {
		r := &records[i]
		if r.Topic != c.topic.name || r.Partition < 0 || int(r.Partition) >= len(c.group.shares) {
			continue
		}
		if s := &c.group.shares[r.Partition]; s.owner == c && s.claim == r.Claim && s.finish(r.Offset) {
			moved = true
		}
	}
	if moved {
		// Positions are written when the call is over.
		later := context.WithoutCancel(ctx)
		c.log.saver.soon(func() { c.log.saveSoon(later) })
	}
	return nil
}

// Pause implements refresh.LogConsumer.
func (c *logConsumer) Pause() { c.setPaused(true) }

// Resume implements refresh.LogConsumer.
func (c *logConsumer) Resume() { c.setPaused(false) }

func (c *logConsumer) setPaused(paused bool) {
	c.log.mu.Lock()
	defer c.log.mu.Unlock()
	c.paused = paused
	c.topic.tell()
}

// Close implements refresh.LogConsumer.
func (c *logConsumer) Close(ctx context.Context) error {
	c.leave()
	return c.log.save(ctx)
}

func (c *logConsumer) leave() {
	c.log.mu.Lock()
	defer c.log.mu.Unlock()
	if c.closed {
		return
	}
	c.closed = true
	g := c.group
	g.members = slices.DeleteFunc(g.members, func(o *logConsumer) bool { return o == c })
	if len(g.members) > 0 {
		c.log.shareOut(g)
		return
	}
	for i := range g.shares {
		g.shares[i].take()
	}
	// Whoever waits is to be told that it is over.
	c.topic.tell()
}
