package sqlite

import (
	"context"
	"fmt"
	"time"

	"zombiezen.com/go/sqlite"

	"sluice/internal/sqlitedb"
	"sluice/internal/timer"
)

const defaultLimit = 100

// Timers implements timer.Store.
func (s *Store) Timers(ctx context.Context, q timer.Query) (out []timer.Timer, err error) {
	// One bound alone: of two the wrong one might be used for the search.
	query, args := "SELECT "+timerColumns+" FROM timer WHERE id > ?", []any{q.AfterID}
	if q.AfterID < q.Prefix {
		query, args = "SELECT "+timerColumns+" FROM timer WHERE id >= ?", []any{q.Prefix}
	}
	if end := prefixEnd(q.Prefix); end != "" {
		query, args = query+" AND id < ?", append(args, end)
	}
	if len(q.Statuses) > 0 {
		numbers := make([]int64, len(q.Statuses))
		for i, status := range q.Statuses {
			numbers[i] = int64(status)
		}
		query, args = query+" AND status IN (SELECT value FROM json_each(?))", append(args, sqlitedb.IDList(numbers))
	}
	limit := q.Limit
	if limit <= 0 {
		limit = defaultLimit
	}
	err = s.db.Read(ctx, func(c *sqlite.Conn) error {
		return sqlitedb.Exec(c, query+" ORDER BY id LIMIT ?", func(r *sqlite.Stmt) { out = append(out, scanTimer(r)) }, append(args, limit)...)
	})
	return out, err
}

// prefixEnd is the first text after all that begin with a prefix; "" if there
// is none. LIKE would take % and _ for more than they are.
func prefixEnd(prefix string) string {
	end := []byte(prefix)
	for i := len(end) - 1; i >= 0; i-- {
		if end[i] < 0xff {
			end[i]++
			return string(end[:i+1])
		}
	}
	return ""
}

// Open implements timer.Store. All of it reads one snapshot, so that nothing is
// missed that moves meanwhile.
func (s *Store) Open(ctx context.Context, fn func(timer.Due) error) error {
	return s.db.Read(ctx, func(c *sqlite.Conn) error {
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

func scanDue(r *sqlite.Stmt) timer.Due {
	return timer.Due{ID: r.ColumnText(0), At: instant(r.ColumnInt64(1))}
}

// Overdue implements timer.Store.
func (s *Store) Overdue(ctx context.Context, at time.Time, limit int) (out []timer.Due, err error) {
	err = s.db.Read(ctx, func(c *sqlite.Conn) error {
		return sqlitedb.Exec(c, "SELECT id, next_at FROM timer WHERE next_at <= ? ORDER BY next_at, id LIMIT ?",
			func(r *sqlite.Stmt) { out = append(out, scanDue(r)) }, at.UnixMicro(), max(0, limit))
	})
	return out, err
}

// Prune implements timer.Store.
func (s *Store) Prune(ctx context.Context, before time.Time, limit int) (removed int, err error) {
	err = s.db.Write(ctx, func(c *sqlite.Conn) error {
		err := sqlitedb.Exec(c, `DELETE FROM timer WHERE seq IN (SELECT seq FROM timer
			WHERE ended_at < ? AND next_at IS NULL ORDER BY ended_at, id LIMIT ?)`, nil, before.UnixMicro(), max(0, limit))
		removed = c.Changes()
		return err
	})
	return removed, err
}
