package redis

import (
	"context"
	"crypto/rand"
	"slices"
	"sync"
	"time"

	"sluice/internal/refresh"
)

// Consumer implements refresh.LogConsumer. Three goroutines serve it: one keeps
// it a member of its group and its positions saved, one reads ahead, and one
// listens for others that come or go.
type Consumer struct {
	log   *EventLog
	group string
	topic refresh.Topic
	name  string

	// stir has a value when the partitions may have to be shared out anew, moved
	// when positions have moved, room when the reader may go on.
	stir, moved, room chan struct{}
	stop              context.CancelFunc
	tasks             sync.WaitGroup
	leaving           sync.Once
	left              error

	mu             sync.Mutex
	holdings       []*holding
	paused, closed bool
	// until is when the lease ends unless it is renewed, look when to ask again
	// if nothing happens before.
	until, look time.Time
	// turn is the holding to begin with, so that none waits for ever behind a
	// full one.
	turn int
	// news is closed when there may be something to take; nil if nobody waits.
	news chan struct{}
	// interrupt ends the read that is under way.
	interrupt context.CancelFunc
	ahead     ahead
}

// Join implements refresh.EventLog.
func (l *EventLog) Join(ctx context.Context, group string, topic refresh.Topic) (refresh.LogConsumer, error) {
	c := &Consumer{
		log: l, group: group, topic: topic, name: rand.Text(),
		stir: make(chan struct{}, 1), moved: make(chan struct{}, 1), room: make(chan struct{}, 1),
		interrupt: func() {},
	}
	if !l.register(c) {
		return nil, errClosed("log")
	}
	if err := c.ask(ctx, askJoin); err != nil {
		l.forget(c)
		return nil, err
	}
	serving, stop := context.WithCancel(context.WithoutCancel(ctx))
	c.stop = stop
	c.tasks.Go(func() { c.keep(serving) })
	c.tasks.Go(func() { c.readAhead(serving) })
	c.tasks.Go(func() {
		stirred := func() { notify(c.stir) }
		l.db.listen(serving, listener{Channel: l.channel(topic, group), Missed: stirred, Log: l.log, Message: func(_, text string) {
			if concerns(text, c.name) {
				stirred()
			}
		}})
	})
	return c, nil
}

func (l *EventLog) register(c *Consumer) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return false
	}
	l.consumers[c] = struct{}{}
	return true
}

func (l *EventLog) forget(c *Consumer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.consumers, c)
}

// Take implements refresh.LogConsumer.
func (c *Consumer) Take(ctx context.Context, n int) ([]refresh.LogRecord, error) {
	end := time.NewTimer(c.log.maxWait)
	defer end.Stop()
	for {
		if err := ctx.Err(); err != nil || n <= 0 {
			return nil, err
		}
		records, news, err := c.hand(n)
		if err != nil || len(records) > 0 {
			return records, err
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

// hand returns what was read ahead; if nothing, it says what to wait for.
func (c *Consumer) hand(n int) (records []refresh.LogRecord, news <-chan struct{}, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, nil, errClosed("consumer")
	}
	// When the lease has ended, what was read ahead may be another's by now.
	idle := c.paused || !time.Now().Before(c.until)
	begin := c.turn
	for i := 0; i < len(c.holdings) && n > 0 && !idle; i++ {
		at := (begin + i) % len(c.holdings)
		h := c.holdings[at]
		if h.leaving || len(h.queue) == 0 {
			continue
		}
		part := h.take(n)
		c.ahead.handed(part)
		n -= len(part)
		records = append(records, part...)
		c.turn = at + 1
	}
	if len(records) > 0 {
		notify(c.moved) // others count what is left
		if c.ahead.low() {
			notify(c.room)
		}
		return records, nil, nil
	}
	if c.news == nil {
		c.news = make(chan struct{})
	}
	return nil, c.news, nil
}

// tell wakes everyone who waits. The caller holds the lock.
func (c *Consumer) tell() {
	if c.news != nil {
		close(c.news)
		c.news = nil
	}
}

// Done implements refresh.LogConsumer.
func (c *Consumer) Done(_ context.Context, records ...refresh.LogRecord) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	moved := false
	for i := range records {
		r := &records[i]
		if h := c.holding(r.Partition); h != nil && h.claim == r.Claim && r.Topic == c.topic && h.finish(r.Offset) {
			moved = true
		}
	}
	if moved {
		notify(c.moved)
	}
	return nil
}

// holding returns what the consumer has of a partition, or nil. The caller
// holds the lock.
func (c *Consumer) holding(partition int32) *holding {
	i := slices.IndexFunc(c.holdings, func(h *holding) bool { return h.number == partition })
	if i < 0 {
		return nil
	}
	return c.holdings[i]
}

// Pause implements refresh.LogConsumer.
func (c *Consumer) Pause() { c.setPaused(true) }

// Resume implements refresh.LogConsumer.
func (c *Consumer) Resume() { c.setPaused(false) }

func (c *Consumer) setPaused(paused bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.paused = paused
	c.tell()
}

// Close implements refresh.LogConsumer.
func (c *Consumer) Close(ctx context.Context) error {
	c.leaving.Do(func() {
		c.end()
		// Positions that cannot be saved do not keep it from leaving.
		err := c.commit(ctx)
		if gone := c.ask(ctx, askLeave); err == nil {
			err = gone
		}
		c.left = err
		c.log.forget(c)
	})
	return c.left
}

// end stops everything that goes on, without a word to Redis.
func (c *Consumer) end() {
	c.mu.Lock()
	c.closed = true
	c.tell()
	c.mu.Unlock()
	c.stop()
	c.tasks.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, h := range c.holdings {
		h.lose()
	}
}
