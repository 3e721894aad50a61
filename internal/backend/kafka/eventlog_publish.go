package kafka

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"sluice/internal/domain"
	"sluice/internal/refresh"
)

// mostBuffered bounds what waits for a broker.
const mostBuffered = 100_000

// producing is what a client that publishes is told. It waits for all replicas
// and is idempotent without being told to.
func producing(o Options, batches *compressor) []kgo.Opt {
	return []kgo.Opt{
		kgo.WithCompressor(batches),
		// The hash of Kafka's own clients, so that other tools find the same
		// partition for a key.
		kgo.RecordPartitioner(kgo.StickyKeyPartitioner(nil)),
		kgo.RecordDeliveryTimeout(max(o.Limit, time.Second)), // no less is allowed
		kgo.MaxBufferedRecords(mostBuffered),
		// Callers wait for each publishing; while one batch is on its way the
		// next one grows anyway.
		kgo.ProducerLinger(0),
	}
}

// Publish implements refresh.EventLog. Records of one partition that wait for a
// broker fail together, so that those of one caller do not depend on another
// caller's context: they have the log's limit alone. What is on its way when
// the limit is over may yet be appended; the library keeps it, for only so does
// a later record of the same key stay behind it.
func (l *EventLog) Publish(ctx context.Context, topic refresh.Topic, messages ...refresh.Message) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if l.isClosed() {
		return errClosed()
	}
	if len(messages) == 0 {
		return nil
	}
	limited, cancel := l.limited(context.WithoutCancel(ctx))
	p := &publishing{all: make(chan struct{}), release: cancel}
	p.left.Store(int64(len(messages)))
	name := l.options.topic(topic)
	for _, m := range messages {
		l.client.Produce(limited, &kgo.Record{Topic: name, Key: []byte(m.Key), Value: m.Value}, p.settled)
	}
	select {
	case <-p.all:
	case <-ctx.Done():
		return ctx.Err()
	case <-limited.Done():
	}
	return p.result(ctx)
}

// publishing is one call of Publish.
type publishing struct {
	left  atomic.Int64
	all   chan struct{} // closed when every record is settled
	first atomic.Pointer[error]
	// release ends the records' context, not before they are settled: it would
	// fail other callers' records.
	release context.CancelFunc
}

func (p *publishing) settled(_ *kgo.Record, err error) {
	if err != nil {
		p.first.CompareAndSwap(nil, &err)
	}
	if p.left.Add(-1) == 0 {
		p.release()
		close(p.all)
	}
}

func (p *publishing) result(ctx context.Context) error {
	err := context.DeadlineExceeded
	if first := p.first.Load(); first != nil {
		err = *first
	} else if p.left.Load() == 0 {
		return nil
	}
	switch {
	case errors.Is(err, kerr.MessageTooLarge):
		return domain.Errorf(domain.CodeInvalid, "kafka: a message is larger than the brokers allow")
	case errors.Is(err, kgo.ErrRecordTimeout):
		err = context.DeadlineExceeded
	case errors.Is(err, kgo.ErrClientClosed):
		return errClosed()
	}
	return failure(ctx, err)
}
