package topics_test

import (
	"context"
	"encoding/json"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"sluice/internal/backend/kafka"
	"sluice/internal/document"
	"sluice/internal/domain"
	"sluice/internal/sink"
	"sluice/internal/sink/sinktest"
	"sluice/internal/sink/topics"
	"sluice/internal/testkit"
)

func TestMain(m *testing.M) { os.Exit(testkit.Main(m)) }

func client(t testing.TB) []kgo.Opt {
	t.Helper()
	options, err := kafka.Options{URL: testkit.Kafka(t)}.Client()
	if err != nil {
		t.Fatal(err)
	}
	return options
}

// last reads a topic as any consumer does, and keeps the last value of each key.
func last(t testing.TB, topic string) map[string][]byte {
	t.Helper()
	reader, err := kgo.NewClient(append(client(t), kgo.ConsumeTopics(topic), kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.KeepControlRecords())...)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	ends, err := kadm.NewClient(reader).ListCommittedOffsets(ctx, topic)
	if err != nil {
		t.Fatal(err)
	}
	until := map[int32]int64{}
	ends.Each(func(o kadm.ListedOffset) {
		if o.Offset > 0 {
			until[o.Partition] = o.Offset - 1
		}
	})
	values := map[string][]byte{}
	for len(until) > 0 {
		fetched := reader.PollFetches(ctx)
		if err := fetched.Err(); err != nil {
			t.Fatal(err)
		}
		fetched.EachRecord(func(r *kgo.Record) {
			if last, ok := until[r.Partition]; ok && r.Offset >= last {
				delete(until, r.Partition)
			}
			switch {
			case r.Attrs.IsControl():
			case r.Value == nil:
				delete(values, string(r.Key))
			default:
				values[string(r.Key)] = r.Value
			}
		})
	}
	return values
}

// rows are the last values of a table's topic.
func rows(t testing.TB, prefix string, table sink.Table) (all []sink.Row) {
	t.Helper()
	for key, value := range last(t, prefix+"."+table.Name) {
		account, name, _ := strings.Cut(key, "/")
		id, err := strconv.ParseInt(account, 10, 64)
		var fields map[string]json.RawMessage
		if err == nil {
			err = json.Unmarshal(value, &fields)
		}
		if err != nil {
			t.Fatalf("%s: %v", key, err)
		}
		row := sink.Row{Key: document.Key{Account: id, Kind: table.Kind, Name: name}, Raw: fields["raw"]}
		for _, c := range table.Columns {
			row.Values = append(row.Values, sinktest.ParseJSON(t, c.Type, fields[c.Name]))
		}
		all = append(all, row)
	}
	return all
}

func place(t testing.TB, partitions int) sinktest.Place {
	prefix := testkit.Prefix(t)
	return sinktest.Place{
		Open: func(t testing.TB) sink.Target {
			return topics.New(topics.Options{Client: client(t), Prefix: prefix, Partitions: partitions, Limit: 3 * time.Minute})
		},
		Rows: func(t testing.TB, table sink.Table) []sink.Row { return rows(t, prefix, table) },
		ByHand: func(t testing.TB, table sink.Table) []string {
			admin, err := kgo.NewClient(client(t)...)
			if err != nil {
				t.Fatal(err)
			}
			defer admin.Close()
			policy := []kadm.AlterConfig{{Op: kadm.SetConfig, Name: "cleanup.policy", Value: kadm.StringPtr("delete")}}
			if _, err := kadm.NewClient(admin).AlterTopicConfigs(t.Context(), policy, prefix+"."+table.Name); err != nil {
				t.Fatal(err)
			}
			return []string{prefix + "." + table.Name, "cleanup.policy"}
		},
		Shared: true, // the second process takes over
	}
}

// TestTopics: what a topic shows last of each key is the table.
func TestTopics(t *testing.T) {
	sinktest.Run(t, func(t testing.TB) sinktest.Place { return place(t, 2) })
}

// TestFenced: of two processes the one that was prepared last goes on.
func TestFenced(t *testing.T) {
	p := place(t, 1)
	tables := sink.Tables(sinktest.Kinds(), true)
	first, second := p.Open(t), p.Open(t)
	defer func() { _, _ = first.Close(), second.Close() }()
	for _, target := range []sink.Target{first, second} {
		if err := target.Prepare(t.Context(), tables); err != nil {
			t.Fatal(err)
		}
	}
	batch := func(position int64) *sink.Batch {
		return &sink.Batch{Progress: sink.Progress{Feed: "f", Position: position, Generation: 1}}
	}
	err := first.Apply(t.Context(), batch(1))
	if domain.CodeOf(err) != domain.CodeUnavailable || !strings.Contains(err.Error(), "another process") {
		t.Errorf("the first goes on: %v", err)
	}
	if err := second.Apply(t.Context(), batch(2)); err != nil {
		t.Fatal(err)
	}
	if err := first.Prepare(t.Context(), tables); err != nil {
		t.Fatal(err)
	}
	if got, err := first.Progress(t.Context()); err != nil || got.Position != 2 {
		t.Errorf("the progress is %+v, %v", got, err)
	}
}
