package kafka

import (
	"time"

	"sluice/internal/refresh"
)

// Kill ends a consumer as the death of its process would: without a word to
// Kafka.
func Kill(c refresh.LogConsumer) {
	dead := c.(*consumer)
	dead.abandon()
	dead.end()
	<-dead.stopped
	dead.closing.Do(func() {
		dead.turn <- struct{}{}
		dead.client.CloseAllowingRebalance()
		<-dead.turn
		dead.log.mu.Lock()
		delete(dead.log.consumers, dead)
		dead.log.mu.Unlock()
	})
}

// KillAll ends a log and all its consumers in the same way.
func (l *EventLog) KillAll() {
	l.mu.Lock()
	l.closed = true
	var all []*consumer
	for c := range l.consumers {
		all = append(all, c)
	}
	l.mu.Unlock()
	for _, c := range all {
		Kill(c)
	}
	l.client.Close()
}

// SetLimit makes a log impatient that was opened in peace.
func SetLimit(l *EventLog, limit time.Duration) { l.options.Limit = limit }
