// Package redis keeps the event log in Redis, so that many processes share it:
// one stream for each partition, whose entries are removed when every group
// that ever joined the topic has dealt with them. A topic that no group has
// joined keeps its entries for as long as the topic says.
//
// Each partition belongs to one consumer of a group at a time, by a claim that
// grows with every change of hands: what is said under an old claim has no
// effect. Who has what is decided by a script, by the clock of Redis: whoever
// calls it shares out all that is free, and a channel tells those whose share has
// changed. A consumer that has too many gives up those first that it is doing
// nothing of, and the others when what is under way is done. One that is silent
// for the time of a lease counts as dead: everybody learns when they ask how long
// the others may still be silent, and looks again at that instant. Records are
// read ahead by a blocking read.
//
// Offsets are made of the ids of entries, so they and the claims grow also when
// Redis has lost everything; then what was in the log is gone, and everybody
// goes on with what is published next.
package redis

import (
	"cmp"
	"context"
	"embed"
	"errors"
	"hash/fnv"
	"io/fs"
	"log/slog"
	"strconv"
	"sync"
	"time"

	"github.com/redis/rueidis"

	"sluice/internal/domain"
	"sluice/internal/redisdb"
	"sluice/internal/refresh/eventlog"
)

// DefaultLease is how long a consumer may be silent before its partitions are
// given to others. It says a word three times within it.
const DefaultLease = 15 * time.Second

// Options configures a Log.
type Options struct {
	// MaxWait caps how long Take blocks; eventlog.MaxWait if zero.
	MaxWait time.Duration
	// Lease is how long a consumer may be silent; DefaultLease if zero.
	Lease time.Duration
	// Retention is how long a topic without a group keeps its records; the
	// topic's own if zero.
	Retention time.Duration
	// Log is told what goes wrong in the background; slog.Default if nil.
	Log *slog.Logger
}

// Log implements eventlog.Log.
type Log struct {
	db        *redisdb.DB
	maxWait   time.Duration
	lease     time.Duration
	retention time.Duration
	log       *slog.Logger

	mu        sync.Mutex
	closed    bool
	consumers map[*Consumer]struct{}
}

var _ eventlog.Log = (*Log)(nil)

// New returns a log on a database, which stays the caller's.
func New(db *redisdb.DB, o Options) *Log {
	return &Log{
		db: db, maxWait: cmp.Or(max(o.MaxWait, 0), eventlog.MaxWait), lease: cmp.Or(max(o.Lease, 0), DefaultLease),
		retention: max(o.Retention, 0), log: cmp.Or(o.Log, slog.Default()), consumers: map[*Consumer]struct{}{},
	}
}

// errClosed is the error of everything that is asked of a closed log or
// consumer.
func errClosed(what string) error {
	return domain.Errorf(domain.CodeUnavailable, "the %s is closed", what)
}

// partitionOf says where a key belongs.
func partitionOf(topic eventlog.Topic, key string) int {
	h := fnv.New32a()
	_, _ = h.Write([]byte(key)) // it never fails
	return int(h.Sum32() % uint32(topic.Partitions()))
}

// A call of the publish script is bounded, as nothing else is done meanwhile.
const (
	mostMessages = 500
	mostBytes    = 4 << 20
)

// Publish implements eventlog.Log. How durable what Redis has acknowledged is
// depends on its settings.
func (l *Log) Publish(ctx context.Context, topic eventlog.Topic, messages ...eventlog.Message) error {
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
		if _, err := l.run(ctx, scripts.publish, topic, "", args...); err != nil {
			return err
		}
	}
	return nil
}

// Lag implements eventlog.Log.
func (l *Log) Lag(ctx context.Context, group string, topic eventlog.Topic) (lag eventlog.Lag, err error) {
	m, err := l.run(ctx, scripts.lag, topic, group)
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

// Check implements eventlog.Log.
func (l *Log) Check(ctx context.Context) error { return l.db.Ping(ctx) }

// Close implements eventlog.Log. It closes the consumers that are left.
func (l *Log) Close(ctx context.Context) error {
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

// answerTime is how long Redis may take to answer. It is long enough for a
// server that forks or loads.
const answerTime = 10 * time.Second

// run calls a script with the keys and arguments that all of them share and its
// own.
func (l *Log) run(ctx context.Context, script *redisdb.Script, topic eventlog.Topic, group string, args ...string) (rueidis.RedisMessage, error) {
	limited, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	key := func(name string) string { return l.db.OwnKey(string(topic), name) }
	keys := append(make([]string, 0, 4+topic.Partitions()),
		key("groups"), key("positions"), key("members:"+group), key("owners:"+group))
	for p := range topic.Partitions() {
		keys = append(keys, l.stream(topic, int32(p)))
	}
	all := append(append(make([]string, 0, 2+len(args)), group, l.channel(topic, group)), args...)
	m, err := script.Run(limited, l.db, keys, all)
	if err != nil && limited.Err() != nil && ctx.Err() == nil {
		err = domain.Errorf(domain.CodeUnavailable, "redis did not answer within %v", answerTime)
	}
	return m, err
}

// stream names the stream of a partition.
func (l *Log) stream(topic eventlog.Topic, partition int32) string {
	return l.db.OwnKey(string(topic), "log:"+strconv.Itoa(int(partition)))
}

// channel names where a group is told that consumers came or went.
func (l *Log) channel(topic eventlog.Topic, group string) string {
	return l.db.OwnKey(string(topic), "changed:"+group)
}

//go:embed scripts/*.lua
var files embed.FS

// scripts are the scripts by name.
var scripts = loadScripts()

type scriptSet struct{ publish, share, commit, lag *redisdb.Script }

func loadScripts() scriptSet {
	folder, err := fs.Sub(files, "scripts")
	if err != nil {
		folder = files
	}
	load := func(name string) *redisdb.Script { return redisdb.LoadScript(folder, "common.lua", name+".lua") }
	return scriptSet{publish: load("publish"), share: load("share"), commit: load("commit"), lag: load("lag")}
}
