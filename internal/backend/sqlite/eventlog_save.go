package sqlite

import (
	"context"
	"sync"
	"time"

	driver "zombiezen.com/go/sqlite"
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

// positionSaver writes positions a moment after they moved. It has no timer while
// there is nothing to write.
type positionSaver struct {
	// writing is held while positions are written.
	writing sync.Mutex

	mu      sync.Mutex
	timer   *time.Timer
	stopped bool
}

// soon lets save be called in a moment, once for all that moves until then.
func (s *positionSaver) soon(save func()) { s.after(saveGap, save) }

func (s *positionSaver) after(gap time.Duration, save func()) {
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

func (s *positionSaver) stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stopped = true
	if s.timer != nil {
		s.timer.Stop()
	}
}

func (l *EventLog) saveSoon(ctx context.Context) {
	if err := l.save(ctx); err != nil {
		l.log.Warn("positions of the event log cannot be saved yet", "error", err)
		l.saver.after(saveAgain, func() { l.saveSoon(ctx) })
	}
}

// groupPosition is up to where a group has dealt with a partition.
type groupPosition struct {
	group     string
	partition int64
	done      int64
	share     *partitionShare
}

// recordRemoval is records that every group has dealt with.
type recordRemoval struct {
	from      *partition
	partition int64
	upTo      int64
}

// save writes what has moved and removes what nobody needs any more.
func (l *EventLog) save(ctx context.Context) error {
	l.saver.writing.Lock()
	defer l.saver.writing.Unlock()
	for {
		moved, gone, more := l.unsaved()
		if len(moved) == 0 && len(gone) == 0 {
			return nil
		}
		if err := l.db.Write(ctx, func(c *driver.Conn) error { return writePositions(c, moved, gone) }); err != nil {
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
func (l *EventLog) unsaved() (moved []groupPosition, gone []recordRemoval, more bool) {
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
					moved = append(moved, groupPosition{name, p.id, s.done, s})
				}
				least = min(least, s.done)
			}
			upTo := min(least, p.removed+left)
			left -= upTo - p.removed
			more = more || upTo < least
			if upTo > p.removed {
				gone = append(gone, recordRemoval{p, p.id, upTo})
			}
		}
	}
	return moved, gone, more
}

func writePositions(c *driver.Conn, moved []groupPosition, gone []recordRemoval) error {
	for _, m := range moved {
		if err := Exec(c, "UPDATE eventlog_group SET done = ? WHERE partition_id = ? AND name = ?", nil, m.done, m.partition, m.group); err != nil {
			return err
		}
	}
	for _, r := range gone {
		if err := Exec(c, "DELETE FROM eventlog_record WHERE partition_id = ? AND position <= ?", nil, r.partition, r.upTo); err != nil {
			return err
		}
	}
	return nil
}

func (l *EventLog) saved(moved []groupPosition, gone []recordRemoval) {
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
func (l *EventLog) sweep(ctx context.Context, t *topic) {
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
	err := l.db.Write(ctx, func(c *driver.Conn) error {
		for i, p := range t.partitions {
			if err := Exec(c, sweepSQL, func(r *driver.Stmt) { removed[i] = max(removed[i], r.ColumnInt64(0)) },
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
