package redis

import "context"

// Vanish ends a consumer as the end of its process would: Redis is told
// nothing.
func (c *Consumer) Vanish() {
	c.leaving.Do(func() {
		c.end()
		c.log.forget(c)
	})
}

// VanishAll does so with every consumer of a log.
func (l *Log) VanishAll() {
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
