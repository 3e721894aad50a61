// Package embedded keeps the event log in the embedded database. One process
// owns the file, so that partitions are shared out among its consumers in
// memory, and a publish wakes them through a channel; the file is asked for
// records alone, and never while there are none.
//
// A record is removed when every group that ever joined its topic has dealt
// with it. A topic that no group has joined keeps its records for as long as
// the topic says. A group that comes late finds what is left.
package embedded

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"zombiezen.com/go/sqlite"

	"sluice/internal/domain"
	"sluice/internal/refresh/eventlog"
	"sluice/internal/sqlitedb"
)

// Options configures a Log.
type Options struct {
	// MaxWait caps how long Take blocks; eventlog.MaxWait if zero.
	MaxWait time.Duration
	// Retention is how long a topic without a group keeps its records; the
	// topic's own if zero.
	Retention time.Duration
	// Log is told what goes wrong in the background; slog.Default if nil.
	Log *slog.Logger
}

// Log implements eventlog.Log.
type Log struct {
	db        *sqlitedb.DB
	maxWait   time.Duration
	retention time.Duration
	log       *slog.Logger
	appends   *sqlitedb.Merger[publication]
	saver     saver

	// loading is held while a topic is read, so that it is read once.
	loading sync.Mutex
	// mu guards everything below, and all that topics and groups know.
	mu     sync.Mutex
	topics map[eventlog.Topic]*topic
	// claims counts how often a partition was given to a consumer.
	claims int64
	closed bool
}

var _ eventlog.Log = (*Log)(nil)

// New returns a log on an open database, which stays the caller's.
func New(db *sqlitedb.DB, o Options) *Log {
	l := &Log{
		db: db, maxWait: cmp.Or(max(o.MaxWait, 0), eventlog.MaxWait), retention: max(o.Retention, 0),
		log: cmp.Or(o.Log, slog.Default()), topics: map[eventlog.Topic]*topic{},
	}
	l.appends = sqlitedb.NewMerger(db, appendAll)
	return l
}

// errClosed is the error of everything that is asked of a closed log or
// consumer.
func errClosed(what string) error {
	return domain.Errorf(domain.CodeUnavailable, "the %s is closed", what)
}

// Join implements eventlog.Log.
func (l *Log) Join(ctx context.Context, groupName string, name eventlog.Topic) (eventlog.Consumer, error) {
	t, err := l.topic(ctx, name)
	if err != nil {
		return nil, err
	}
	g, err := l.group(ctx, t, groupName)
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, errClosed("log")
	}
	c := &Consumer{log: l, topic: t, group: g}
	g.members = append(g.members, c)
	l.shareOut(g)
	return c, nil
}

// Lag implements eventlog.Log. It counts what is done already and not yet
// durable as done.
func (l *Log) Lag(ctx context.Context, groupName string, name eventlog.Topic) (lag eventlog.Lag, err error) {
	t, err := l.topic(ctx, name)
	if err != nil {
		return lag, err
	}
	oldest := l.behind(t, groupName, &lag.Records)
	if len(oldest) == 0 {
		return lag, nil
	}
	err = l.db.Read(ctx, func(c *sqlite.Conn) error {
		for _, at := range oldest {
			err := sqlitedb.Exec(c, "SELECT at FROM eventlog_record WHERE partition_id = ? AND position >= ? ORDER BY position LIMIT 1",
				func(r *sqlite.Stmt) {
					if published := sqlitedb.Time(r.ColumnInt64(0)); lag.Oldest.IsZero() || published.Before(lag.Oldest) {
						lag.Oldest = published
					}
				}, at.partition, at.from)
			if err != nil {
				return err
			}
		}
		return nil
	})
	return lag, err
}

// behind counts what a group has not done, and says where the first of it is
// in each partition.
func (l *Log) behind(t *topic, groupName string, records *int64) (oldest []span) {
	l.mu.Lock()
	defer l.mu.Unlock()
	g := t.groups[groupName]
	for i, p := range t.partitions {
		done := p.removed
		if g != nil {
			done = g.shares[i].done
		}
		if p.last > done {
			*records += p.last - done
			oldest = append(oldest, span{partition: p.id, from: done + 1})
		}
	}
	return oldest
}

// Check implements eventlog.Log.
func (l *Log) Check(ctx context.Context) error {
	return l.db.Read(ctx, func(c *sqlite.Conn) error {
		return sqlitedb.Exec(c, "SELECT 1 FROM eventlog_partition LIMIT 1", nil)
	})
}

// Close implements eventlog.Log. It closes the consumers that are left.
func (l *Log) Close(ctx context.Context) error {
	l.mu.Lock()
	l.closed = true
	var left []*Consumer
	for _, t := range l.topics {
		for _, g := range t.groups {
			left = append(left, g.members...)
		}
	}
	l.mu.Unlock()
	var errs []error
	for _, c := range left {
		errs = append(errs, c.Close(ctx))
	}
	l.saver.stop()
	return errors.Join(append(errs, l.save(ctx))...)
}
