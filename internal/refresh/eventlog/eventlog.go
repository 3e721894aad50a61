// Package eventlog is the port to whatever carries refresh requests to workers:
// ordered by key, at least once, kept until they are dealt with.
package eventlog

import (
	"context"
	"time"
)

// Topic is one of the logs.
type Topic string

// The topics.
const (
	High Topic = "update-priority-high"
	Low  Topic = "update-priority-low"
	Dead Topic = "update-dlq"
)

// Partitions is how many parts a topic has.
func (t Topic) Partitions() int {
	if t == Dead {
		return 12
	}
	return 24
}

// Retention is how long a topic keeps records.
func (t Topic) Retention() time.Duration {
	switch t {
	case High:
		return 24 * time.Hour
	case Low:
		return 72 * time.Hour
	}
	return 7 * 24 * time.Hour
}

// The groups of consumers: what one has done, the other need not.
const (
	HighWorkers = "high-worker"
	LowWorkers  = "low-worker"
)

// MaxWait caps how long Take blocks.
const MaxWait = 30 * time.Second

// Message is what is published.
type Message struct {
	// Key decides the partition: messages of one key stay in order.
	Key   string
	Value []byte
}

// Record is a message in the log.
type Record struct {
	Topic     Topic
	Partition int32
	Offset    int64
	Message
	// At is when it was published.
	At time.Time
	// Claim is the adapter's: it tells this handing out from every other.
	Claim int64
}

// Log publishes and lets groups consume. It is safe for concurrent use.
type Log interface {
	// Publish appends messages and returns when they are durable. After an
	// error, of code unavailable, some of them may have been appended.
	Publish(ctx context.Context, topic Topic, messages ...Message) error
	// Join adds a consumer to a group. The partitions of the topic are shared
	// out among all consumers of the group, in whatever process; when one comes,
	// goes or dies, they are shared out anew.
	Join(ctx context.Context, group string, topic Topic) (Consumer, error)
	// Lag says how much of a topic a group has not dealt with.
	Lag(ctx context.Context, group string, topic Topic) (Lag, error)
	// Check proves that the log answers.
	Check(ctx context.Context) error
	Close(ctx context.Context) error
}

// Consumer takes records for one worker.
type Consumer interface {
	// Take returns up to n records, blocking until there is one; none, without
	// an error, after MaxWait. Within a partition they come in order. What was
	// taken and not done when its partition is lost is handed out to whoever
	// gets the partition.
	Take(ctx context.Context, n int) ([]Record, error)
	// Done says that records are dealt with, in any order. The group's position
	// in a partition moves over a contiguous prefix only; for a partition that
	// is somebody else's by now nothing happens. Positions are durable soon
	// after (within a second) and when the consumer is closed.
	Done(ctx context.Context, records ...Record) error
	// Pause lets Take return nothing new until Resume; the consumer stays a
	// member of its group all the while.
	Pause()
	Resume()
	// Close leaves the group, handing its partitions on at once.
	Close(ctx context.Context) error
}

// Lag is what a group has not dealt with.
type Lag struct {
	Records int64 `json:"records"`
	// Oldest is when the oldest of them was published; zero if unknown.
	Oldest time.Time `json:"oldest,omitzero"`
}
