package kafka

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"sluice/internal/refresh"
)

// Lag implements refresh.EventLog.
func (l *EventLog) Lag(ctx context.Context, group string, topic refresh.Topic) (refresh.Lag, error) {
	if l.isClosed() {
		return refresh.Lag{}, errClosed()
	}
	limited, cancel := l.limited(ctx)
	defer cancel()
	name := l.options.topic(topic)
	b, err := bounded(limited, func() (backlog, error) { return l.behind(limited, l.options.group(group), name) })
	if err != nil {
		return refresh.Lag{}, failure(ctx, err)
	}
	lag := refresh.Lag{Records: b.records}
	// How many there are is worth telling even if it is not known since when.
	for _, at := range l.oldest.of(limited, name, b.first) {
		if lag.Oldest.IsZero() || at.Before(lag.Oldest) {
			lag.Oldest = at
		}
	}
	return lag, nil
}

// backlog is what nobody of a group has taken.
type backlog struct {
	// first is the first offset of it, in the partitions that have any.
	first   map[int32]int64
	records int64
}

// behind returns a group's backlog in a topic.
func (l *EventLog) behind(ctx context.Context, group, topic string) (backlog, error) {
	// Positions first: what is done meanwhile makes the lag larger, never less
	// than nothing.
	positions, err := l.positions(ctx, group, topic)
	if err != nil {
		return backlog{}, fmt.Errorf("positions of group %s: %w", group, err)
	}
	starts, err := l.admin.ListStartOffsets(ctx, topic)
	if err == nil {
		err = starts.Error()
	}
	if err != nil {
		return backlog{}, fmt.Errorf("start of topic %s: %w", topic, err)
	}
	ends, err := l.admin.ListEndOffsets(ctx, topic)
	if err == nil {
		err = ends.Error()
	}
	if err != nil {
		return backlog{}, fmt.Errorf("end of topic %s: %w", topic, err)
	}
	b := backlog{first: map[int32]int64{}}
	for number, end := range ends[topic] {
		first := starts[topic][number].Offset
		if position, ok := positions.Lookup(topic, number); ok {
			// What was not dealt with in time is gone.
			first = max(first, takenUpTo(position.At, position.Metadata))
		}
		if first < end.Offset {
			b.first[number] = first
			b.records += end.Offset - first
		}
	}
	return b, nil
}

// positions returns where a group stands in a topic.
func (l *EventLog) positions(ctx context.Context, group, topic string) (kadm.OffsetResponses, error) {
	for waited := false; ; waited = true {
		positions, err := l.admin.FetchOffsetsForTopics(ctx, group, topic)
		if err == nil {
			err = positions.Error()
		}
		switch {
		case errors.Is(err, kerr.GroupIDNotFound):
			// Nobody has joined it yet: it has nothing behind it.
			return nil, nil
		case !errors.Is(err, kerr.CoordinatorNotAvailable) || waited:
			return positions, err
		}
		if err := l.awaitCoordinator(ctx, group); err != nil {
			return nil, err
		}
	}
}

// timestamps finds out when records were published, and remembers it: a group
// that stands still is asked about again and again.
type timestamps struct {
	options Options

	mu    sync.Mutex
	known map[place]time.Time
}

// place is that of one record.
type place struct {
	topic     string
	partition int32
	offset    int64
}

// mostPlaces bounds what is remembered.
const mostPlaces = 1000

func newTimestamps(o Options) *timestamps {
	return &timestamps{options: o, known: map[place]time.Time{}}
}

// of returns when the records at these offsets were published, as far as it can
// be found out.
func (t *timestamps) of(ctx context.Context, topic string, offsets map[int32]int64) []time.Time {
	var out []time.Time
	unknown := map[int32]kgo.Offset{}
	t.mu.Lock()
	for number, offset := range offsets {
		if at, ok := t.known[place{topic, number, offset}]; ok {
			out = append(out, at)
		} else {
			unknown[number] = kgo.NewOffset().At(offset)
		}
	}
	t.mu.Unlock()
	if len(unknown) == 0 {
		return out
	}
	found, err := t.read(ctx, topic, unknown)
	if err != nil {
		t.options.Log.Debug("kafka: the oldest record cannot be read", "topic", topic, "error", err)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.known) > mostPlaces {
		clear(t.known)
	}
	for number, at := range found {
		t.known[place{topic, number, offsets[number]}] = at
		out = append(out, at)
	}
	return out
}

// read fetches the first record of each partition from an offset on.
func (t *timestamps) read(ctx context.Context, topic string, offsets map[int32]kgo.Offset) (map[int32]time.Time, error) {
	client, err := kgo.NewClient(append(t.options.common(),
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: offsets}),
		// One record of each is wanted, not all that come after it.
		kgo.FetchMaxPartitionBytes(1<<14),
		kgo.MaxConcurrentFetches(1),
	)...)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	found := map[int32]time.Time{}
	for len(found) < len(offsets) {
		fetches := client.PollFetches(ctx)
		if err := fetches.Err0(); err != nil {
			return found, err
		}
		fetches.EachRecord(func(r *kgo.Record) {
			if _, ok := found[r.Partition]; !ok {
				found[r.Partition] = r.Timestamp
				client.PauseFetchPartitions(map[string][]int32{topic: {r.Partition}})
			}
		})
	}
	return found, nil
}
