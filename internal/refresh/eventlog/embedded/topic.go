package embedded

import (
	"context"
	"hash/fnv"
	"time"

	"zombiezen.com/go/sqlite"

	"sluice/internal/refresh/eventlog"
	"sluice/internal/sqlitedb"
)

// topic is what is known of a topic. The log's mutex guards it.
type topic struct {
	name       eventlog.Topic
	partitions []*partition
	groups     map[string]*group
	// news is closed when there may be something to take; nil if nobody waits.
	news chan struct{}
	// swept is when records that are too old were looked for last.
	swept time.Time
}

// partition is where a partition begins and ends. The records between have
// offsets without gaps.
type partition struct {
	id int64
	// last is the offset of the latest record that is on disk, removed that of
	// the latest that is no more.
	last, removed int64
}

// partitionOf says where a key belongs.
func partitionOf(name eventlog.Topic, key string) int {
	h := fnv.New32a()
	_, _ = h.Write([]byte(key)) // it never fails
	return int(h.Sum32() % uint32(name.Partitions()))
}

// wait returns what is closed when there is news. The caller holds the lock.
func (t *topic) wait() <-chan struct{} {
	if t.news == nil {
		t.news = make(chan struct{})
	}
	return t.news
}

// tell wakes everyone who waits. The caller holds the lock.
func (t *topic) tell() {
	if t.news != nil {
		close(t.news)
		t.news = nil
	}
}

// topic returns a topic, which is read from disk when it is first needed.
func (l *Log) topic(ctx context.Context, name eventlog.Topic) (*topic, error) {
	if t, err := l.known(name); t != nil || err != nil {
		return t, err
	}
	l.loading.Lock()
	defer l.loading.Unlock()
	if t, err := l.known(name); t != nil || err != nil {
		return t, err
	}
	t, err := l.load(ctx, name)
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.topics[name] = t
	return t, nil
}

// known returns a topic that was read before, or nil.
func (l *Log) known(name eventlog.Topic) (*topic, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, errClosed("log")
	}
	return l.topics[name], nil
}

func (l *Log) load(ctx context.Context, name eventlog.Topic) (t *topic, err error) {
	err = l.db.Write(ctx, func(c *sqlite.Conn) error {
		t = &topic{name: name, groups: map[string]*group{}}
		for number := range name.Partitions() {
			if err := sqlitedb.Exec(c, "INSERT OR IGNORE INTO eventlog_partition (topic, number) VALUES (?, ?)", nil, string(name), number); err != nil {
				return err
			}
		}
		err := sqlitedb.Exec(c, `SELECT p.id, p.last, coalesce((SELECT min(position) - 1 FROM eventlog_record WHERE partition_id = p.id), p.last)
			FROM eventlog_partition p WHERE p.topic = ? ORDER BY p.number`, func(r *sqlite.Stmt) {
			t.partitions = append(t.partitions, &partition{id: r.ColumnInt64(0), last: r.ColumnInt64(1), removed: r.ColumnInt64(2)})
		}, string(name))
		if err != nil {
			return err
		}
		return loadGroups(c, t)
	})
	return t, err
}

// loadGroups reads how far the groups of a topic are.
func loadGroups(c *sqlite.Conn, t *topic) error {
	for i, p := range t.partitions {
		err := sqlitedb.Exec(c, "SELECT name, done FROM eventlog_group WHERE partition_id = ?", func(r *sqlite.Stmt) {
			name := r.ColumnText(0)
			if t.groups[name] == nil {
				t.groups[name] = newGroup(name, t)
			}
			t.groups[name].shares[i].resetTo(r.ColumnInt64(1))
		}, p.id)
		if err != nil {
			return err
		}
	}
	return nil
}

// group returns a group of a topic. A new one begins with the first record
// there is; from then on nothing is removed that it has not dealt with.
func (l *Log) group(ctx context.Context, t *topic, name string) (*group, error) {
	l.loading.Lock()
	defer l.loading.Unlock()
	l.mu.Lock()
	g := t.groups[name]
	l.mu.Unlock()
	if g != nil {
		return g, nil
	}
	// What is removed beside this is removed by the same goroutine that writes
	// this, and the query sees what it left.
	err := l.db.Write(ctx, func(c *sqlite.Conn) error {
		g = newGroup(name, t)
		for i, p := range t.partitions {
			err := sqlitedb.Exec(c, `INSERT INTO eventlog_group (partition_id, name, done)
				SELECT id, ?, coalesce((SELECT min(position) - 1 FROM eventlog_record WHERE partition_id = id), last)
				FROM eventlog_partition WHERE id = ? RETURNING done`,
				func(r *sqlite.Stmt) { g.shares[i].resetTo(r.ColumnInt64(0)) }, name, p.id)
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	t.groups[name] = g
	return g, nil
}
