package kafka

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"sluice/internal/domain"
	"sluice/internal/refresh"
)

// consumer is a member of a group, with a connection of its own: Kafka knows
// members by theirs.
type consumer struct {
	log     *EventLog
	topic   refresh.Topic
	name    string // of the topic in Kafka
	client  *kgo.Client
	abandon context.CancelFunc // ends the client without a word to Kafka

	// turn is held by the one call of Take that polls: the library cannot tell
	// two apart when it asks whether partitions may be taken away.
	turn chan struct{}
	// ending ends when the consumer is being closed.
	ending context.Context //nolint:containedctx // it is the consumer's life, not that of a call
	end    context.CancelFunc

	// committing is held from choosing positions to having them committed, so
	// that a partition that is given up is not committed afterwards.
	committing sync.Mutex
	dirty      chan struct{} // has one item when there is something to commit
	stopped    chan struct{} // closed when the committer has ended

	mu         sync.Mutex
	partitions map[int32]*partition
	// progress is closed, and made anew, whenever something is done.
	progress chan struct{}

	closing sync.Once
	left    error
}

// Join implements refresh.EventLog.
func (l *EventLog) Join(ctx context.Context, group string, topic refresh.Topic) (refresh.LogConsumer, error) {
	if l.isClosed() {
		return nil, errClosed()
	}
	if err := l.awaitCoordinator(ctx, l.options.group(group)); err != nil {
		return nil, err
	}
	c := &consumer{
		log: l, topic: topic, name: l.options.topic(topic), turn: make(chan struct{}, 1),
		dirty: make(chan struct{}, 1), stopped: make(chan struct{}),
		partitions: map[int32]*partition{}, progress: make(chan struct{}),
	}
	ending, end := context.WithCancel(context.WithoutCancel(ctx))
	c.ending, c.end = ending, end
	life, abandon := context.WithCancel(context.WithoutCancel(ctx))
	c.abandon = abandon
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		c.end()
		abandon()
		return nil, errClosed()
	}
	client, err := kgo.NewClient(append(l.options.common(), c.consuming(life, l.options, group)...)...)
	if err != nil {
		c.end()
		abandon()
		return nil, domain.Errorf(domain.CodeInvalid, "kafka: %w", err)
	}
	c.client = client
	l.consumers[c] = true
	go c.commitLoop(ending)
	return c, nil
}

// awaitCoordinator waits until a broker looks after a group: a new cluster
// appoints one when it is first asked for, which may take seconds.
func (l *EventLog) awaitCoordinator(ctx context.Context, group string) error {
	limited, cancel := l.limited(ctx)
	defer cancel()
	pause := time.NewTicker(readyInterval)
	defer pause.Stop()
	for {
		_, err := bounded(limited, func() (string, error) { return group, l.admin.FindGroupCoordinators(limited, group).Error() })
		if err == nil || !kerr.IsRetriable(err) {
			return failure(ctx, err)
		}
		select {
		case <-pause.C:
		case <-limited.Done():
			return failure(ctx, err)
		}
	}
}

// consuming is what a client that consumes is told.
func (c *consumer) consuming(life context.Context, o Options, group string) []kgo.Opt {
	return []kgo.Opt{
		kgo.WithContext(life),
		kgo.ConsumerGroup(o.group(group)),
		kgo.ConsumeTopics(c.name),
		// A group that has never committed has everything to do.
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.Balancers(kgo.CooperativeStickyBalancer()),
		kgo.SessionTimeout(o.SessionTimeout),
		// Members hear of a change by their heartbeats.
		kgo.HeartbeatInterval(max(o.SessionTimeout/10, 20*time.Millisecond)),
		kgo.RebalanceTimeout(o.SessionTimeout + o.RevokeWait),
		kgo.DisableAutoCommit(),
		kgo.BlockRebalanceOnPoll(),
		kgo.OnPartitionsAssigned(c.assigned),
		kgo.OnPartitionsRevoked(c.revoked),
		kgo.OnPartitionsLost(c.lost),
		kgo.FetchMaxBytes(16 << 20),
		// A partition that comes while others are being waited on is fetched
		// only after that wait.
		kgo.FetchMaxWait(250 * time.Millisecond),
	}
}

// Take implements refresh.LogConsumer. When partitions are being given up it
// waits for that, whatever its context says: RevokeWait at most.
func (c *consumer) Take(ctx context.Context, n int) ([]refresh.LogRecord, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	wait, cancel := context.WithTimeout(ctx, c.log.options.MaxWait)
	defer cancel()
	defer context.AfterFunc(c.ending, cancel)() //nolint:contextcheck // the end of either ends the wait
	select {
	case c.turn <- struct{}{}:
		defer func() { <-c.turn }()
	case <-wait.Done():
		return nil, c.waited(ctx, nil)
	}
	var trouble error
	for wait.Err() == nil {
		records, err := c.poll(wait, n)
		if len(records) > 0 {
			return records, nil
		}
		if err != nil {
			trouble = err
		}
	}
	return nil, c.waited(ctx, trouble)
}

// waited is what a wait without a record ends with. Trouble that the library
// gets over by itself is told only if there was nothing else.
func (c *consumer) waited(ctx context.Context, trouble error) error {
	if c.ending.Err() != nil {
		return domain.Errorf(domain.CodeUnavailable, "the consumer is closed")
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return failure(ctx, trouble)
}

// poll asks the library once. No partition is taken away between its answer
// and its being written down.
func (c *consumer) poll(ctx context.Context, n int) ([]refresh.LogRecord, error) {
	fetches := c.client.PollRecords(ctx, max(n, 1))
	defer c.client.AllowRebalance()
	records := c.handOut(fetches)
	for _, failed := range fetches.Errors() {
		if errors.Is(failed.Err, context.Canceled) || errors.Is(failed.Err, context.DeadlineExceeded) {
			continue
		}
		c.log.options.Log.Debug("kafka: fetch", "topic", c.name, "partition", failed.Partition, "error", failed.Err)
		return records, failed.Err
	}
	return records, nil
}

// Pause implements refresh.LogConsumer.
func (c *consumer) Pause() { c.client.PauseFetchTopics(c.name) }

// Resume implements refresh.LogConsumer.
func (c *consumer) Resume() { c.client.ResumeFetchTopics(c.name) }

// Close implements refresh.LogConsumer.
func (c *consumer) Close(ctx context.Context) error {
	c.closing.Do(func() { c.left = c.leave(ctx) })
	return c.left
}

func (c *consumer) leave(ctx context.Context) error {
	c.end()
	limited, cancel := c.log.limited(ctx)
	defer cancel()
	// Without an answer the session runs out by itself.
	defer context.AfterFunc(limited, c.abandon)()
	<-c.stopped
	// Whoever polls has been told to end; nobody begins anew.
	c.turn <- struct{}{}
	defer func() { <-c.turn }()
	err := c.giveUp(limited, nil)
	if fenced(err) {
		c.log.options.Log.Debug("kafka: the consumer that leaves has lost its partitions already", "topic", c.name, "error", err)
		err = nil
	}
	c.client.CloseAllowingRebalance()
	c.abandon()
	c.log.mu.Lock()
	delete(c.log.consumers, c)
	c.log.mu.Unlock()
	return failure(ctx, err)
}

// newClaim is a number that no other handing out has.
func newClaim() int64 { return rand.Int64N(1<<62) + 1 }
