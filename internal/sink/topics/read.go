package topics

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"sluice/internal/domain"
)

// windows are how many of the last records of the progress topic are read, until one
// is found that is committed.
var windows = []int64{64, 4096, 1 << 62}

// readProgress reads the newest committed record of the progress topic.
func (t *Topics) readProgress(ctx context.Context) (held record, err error) {
	for _, window := range windows {
		var value []byte
		err := t.read(ctx, t.topic(progressTopic), window, func(r *kgo.Record) {
			if string(r.Key) == progressKey {
				value = r.Value
			}
		})
		if err != nil {
			return held, err
		}
		if value == nil {
			continue
		}
		if err := json.Unmarshal(value, &held); err != nil {
			return held, domain.Errorf(domain.CodeCorrupt, "the progress in topic %s cannot be read; remove the topics and begin anew: %w", t.topic(progressTopic), err)
		}
		return held, nil
	}
	return held, nil
}

// stored are the keys that a topic has rows of, and the generation of each.
func (t *Topics) stored(ctx context.Context, topic string) (map[string]int64, error) {
	rows := map[string]int64{}
	err := t.read(ctx, topic, windows[len(windows)-1], func(r *kgo.Record) {
		if r.Value == nil {
			delete(rows, string(r.Key))
			return
		}
		generation := int64(0)
		if at := slices.IndexFunc(r.Headers, func(h kgo.RecordHeader) bool { return h.Key == generationHeader }); at >= 0 {
			generation, _ = strconv.ParseInt(string(r.Headers[at].Value), 10, 64) // of what others wrote it is 0
		}
		rows[string(r.Key)] = generation
	})
	return rows, err
}

// read goes through what is committed in a topic: the last so many records of each
// partition, in their order.
func (t *Topics) read(ctx context.Context, topic string, window int64, each func(*kgo.Record)) error {
	admin := kadm.NewClient(t.client)
	starts, err := admin.ListStartOffsets(ctx, topic)
	if err != nil {
		return err
	}
	ends, err := admin.ListCommittedOffsets(ctx, topic)
	if err != nil {
		return err
	}
	if err := ends.Error(); err != nil {
		return err
	}
	// What is read until is the last offset, which may be a mark of a transaction.
	until := map[int32]int64{}
	from := map[int32]kgo.Offset{}
	ends.Each(func(end kadm.ListedOffset) {
		start, _ := starts.Lookup(topic, end.Partition)
		if end.Offset > start.Offset {
			until[end.Partition] = end.Offset - 1
			from[end.Partition] = kgo.NewOffset().At(max(start.Offset, end.Offset-window))
		}
	})
	if len(until) == 0 {
		return nil
	}
	reader, err := kgo.NewClient(append(slices.Clone(t.options.Client), kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: from}),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.KeepControlRecords(), kgo.FetchMaxPartitionBytes(largestRecord))...)
	if err != nil {
		return err
	}
	defer reader.Close()
	for len(until) > 0 {
		fetched := reader.PollFetches(ctx)
		if err := fetched.Err(); err != nil {
			return err
		}
		fetched.EachRecord(func(r *kgo.Record) {
			if !r.Attrs.IsControl() {
				each(r)
			}
			if last, wanted := until[r.Partition]; wanted && r.Offset >= last {
				delete(until, r.Partition)
			}
		})
	}
	return nil
}
