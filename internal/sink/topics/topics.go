// Package topics keeps a copy of what was collected in topics of Apache Kafka, or of
// whatever speaks its protocol: a topic for each table, compacted, with the newest
// version of each row under its key.
//
// A batch is one transaction of Kafka, and so is how far the sink is, in a topic of its
// own: readers who read what is committed see each batch once, whole or not at all. The transaction's
// id is the same for every process that writes to these topics: the last that was
// prepared goes on, and the one before it is refused (it is fenced).
package topics

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"sluice/internal/backoff"
	"sluice/internal/document"
	"sluice/internal/domain"
	"sluice/internal/export"
	"sluice/internal/sink"
)

// Options say where topics are.
type Options struct {
	// Client is how the cluster is reached.
	Client []kgo.Opt
	// Prefix is what the names of topics begin with, before a full stop.
	Prefix string
	// Partitions is how many a topic of a table is made with; 3.
	Partitions int
	// Limit is how long one batch may take; one minute.
	Limit time.Duration
}

const (
	defaultPartitions = 3
	defaultLimit      = time.Minute
	// largestRecord is what topics are made for: payloads are large.
	largestRecord = 16 << 20
	// unknownTries is how often brokers may not have heard of a new topic.
	unknownTries = 100
	// progressTopic follows the prefix, and progressKey is its one key.
	progressTopic = "sluice"
	progressKey   = "progress"
	// generationHeader says which backfill a row was stored in, or after.
	generationHeader = "sluice-generation"
)

// Topics is a sink.Target in Kafka.
type Topics struct {
	options Options

	client *kgo.Client
	tables []table
	// held is what the progress topic has.
	held record
}

var _ sink.Target = (*Topics)(nil)

type table struct {
	name, topic string
	rows        *export.JSONRows
}

// record is the value in the progress topic.
type record struct {
	Progress sink.Progress `json:"progress"`
	// Columns are those of the tables, for whoever adds some.
	Columns map[string][]string `json:"columns"`
}

// New returns a target that connects when it is prepared.
func New(o Options) *Topics {
	o.Partitions = cmp.Or(o.Partitions, defaultPartitions)
	o.Limit = cmp.Or(o.Limit, defaultLimit)
	return &Topics{options: o}
}

func (t *Topics) topic(name string) string { return t.options.Prefix + "." + name }

// Prepare implements sink.Target.
func (t *Topics) Prepare(ctx context.Context, tables []sink.Table) error {
	limited, cancel := context.WithTimeout(ctx, t.options.Limit)
	defer cancel()
	return failure(ctx, t.prepare(limited, tables))
}

func (t *Topics) prepare(ctx context.Context, tables []sink.Table) error {
	t.disconnect()
	client, err := kgo.NewClient(append(slices.Clone(t.options.Client),
		kgo.TransactionalID(t.options.Prefix+"."+progressTopic), kgo.TransactionTimeout(t.options.Limit),
		kgo.ProducerBatchMaxBytes(largestRecord), kgo.UnknownTopicRetries(unknownTries), kgo.RecordPartitioner(kgo.StickyKeyPartitioner(nil)),
	)...)
	if err != nil {
		return domain.Errorf(domain.CodeInvalid, "kafka: %w", err)
	}
	t.client = client
	t.tables = nil
	columns := map[string][]string{}
	names := []string{t.topic(progressTopic)}
	for _, one := range tables {
		t.tables = append(t.tables, table{name: one.Name, topic: t.topic(one.Name), rows: export.NewJSONRows(one.Columns)})
		names = append(names, t.topic(one.Name))
		for _, c := range one.Columns {
			columns[one.Name] = append(columns[one.Name], c.Name+" "+string(c.Type))
		}
		if one.Raw {
			columns[one.Name] = append(columns[one.Name], "raw")
		}
	}
	if err := t.makeTopics(ctx, names); err != nil {
		return err
	}
	// From here on no other process commits, and what one had begun is over.
	if _, _, err := client.ProducerID(ctx); err != nil {
		return err
	}
	if t.held, err = t.readProgress(ctx); err != nil {
		return err
	}
	lacks := t.held.lacks(columns)
	t.held.Columns = columns
	if !lacks {
		return nil
	}
	// What was carried before lacks it.
	t.held.Progress.Backfilled, t.held.Progress.After = false, document.Key{}
	return t.transact(ctx, nil, t.held)
}

// lacks says whether rows were stored without some of the columns.
func (r *record) lacks(columns map[string][]string) bool {
	if r.Columns == nil {
		return false
	}
	for name, want := range columns {
		for _, c := range want {
			if !slices.Contains(r.Columns[name], c) {
				return true
			}
		}
	}
	return false
}

// makeTopics makes topics that are missing, and waits until all can be used.
func (t *Topics) makeTopics(ctx context.Context, names []string) error {
	admin := kadm.NewClient(t.client)
	brokers, err := admin.ListBrokers(ctx)
	if err != nil {
		return err
	}
	const mostReplicas = 3
	replicas := int16(min(mostReplicas, len(brokers)))
	configs := map[string]*string{"cleanup.policy": kadm.StringPtr("compact"), "max.message.bytes": kadm.StringPtr(strconv.Itoa(largestRecord))}
	if replicas == mostReplicas {
		configs["min.insync.replicas"] = kadm.StringPtr("2")
	}
	for i, name := range names {
		partitions := int32(t.options.Partitions)
		if i == 0 {
			partitions = 1 // the progress
		}
		if _, err := admin.CreateTopic(ctx, partitions, replicas, configs, name); err != nil && !errors.Is(err, kerr.TopicAlreadyExists) {
			return err
		}
	}
	if err := awaitTopics(ctx, admin, names); err != nil {
		return err
	}
	return checkTopics(ctx, admin, names)
}

// readyInterval is how often new topics are looked at.
const readyInterval = 50 * time.Millisecond

// awaitTopics waits until every partition has a broker that leads it.
func awaitTopics(ctx context.Context, admin *kadm.Client, names []string) error {
	for {
		topics, err := admin.ListTopics(ctx, names...)
		if err != nil {
			return err
		}
		ready := 0
		for _, one := range topics {
			leads := !slices.ContainsFunc(one.Partitions.Sorted(), func(p kadm.PartitionDetail) bool { return p.Err != nil || p.Leader < 0 })
			if one.Err == nil && len(one.Partitions) > 0 && leads {
				ready++
			}
		}
		if ready == len(names) {
			return nil
		}
		if !backoff.Sleep(ctx, readyInterval) {
			return ctx.Err()
		}
	}
}

// checkTopics refuses topics that would lose rows.
func checkTopics(ctx context.Context, admin *kadm.Client, names []string) error {
	described, err := admin.DescribeTopicConfigs(ctx, names...)
	if err != nil {
		return err
	}
	for _, one := range described {
		if one.Err != nil {
			return one.Err
		}
		for _, c := range one.Configs {
			if c.Key == "cleanup.policy" && c.MaybeValue() != "compact" {
				return domain.Errorf(domain.CodeConflict, "the topic %s has cleanup.policy %s and would lose rows; set it to compact", one.Name, c.MaybeValue())
			}
		}
	}
	return nil
}

// Progress implements sink.Target.
func (t *Topics) Progress(context.Context) (sink.Progress, error) {
	return t.held.Progress, nil
}

// Apply implements sink.Target.
func (t *Topics) Apply(ctx context.Context, b *sink.Batch) error {
	if t.client == nil {
		return domain.Errorf(domain.CodeUnavailable, "the topics are not prepared")
	}
	limited, cancel := context.WithTimeout(ctx, t.options.Limit)
	defer cancel()
	records, err := t.records(limited, b)
	if err != nil {
		return failure(ctx, err)
	}
	next := record{Progress: b.Progress, Columns: t.held.Columns}
	if err := t.transact(limited, records, next); err != nil {
		return failure(ctx, err)
	}
	t.held = next
	return nil
}

// records are what a batch is to Kafka.
func (t *Topics) records(ctx context.Context, b *sink.Batch) ([]*kgo.Record, error) {
	written := map[[2]string]bool{}
	var rows []*kgo.Record
	generation := []kgo.RecordHeader{{Key: generationHeader, Value: strconv.AppendInt(nil, b.Generation, 10)}}
	for i := range b.Rows {
		row := &b.Rows[i]
		in := &t.tables[row.Table]
		one := &kgo.Record{Topic: in.topic, Key: []byte(key(row.Key)), Headers: generation}
		if !row.Removed {
			var err error
			if one.Value, err = in.rows.Append(nil, row.Values, row.Raw); err != nil {
				return nil, err
			}
		}
		written[[2]string{in.topic, string(one.Key)}] = true
		rows = append(rows, one)
	}
	// The first backfill has nothing to sweep.
	sweep := b.Sweep && b.Generation > 1
	if len(b.Purged) == 0 && !sweep {
		return rows, nil
	}
	var gone []*kgo.Record
	for _, in := range t.tables {
		stored, err := t.stored(ctx, in.topic)
		if err != nil {
			return nil, err
		}
		for name, of := range stored {
			account, _, _ := strings.Cut(name, "/")
			id, err := strconv.ParseInt(account, 10, 64)
			purged := err == nil && slices.Contains(b.Purged, id)
			if !written[[2]string{in.topic, name}] && (purged || sweep && of < b.Generation) {
				gone = append(gone, &kgo.Record{Topic: in.topic, Key: []byte(name)})
			}
		}
	}
	return append(gone, rows...), nil
}

// key is what a row is stored under: the account's number and the row's name.
func key(k document.Key) string { return strconv.FormatInt(k.Account, 10) + "/" + k.Name }

// transact commits records and the progress. After an error the target is to be
// prepared again: whether it holds is what the progress topic says then.
func (t *Topics) transact(ctx context.Context, records []*kgo.Record, next record) (err error) {
	value, err := json.Marshal(next)
	if err != nil {
		return domain.Errorf(domain.CodeInternal, "write the progress: %w", err)
	}
	defer func() {
		if err != nil {
			t.disconnect()
		}
	}()
	if err := t.client.BeginTransaction(); err != nil {
		return err
	}
	records = append(records, &kgo.Record{Topic: t.topic(progressTopic), Key: []byte(progressKey), Value: value})
	if err := t.client.ProduceSync(ctx, records...).FirstErr(); err != nil {
		return err
	}
	return t.client.EndTransaction(ctx, kgo.TryCommit)
}

// disconnect ends the client. What it had begun is aborted by the next one.
func (t *Topics) disconnect() {
	if t.client != nil {
		t.client.Close()
		t.client = nil
	}
}

// Close implements sink.Target.
func (t *Topics) Close() error {
	t.disconnect()
	return nil
}

// failure says what an error of Kafka means.
func failure(ctx context.Context, err error) error {
	var coded *domain.Error
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &coded):
		return err
	case errors.Is(err, kerr.ProducerFenced), errors.Is(err, kerr.InvalidProducerEpoch):
		return domain.Errorf(domain.CodeUnavailable, "another process writes to the same topics, and this one stopped for it: let one of them run, or give each a prefix of its own: %w", err)
	case errors.Is(err, kerr.MessageTooLarge):
		return domain.Errorf(domain.CodeUnavailable, "a row is larger than its topic allows; raise max.message.bytes of the topic, or leave payloads out by raw=false: %w", err)
	case errors.Is(err, context.DeadlineExceeded):
		return domain.Errorf(domain.CodeUnavailable, "kafka does not answer in time")
	}
	return domain.Errorf(domain.CodeUnavailable, "kafka: %w", err)
}
