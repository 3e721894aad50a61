package sqlite

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	driver "zombiezen.com/go/sqlite"

	"sluice/internal/domain"
	"sluice/internal/refresh"
)

// EventLogOptions configures an EventLog.
type EventLogOptions struct {
	// MaxWait caps how long Take blocks; refresh.MaxTakeWait if zero.
	MaxWait time.Duration
	// Retention is how long a topic without a group keeps its records; the
	// topic's own if zero.
	Retention time.Duration
	// Log is told what goes wrong in the background; slog.Default if nil.
	Log *slog.Logger
}

// EventLog implements refresh.EventLog. One process owns the file, so that
// partitions are shared out among its consumers in memory, and a publish wakes
// them through a channel; the file is asked for records alone, and never while
// there are none.
//
// A record is removed when every group that ever joined its topic has dealt
// with it. A topic that no group has joined keeps its records for as long as
// the topic says. A group that comes late finds what is left.
type EventLog struct {
	db        *DB
	maxWait   time.Duration
	retention time.Duration
	log       *slog.Logger
	appends   *merger[publication]
	saver     positionSaver

	// loading is held while a topic is read, so that it is read once.
	loading sync.Mutex
	// mu guards everything below, and all that topics and groups know.
	mu     sync.Mutex
	topics map[refresh.Topic]*topic
	// claims counts how often a partition was given to a consumer.
	claims int64
	closed bool
}

var _ refresh.EventLog = (*EventLog)(nil)

// NewEventLog returns a log on an open database, which stays the caller's.
func NewEventLog(db *DB, o EventLogOptions) *EventLog {
	l := &EventLog{
		db: db, maxWait: cmp.Or(max(o.MaxWait, 0), refresh.MaxTakeWait), retention: max(o.Retention, 0),
		log: cmp.Or(o.Log, slog.Default()), topics: map[refresh.Topic]*topic{},
	}
	l.appends = newMerger(db, appendRecords)
	return l
}

// errClosed is the error of everything that is asked of a closed log or
// consumer.
func errClosed(what string) error {
	return domain.Errorf(domain.CodeUnavailable, "the %s is closed", what)
}

// Join implements refresh.EventLog.
func (l *EventLog) Join(ctx context.Context, groupName string, name refresh.Topic) (refresh.LogConsumer, error) {
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
	c := &logConsumer{log: l, topic: t, group: g}
	g.members = append(g.members, c)
	l.shareOut(g)
	return c, nil
}

// Lag implements refresh.EventLog.
func (l *EventLog) Lag(ctx context.Context, groupName string, name refresh.Topic) (lag refresh.Lag, err error) {
	t, err := l.topic(ctx, name)
	if err != nil {
		return lag, err
	}
	oldest := l.behind(t, groupName, &lag.Records)
	if len(oldest) == 0 {
		return lag, nil
	}
	err = l.db.Read(ctx, func(c *driver.Conn) error {
		for _, at := range oldest {
			err := Exec(c, "SELECT at FROM eventlog_record WHERE partition_id = ? AND position >= ? ORDER BY position LIMIT 1",
				func(r *driver.Stmt) {
					if published := fromMicros(r.ColumnInt64(0)); lag.Oldest.IsZero() || published.Before(lag.Oldest) {
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

// behind counts what nobody of a group has taken, and says where the first of it
// is in each partition.
func (l *EventLog) behind(t *topic, groupName string, records *int64) (oldest []recordSpan) {
	l.mu.Lock()
	defer l.mu.Unlock()
	g := t.groups[groupName]
	for i, p := range t.partitions {
		taken := p.removed
		if g != nil {
			taken = g.shares[i].taken()
		}
		if p.last > taken {
			*records += p.last - taken
			oldest = append(oldest, recordSpan{partition: p.id, from: taken + 1})
		}
	}
	return oldest
}

// Lasting implements refresh.EventLog: records are in the file of the snapshots.
func (l *EventLog) Lasting() bool { return true }

// Epoch implements refresh.EventLog.
func (l *EventLog) Epoch(context.Context, refresh.Topic) (string, error) { return "embedded", nil }

// Check implements refresh.EventLog.
func (l *EventLog) Check(ctx context.Context) error {
	return l.db.Read(ctx, func(c *driver.Conn) error {
		return Exec(c, "SELECT 1 FROM eventlog_partition LIMIT 1", nil)
	})
}

// Close implements refresh.EventLog. It closes the consumers that are left.
func (l *EventLog) Close(ctx context.Context) error {
	l.mu.Lock()
	l.closed = true
	var left []*logConsumer
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
