package refresh

import (
	"context"
	"time"
)

// Topic is one of the logs.
type Topic string

// The topics.
const (
	TopicHigh Topic = "update-priority-high"
	TopicLow  Topic = "update-priority-low"
	TopicDead Topic = "update-dlq"
)

// Partitions is how many parts a topic has.
func (t Topic) Partitions() int {
	if t == TopicDead {
		return 12
	}
	return 24
}

// Retention is how long a topic keeps records.
func (t Topic) Retention() time.Duration {
	switch t {
	case TopicHigh:
		return 24 * time.Hour
	case TopicLow:
		return 72 * time.Hour
	}
	return 7 * 24 * time.Hour
}

// The groups of consumers: what one has done, the other need not.
const (
	HighWorkers = "high-worker"
	LowWorkers  = "low-worker"
)

// MaxTakeWait caps how long Take of a consumer blocks.
const MaxTakeWait = 30 * time.Second

// Message is what is published.
type Message struct {
	// Key decides the partition: messages of one key stay in order.
	Key   string
	Value []byte
}

// LogRecord is a message in the log.
type LogRecord struct {
	Topic     Topic
	Partition int32
	Offset    int64
	Message
	// At is when it was published.
	At time.Time
	// Claim is the adapter's: it tells this handing out from every other.
	Claim int64
	// Lost is closed when the partition is no longer the consumer's: what was not
	// begun is somebody else's to do. Nil never is.
	Lost <-chan struct{}
}

// Gone reports whether the record is somebody else's by now.
func (r *LogRecord) Gone() bool {
	select {
	case <-r.Lost:
		return true
	default:
		return false
	}
}

// EventLog carries refresh requests to workers: ordered by key, at least once, kept
// until they are dealt with. It is safe for concurrent use.
type EventLog interface {
	// Publish appends messages and returns when they are durable. After an
	// error, of code unavailable, some of them may have been appended.
	Publish(ctx context.Context, topic Topic, messages ...Message) error
	// Join adds a consumer to a group. The partitions of the topic are shared
	// out among all consumers of the group, in whatever process; when one comes,
	// goes or dies, they are shared out anew.
	Join(ctx context.Context, group string, topic Topic) (LogConsumer, error)
	// Lag says how much of a topic nobody of a group has taken yet. What was
	// taken by a consumer that is gone counts again when that is noticed.
	Lag(ctx context.Context, group string, topic Topic) (Lag, error)
	// Lasting reports whether records are kept beside the snapshots, so that what
	// Publish acknowledged can be lost only together with them.
	Lasting() bool
	// Epoch names the life of a topic's records: whenever some that were
	// acknowledged may have been lost, it is another. Two logs never share one.
	Epoch(ctx context.Context, topic Topic) (string, error)
	// Check proves that the log answers.
	Check(ctx context.Context) error
	Close(ctx context.Context) error
}

// LogConsumer takes records for one worker.
type LogConsumer interface {
	// Take returns up to n records, blocking until there is one; none, without
	// an error, after MaxTakeWait. Within a partition they come in order. What was
	// taken and not done when its partition is lost is handed out to whoever
	// gets the partition.
	Take(ctx context.Context, n int) ([]LogRecord, error)
	// Done says that records are dealt with, in any order. The group's position
	// in a partition moves over a contiguous prefix only; for a partition that
	// is somebody else's by now nothing happens. Positions are durable soon
	// after (within a second) and when the consumer is closed.
	Done(ctx context.Context, records ...LogRecord) error
	// Pause lets Take return nothing new until Resume; the consumer stays a
	// member of its group all the while.
	Pause()
	Resume()
	// Close leaves the group, handing its partitions on at once.
	Close(ctx context.Context) error
}

// Lag is what nobody of a group has taken.
type Lag struct {
	Records int64 `json:"records"`
	// Oldest is when the oldest of them was published; zero if unknown.
	Oldest time.Time `json:"oldest,omitzero"`
}
