package redis

import (
	"context"
	"time"

	"github.com/redis/rueidis"

	"sluice/internal/backoff"
	"sluice/internal/refresh"
)

const (
	// blockTime is how long a read waits for an entry; then it is sent again.
	blockTime = 10 * time.Minute
	// mostAhead and mostAheadBytes are how much may be read ahead before the
	// reader waits for Take.
	mostAhead      = 2000
	mostAheadBytes = 8 << 20
	// mostRead is how many entries of one partition are read at once, readBytes
	// about how much at once of all.
	mostRead  = 200
	readBytes = 4 << 20
	// firstSize is what a record is taken to be before one was seen.
	firstSize = 16 << 10
)

// ahead counts what was read and not handed out. The consumer's mutex guards
// it.
type ahead struct {
	records, bytes int
	// size is that of a record of late.
	size int
}

func sizeOf(records []refresh.LogRecord) (n int) {
	for i := range records {
		n += len(records[i].Key) + len(records[i].Value)
	}
	return n
}

func (a *ahead) add(records []refresh.LogRecord) {
	a.records += len(records)
	a.bytes += sizeOf(records)
}

func (a *ahead) handed(records []refresh.LogRecord) {
	a.records -= len(records)
	a.bytes -= sizeOf(records)
}

func (a *ahead) forget() { a.records, a.bytes = 0, 0 }

// full says that enough was read, low that more should be.
func (a *ahead) full() bool { return a.records >= mostAhead || a.bytes >= mostAheadBytes }
func (a *ahead) low() bool  { return a.records < mostAhead/2 && a.bytes < mostAheadBytes/2 }

// learn notes how large records are.
func (a *ahead) learn(records []refresh.LogRecord) {
	if len(records) > 0 {
		a.size = max(1, sizeOf(records)/len(records))
	}
}

// count says how many entries to read of each of so many partitions.
func (a *ahead) count(partitions int) int {
	size := a.size
	if size == 0 {
		size = firstSize
	}
	return min(mostRead, max(1, readBytes/(size*partitions)))
}

// readRequest is one read of entries. It ends early when the consumer's partitions
// change.
type readRequest struct {
	ctx      context.Context //nolint:containedctx // the read has an end of its own, which hold calls for
	keys     []string
	ids      []string
	count    int
	holdings map[string]*holding
	// from is where each begins.
	from map[string]int64
}

// readAhead reads entries as long as there is room for them. A read takes
// nothing away from Redis, so that one that is cut off loses nothing.
func (c *Consumer) readAhead(ctx context.Context) {
	var conn rueidis.DedicatedClient
	hangUp := func() {
		if conn != nil {
			conn.Close()
			conn = nil
		}
	}
	defer hangUp()
	for ctx.Err() == nil {
		r, end := c.nextReading(ctx)
		if r == nil {
			select {
			case <-c.room:
			case <-ctx.Done():
			}
			continue
		}
		if conn == nil {
			conn, _ = c.log.db.Client.Dedicate()
		}
		err := c.read(conn, r)
		interrupted := r.ctx.Err() != nil
		end()
		if err == nil {
			continue
		}
		hangUp()
		if !interrupted {
			c.log.log.Debug("read the event log", "topic", string(c.topic), "error", err)
			notify(c.stir)
			backoff.Sleep(ctx, retryPause)
		}
	}
}

// nextReading says what to read; nil if there is no partition or no room.
func (c *Consumer) nextReading(ctx context.Context) (*readRequest, context.CancelFunc) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ahead.full() {
		return nil, nil
	}
	r := &readRequest{holdings: map[string]*holding{}, from: map[string]int64{}}
	for _, h := range c.holdings {
		if h.leaving {
			continue
		}
		key := c.log.stream(c.topic, h.number)
		r.keys, r.ids = append(r.keys, key), append(r.ids, idOf(h.read))
		r.holdings[key], r.from[key] = h, h.read
	}
	if len(r.keys) == 0 {
		return nil, nil
	}
	r.count = c.ahead.count(len(r.keys))
	// With a deadline the client would not notice that it is canceled. That a
	// server is gone is noticed by the connection's keep-alive.
	r.ctx, c.interrupt = context.WithCancel(ctx)
	return r, c.interrupt
}

func (c *Consumer) read(conn rueidis.DedicatedClient, r *readRequest) error {
	command := conn.B().Xread().Count(int64(r.count)).Block(blockTime.Milliseconds()).Streams().Key(r.keys...).Id(r.ids...).Build()
	streams, err := conn.Do(r.ctx, command).AsXRead()
	if rueidis.IsRedisNil(err) {
		return nil
	}
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for key, entries := range streams {
		h := r.holdings[key]
		// What was dropped since must be read again from where it begins.
		if h == nil || c.holding(h.number) != h || h.leaving || h.read != r.from[key] {
			continue
		}
		records := make([]refresh.LogRecord, len(entries))
		for i, e := range entries {
			offset, err := offsetOf(e.ID)
			if err != nil {
				return err
			}
			records[i] = refresh.LogRecord{
				Topic: c.topic, Partition: h.number, Offset: offset, Claim: h.claim, Lost: h.lost, At: timeOf(offset),
				Message: refresh.Message{Key: e.FieldValues["k"], Value: []byte(e.FieldValues["v"])},
			}
			h.read = offset
		}
		h.queue = append(h.queue, records...)
		c.ahead.add(records)
		c.ahead.learn(records)
	}
	c.tell()
	return nil
}
