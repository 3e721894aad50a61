package sqlite

import (
	"context"
	"fmt"
	"time"

	driver "zombiezen.com/go/sqlite"

	"sluice/internal/domain"
	"sluice/internal/timer"
)

// Timers implements timer.Store.
func (s *Timers) Timers(ctx context.Context, q timer.Query) (out []timer.Timer, err error) {
	// One bound alone: of two the wrong one might be used for the search.
	query, args := "SELECT "+timerColumns+" FROM timer WHERE id > ?", []any{q.AfterID}
	if q.AfterID < q.Prefix {
		query, args = "SELECT "+timerColumns+" FROM timer WHERE id >= ?", []any{q.Prefix}
	}
	if end := timer.PrefixEnd(q.Prefix); end != "" {
		// LIKE would take % and _ for more than they are.
		query, args = query+" AND id < ?", append(args, end)
	}
	if len(q.Statuses) > 0 {
		numbers := make([]int64, len(q.Statuses))
		for i, status := range q.Statuses {
			numbers[i] = int64(status)
		}
		query, args = query+" AND status IN (SELECT value FROM json_each(?))", append(args, idList(numbers))
	}
	// What is kept for its completion alone is a timer no longer.
	query, args = query+" AND instr(id, ?) = 0", append(args, timer.RetiredID("", ""))
	err = s.db.Read(ctx, func(c *driver.Conn) error {
		return Exec(c, query+" ORDER BY id LIMIT ?", func(r *driver.Stmt) { out = append(out, scanTimer(r)) }, append(args, domain.Limit(q.Limit))...)
	})
	return out, err
}

// Open implements timer.Store. All of it reads one snapshot, so that nothing is
// missed that moves meanwhile.
func (s *Timers) Open(ctx context.Context, fn func(timer.Due) error) error {
	return s.db.Read(ctx, func(c *driver.Conn) error {
		stmt, err := c.Prepare("SELECT id, next_at FROM timer INDEXED BY timer_next WHERE next_at IS NOT NULL")
		if err != nil {
			return fmt.Errorf("prepare: %w", err)
		}
		for {
			more, err := stmt.Step()
			if err == nil && more {
				err = fn(scanDue(stmt))
			}
			if err != nil {
				_ = stmt.Reset() // repeats the error of Step
				return err
			}
			if !more {
				return nil // the last step has reset the statement
			}
		}
	})
}

func scanDue(r *driver.Stmt) timer.Due {
	return timer.Due{ID: r.ColumnText(0), At: timer.StoredInstant(r.ColumnInt64(1))}
}

// Overdue implements timer.Store.
func (s *Timers) Overdue(ctx context.Context, at time.Time, limit int) (out []timer.Due, err error) {
	err = s.db.Read(ctx, func(c *driver.Conn) error {
		return Exec(c, "SELECT id, next_at FROM timer WHERE next_at <= ? ORDER BY next_at, id LIMIT ?",
			func(r *driver.Stmt) { out = append(out, scanDue(r)) }, at.UnixMicro(), max(0, limit))
	})
	return out, err
}

// Prune implements timer.Store.
func (s *Timers) Prune(ctx context.Context, before time.Time, limit int) (removed int, err error) {
	err = s.db.Write(ctx, func(c *driver.Conn) error {
		const old = "(SELECT seq FROM timer WHERE ended_at < ? AND next_at IS NULL ORDER BY ended_at, id LIMIT ?)"
		// What hangs on them goes first, while it can still be told.
		for _, remove := range []string{
			"DELETE FROM timer_completion WHERE seq IN " + old,
			"DELETE FROM timer_unlogged WHERE id IN (SELECT id FROM timer WHERE seq IN " + old + ")",
			"DELETE FROM timer_given_up WHERE id IN (SELECT id FROM timer WHERE seq IN " + old + ")",
			"DELETE FROM timer WHERE seq IN " + old,
		} {
			if err := Exec(c, remove, nil, before.UnixMicro(), max(0, limit)); err != nil {
				return err
			}
			removed = c.Changes()
		}
		return nil
	})
	return removed, err
}
