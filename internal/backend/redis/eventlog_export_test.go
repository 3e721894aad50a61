package redis

import (
	"context"
	"strconv"
	"time"

	"sluice/internal/refresh"
)

// Vanish ends a consumer as the end of its process would: Redis is told
// nothing.
func (c *Consumer) Vanish() {
	c.leaving.Do(func() {
		c.end()
		c.log.forget(c)
	})
}

// VanishAll does so with every consumer of a log.
func (l *EventLog) VanishAll() {
	l.mu.Lock()
	l.closed = true
	var left []*Consumer
	for c := range l.consumers {
		left = append(left, c)
	}
	l.mu.Unlock()
	for _, c := range left {
		c.Vanish()
	}
}

// Commit saves positions as a consumer would that wakes up after a long sleep.
func (c *Consumer) Commit(ctx context.Context) error { return c.commit(ctx) }

// Partitions are those that a consumer has and may take from.
func (c *Consumer) Partitions() (numbers []int32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, h := range c.holdings {
		if !h.leaving {
			numbers = append(numbers, h.number)
		}
	}
	return numbers
}

// Isolate lets a consumer live on without a word from or to Redis.
func (c *Consumer) Isolate() {
	c.stop()
	c.tasks.Wait()
}

// Share is one call of the script that shares partitions out.
type Share struct {
	Surplus int
	Dead    time.Duration
	Claims  map[int32]int64
}

// Ask calls that script for a consumer that is only a name.
func (l *EventLog) Ask(ctx context.Context, name string, lease time.Duration, what string, released ...string) (Share, error) {
	args := append([]string{name, strconv.FormatInt(lease.Milliseconds(), 10), what}, released...)
	m, err := l.run(ctx, eventLogScripts.share, refresh.TopicHigh, refresh.HighWorkers, args...)
	if err != nil {
		return Share{}, err
	}
	s, err := parseShare(m)
	out := Share{Surplus: s.surplus, Dead: s.dead, Claims: map[int32]int64{}}
	for _, h := range s.have {
		out.Claims[h.number] = h.claim
	}
	return out, err
}

// PartitionOf says where a key belongs.
func PartitionOf(topic refresh.Topic, key string) int { return partitionOf(topic, key) }

// Ahead is how many records were read and not handed out.
func (c *Consumer) Ahead() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ahead.records
}
