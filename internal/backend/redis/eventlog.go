package redis

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"hash/fnv"
	"log/slog"
	"strconv"
	"sync"
	"time"

	"github.com/redis/rueidis"

	"sluice/internal/domain"
	"sluice/internal/refresh"
)

// DefaultEventLogLease is how long a consumer may be silent before its partitions are
// given to others. It says a word three times within it.
const DefaultEventLogLease = 15 * time.Second

// EventLogOptions configures an EventLog.
type EventLogOptions struct {
	// MaxWait caps how long Take blocks; refresh.MaxTakeWait if zero.
	MaxWait time.Duration
	// Lease is how long a consumer may be silent; DefaultLease if zero.
	Lease time.Duration
	// Retention is how long a topic without a group keeps its records; the
	// topic's own if zero.
	Retention time.Duration
	// Log is told what goes wrong in the background; slog.Default if nil.
	Log *slog.Logger
}

// EventLog implements refresh.EventLog.
type EventLog struct {
	db        *DB
	maxWait   time.Duration
	lease     time.Duration
	retention time.Duration
	log       *slog.Logger

	mu        sync.Mutex
	closed    bool
	consumers map[*Consumer]struct{}
}

var _ refresh.EventLog = (*EventLog)(nil)

// NewEventLog returns a log on a database, which stays the caller's.
func NewEventLog(db *DB, o EventLogOptions) *EventLog {
	return &EventLog{
		db: db, maxWait: cmp.Or(max(o.MaxWait, 0), refresh.MaxTakeWait), lease: cmp.Or(max(o.Lease, 0), DefaultEventLogLease),
		retention: max(o.Retention, 0), log: cmp.Or(o.Log, slog.Default()), consumers: map[*Consumer]struct{}{},
	}
}

// partitionOf says where a key belongs.
func partitionOf(topic refresh.Topic, key string) int {
	h := fnv.New32a()
	_, _ = h.Write([]byte(key)) // it never fails
	return int(h.Sum32() % uint32(topic.Partitions()))
}

// A call of the publish script is bounded, as nothing else is done meanwhile.
const (
	mostMessages = 500
	mostBytes    = 4 << 20
)

// Publish implements refresh.EventLog. How durable what Redis has acknowledged is
// depends on its settings.
func (l *EventLog) Publish(ctx context.Context, topic refresh.Topic, messages ...refresh.Message) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	l.mu.Lock()
	closed := l.closed
	l.mu.Unlock()
	if closed {
		return errClosed("log")
	}
	keep := cmp.Or(l.retention, topic.Retention())
	for len(messages) > 0 {
		args := []string{strconv.FormatInt(keep.Milliseconds(), 10)}
		n, size := 0, 0
		for ; n < len(messages) && n < mostMessages && size < mostBytes; n++ {
			m := &messages[n]
			args = append(args, strconv.Itoa(partitionOf(topic, m.Key)), m.Key, rueidis.BinaryString(m.Value))
			size += len(m.Key) + len(m.Value)
		}
		messages = messages[n:]
		if _, err := l.run(ctx, eventLogScripts.publish, topic, "", args...); err != nil {
			return err
		}
	}
	return nil
}

// Lag implements refresh.EventLog.
func (l *EventLog) Lag(ctx context.Context, group string, topic refresh.Topic) (lag refresh.Lag, err error) {
	m, err := l.run(ctx, eventLogScripts.lag, topic, group)
	if err != nil {
		return lag, err
	}
	facts, err := m.AsIntSlice()
	if err != nil || len(facts) != 2 {
		return lag, domain.Errorf(domain.CodeInternal, "the lag cannot be understood: %v", err)
	}
	lag.Records = facts[0]
	if facts[1] > 0 {
		lag.Oldest = time.UnixMilli(facts[1]).UTC()
	}
	return lag, nil
}

// Lasting implements refresh.EventLog: Redis can lose what it has acknowledged.
func (l *EventLog) Lasting() bool { return false }

// Epoch implements refresh.EventLog. It is another when the records were removed,
// and when another server answers, or the same one was started again: what that
// has may be older than what was acknowledged.
func (l *EventLog) Epoch(ctx context.Context, topic refresh.Topic) (string, error) {
	m, err := l.run(ctx, eventLogScripts.epoch, topic, "", rand.Text())
	if err != nil {
		return "", err
	}
	epoch, err := m.ToString()
	if err != nil {
		return "", domain.Errorf(domain.CodeInternal, "the epoch cannot be understood: %w", err)
	}
	return "redis " + epoch, nil
}

// Check implements refresh.EventLog.
func (l *EventLog) Check(ctx context.Context) error { return l.db.Ping(ctx) }

// Close implements refresh.EventLog. It closes the consumers that are left.
func (l *EventLog) Close(ctx context.Context) error {
	l.mu.Lock()
	l.closed = true
	var left []*Consumer
	for c := range l.consumers {
		left = append(left, c)
	}
	l.mu.Unlock()
	errs := make([]error, len(left))
	var wg sync.WaitGroup
	for i, c := range left {
		wg.Go(func() { errs[i] = c.Close(ctx) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// run calls a script with the keys and arguments that all of them share and its
// own.
func (l *EventLog) run(ctx context.Context, script *luaScript, topic refresh.Topic, group string, args ...string) (rueidis.RedisMessage, error) {
	key := func(name string) string { return l.db.OwnKey(string(topic), name) }
	keys := append(make([]string, 0, 4+topic.Partitions()),
		key("groups"), key("positions"), key("members:"+group), key("owners:"+group))
	for p := range topic.Partitions() {
		keys = append(keys, l.stream(topic, int32(p)))
	}
	all := append(append(make([]string, 0, 2+len(args)), group, l.channel(topic, group)), args...)
	return script.runWithin(ctx, scriptTime, l.db, keys, all)
}

// stream names the stream of a partition.
func (l *EventLog) stream(topic refresh.Topic, partition int32) string {
	return l.db.OwnKey(string(topic), "log:"+strconv.Itoa(int(partition)))
}

// channel names where a group is told that consumers came or went.
func (l *EventLog) channel(topic refresh.Topic, group string) string {
	return l.db.OwnKey(string(topic), "changed:"+group)
}

// eventLogScripts are the scripts by name.
var eventLogScripts = loadEventLogScripts()

type eventLogScriptSet struct{ publish, share, commit, lag, epoch *luaScript }

func loadEventLogScripts() eventLogScriptSet {
	load := func(name string) *luaScript { return loadScript("eventlog", "common", name) }
	return eventLogScriptSet{publish: load("publish"), share: load("share"), commit: load("commit"), lag: load("lag"), epoch: load("epoch")}
}
