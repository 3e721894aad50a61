package sqlite

import (
	"context"
	"hash/fnv"
	"time"

	driver "zombiezen.com/go/sqlite"

	"sluice/internal/refresh"
)

// topic is what is known of a topic. The log's mutex guards it.
type topic struct {
	name       refresh.Topic
	partitions []*partition
	groups     map[string]*consumerGroup
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
func partitionOf(name refresh.Topic, key string) int {
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
func (l *EventLog) topic(ctx context.Context, name refresh.Topic) (*topic, error) {
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
func (l *EventLog) known(name refresh.Topic) (*topic, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, errClosed("log")
	}
	return l.topics[name], nil
}

func (l *EventLog) load(ctx context.Context, name refresh.Topic) (t *topic, err error) {
	err = l.db.Write(ctx, func(c *driver.Conn) error {
		t = &topic{name: name, groups: map[string]*consumerGroup{}}
		for number := range name.Partitions() {
			if err := Exec(c, "INSERT OR IGNORE INTO eventlog_partition (topic, number) VALUES (?, ?)", nil, string(name), number); err != nil {
				return err
			}
		}
		err := Exec(c, `SELECT p.id, p.last, coalesce((SELECT min(position) - 1 FROM eventlog_record WHERE partition_id = p.id), p.last)
			FROM eventlog_partition p WHERE p.topic = ? ORDER BY p.number`, func(r *driver.Stmt) {
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
func loadGroups(c *driver.Conn, t *topic) error {
	for i, p := range t.partitions {
		err := Exec(c, "SELECT name, done FROM eventlog_group WHERE partition_id = ?", func(r *driver.Stmt) {
			name := r.ColumnText(0)
			if t.groups[name] == nil {
				t.groups[name] = newConsumerGroup(name, t)
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
func (l *EventLog) group(ctx context.Context, t *topic, name string) (*consumerGroup, error) {
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
	err := l.db.Write(ctx, func(c *driver.Conn) error {
		g = newConsumerGroup(name, t)
		for i, p := range t.partitions {
			err := Exec(c, `INSERT INTO eventlog_group (partition_id, name, done)
				SELECT id, ?, coalesce((SELECT min(position) - 1 FROM eventlog_record WHERE partition_id = id), last)
				FROM eventlog_partition WHERE id = ? RETURNING done`,
				func(r *driver.Stmt) { g.shares[i].resetTo(r.ColumnInt64(0)) }, name, p.id)
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
