package embedded

import (
	"context"
	"sync"
	"time"

	"zombiezen.com/go/sqlite"

	"sluice/internal/sqlitedb"
)

const (
	// saveGap is how long positions gather before they are written.
	saveGap = 50 * time.Millisecond
	// saveAgain is how long after a failure they are written again.
	saveAgain = time.Second
	// mostRemoved bounds how many records are removed in one transaction, so
	// that publishers do not wait behind it.
	mostRemoved = 2000
)

// saver writes positions a moment after they moved. It has no timer while
// there is nothing to write.
type saver struct {
	// writing is held while positions are written.
	writing sync.Mutex

	mu      sync.Mutex
	timer   *time.Timer
	stopped bool
}

// soon lets save be called in a moment, once for all that moves until then.
func (s *saver) soon(save func()) { s.after(saveGap, save) }

func (s *saver) after(gap time.Duration, save func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.timer != nil || s.stopped {
		return
	}
	s.timer = time.AfterFunc(gap, func() {
		s.mu.Lock()
		s.timer = nil
		s.mu.Unlock()
		save()
	})
}

func (s *saver) stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stopped = true
	if s.timer != nil {
		s.timer.Stop()
	}
}

func (l *Log) saveSoon() {
	if err := l.save(context.Background()); err != nil {
		l.log.Warn("positions of the event log cannot be saved yet", "error", err)
		l.saver.after(saveAgain, l.saveSoon)
	}
}

// position is up to where a group has dealt with a partition.
type position struct {
	group     string
	partition int64
	done      int64
	share     *share
}

// removal is records that every group has dealt with.
type removal struct {
	from      *partition
	partition int64
	upTo      int64
}

// save writes what has moved and removes what nobody needs any more.
func (l *Log) save(ctx context.Context) error {
	l.saver.writing.Lock()
	defer l.saver.writing.Unlock()
	for {
		moved, gone, more := l.unsaved()
		if len(moved) == 0 && len(gone) == 0 {
			return nil
		}
		if err := l.db.Write(ctx, func(c *sqlite.Conn) error { return write(c, moved, gone) }); err != nil {
			return err
		}
		l.saved(moved, gone)
		if !more {
			return nil
		}
	}
}

// unsaved lists what is to be written in one transaction, and says whether
// that is not all of it.
func (l *Log) unsaved() (moved []position, gone []removal, more bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	left := int64(mostRemoved)
	for _, t := range l.topics {
		for i, p := range t.partitions {
			if len(t.groups) == 0 {
				continue
			}
			least := p.last
			for name, g := range t.groups {
				s := &g.shares[i]
				if s.done > s.saved {
					moved = append(moved, position{name, p.id, s.done, s})
				}
				least = min(least, s.done)
			}
			upTo := min(least, p.removed+left)
			left -= upTo - p.removed
			more = more || upTo < least
			if upTo > p.removed {
				gone = append(gone, removal{p, p.id, upTo})
			}
		}
	}
	return moved, gone, more
}

func write(c *sqlite.Conn, moved []position, gone []removal) error {
	for _, m := range moved {
		if err := sqlitedb.Exec(c, "UPDATE eventlog_group SET done = ? WHERE partition_id = ? AND name = ?", nil, m.done, m.partition, m.group); err != nil {
			return err
		}
	}
	for _, r := range gone {
		if err := sqlitedb.Exec(c, "DELETE FROM eventlog_record WHERE partition_id = ? AND position <= ?", nil, r.partition, r.upTo); err != nil {
			return err
		}
	}
	return nil
}

func (l *Log) saved(moved []position, gone []removal) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, m := range moved {
		m.share.saved = m.done
	}
	for _, r := range gone {
		r.from.removed = max(r.from.removed, r.upTo)
	}
}

// sweep removes what is too old from a topic that no group has joined. It looks
// a few times within the time that records are kept for.
func (l *Log) sweep(ctx context.Context, t *topic) {
	keep := l.retention
	if keep == 0 {
		keep = t.name.Retention()
	}
	now := time.Now()
	l.mu.Lock()
	due := len(t.groups) == 0 && now.Sub(t.swept) > keep/24
	if due {
		t.swept = now
	}
	l.mu.Unlock()
	if !due {
		return
	}
	removed := make([]int64, len(t.partitions))
	err := l.db.Write(ctx, func(c *sqlite.Conn) error {
		for i, p := range t.partitions {
			if err := sqlitedb.Exec(c, sweepSQL, func(r *sqlite.Stmt) { removed[i] = max(removed[i], r.ColumnInt64(0)) },
				p.id, now.Add(-keep), mostRemoved/len(t.partitions)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		l.log.Warn("old records of the event log cannot be removed yet", "topic", string(t.name), "error", err)
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, p := range t.partitions {
		p.removed = max(p.removed, removed[i])
	}
}

// sweepSQL removes the first records of a partition as long as they are too
// old: what is left has no gaps. A group that has joined meanwhile keeps them
// all.
const sweepSQL = `DELETE FROM eventlog_record WHERE partition_id = ?1
	AND position < coalesce((SELECT position FROM eventlog_record WHERE partition_id = ?1 AND at >= ?2 ORDER BY position LIMIT 1), 1 << 62)
	AND position IN (SELECT position FROM eventlog_record WHERE partition_id = ?1 ORDER BY position LIMIT ?3)
	AND NOT EXISTS (SELECT 1 FROM eventlog_group WHERE partition_id = ?1) RETURNING position`
