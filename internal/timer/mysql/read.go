package mysql

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"time"

	"sluice/internal/mysqldb"
	"sluice/internal/timer"
)

const (
	defaultLimit = 100
	// openPage is how much Open reads at a time.
	openPage = 2000
)

// Timers implements timer.Store.
func (s *Store) Timers(ctx context.Context, q timer.Query) (out []timer.Timer, err error) {
	var find mysqldb.Statement
	find.Write("SELECT " + timerColumns + " FROM timer FORCE INDEX (PRIMARY) WHERE id > ").Blob([]byte(q.AfterID))
	find.Write(" AND id >= ").Blob([]byte(q.Prefix))
	if end := prefixEnd(q.Prefix); len(end) > 0 {
		find.Write(" AND id < ").Blob(end)
	}
	if len(q.Statuses) > 0 {
		numbers := make([]int64, len(q.Statuses))
		for i, status := range q.Statuses {
			numbers[i] = int64(status)
		}
		find.Write(" AND status IN (").Ints(numbers...).Write(")")
	}
	limit := q.Limit
	if limit <= 0 {
		limit = defaultLimit
	}
	find.Write(" ORDER BY id LIMIT ").Int(int64(limit))
	err = s.db.Run(ctx, &find, func(r *sql.Rows) error {
		t, err := scanTimer(r)
		out = append(out, t)
		return err
	})
	return out, err
}

// prefixEnd is the first text after all that begin with a prefix; none if
// there is no such. LIKE would take % and _ for more than they are.
func prefixEnd(prefix string) []byte {
	end := []byte(prefix)
	for i := len(end) - 1; i >= 0; i-- {
		if end[i] < 0xff {
			end[i]++
			return end[:i+1]
		}
	}
	return nil
}

// errStopped ends a snapshot without the error that was the reason: that of a
// caller may look like one after which all of it would be repeated.
var errStopped = errors.New("stopped")

// Open implements timer.Store. All pages are of one snapshot, so that nothing
// is missed that moves meanwhile; no page is open while fn works, which may
// take longer than the server waits for a reader.
func (s *Store) Open(ctx context.Context, fn func(timer.Due) error) error {
	var failed error
	err := s.db.Snapshot(ctx, func(tx *sql.Tx) error {
		var last timer.Due
		for {
			var find mysqldb.Statement
			find.Write("SELECT id, next_at FROM timer FORCE INDEX (timer_next) WHERE ")
			position(&find, "next_at", mysqldb.Micros(last.At), last.ID).Write(" ORDER BY next_at, id LIMIT ").Int(openPage)
			page, err := readDues(ctx, tx, &find)
			if err != nil {
				return err
			}
			for _, due := range page {
				if failed = fn(due); failed != nil {
					return errStopped
				}
			}
			if len(page) < openPage {
				return nil
			}
			last = page[len(page)-1]
		}
	})
	if failed != nil {
		return failed
	}
	return err
}

// position adds the condition that a row comes after an instant, or after an
// id of this instant, and has one at all.
func position(s *mysqldb.Statement, column string, at int64, id string) *mysqldb.Statement {
	at = max(0, at)
	s.Write("(").Write(column).Write(" > ").Int(at)
	if at > 0 {
		s.Write(" OR ").Write(column).Write(" = ").Int(at).Write(" AND id > ").Blob([]byte(id))
	}
	return s.Write(")")
}

func readDues(ctx context.Context, q mysqldb.Querier, find *mysqldb.Statement) (out []timer.Due, err error) {
	err = find.Query(ctx, q, func(r *sql.Rows) error {
		var due timer.Due
		var at int64
		err := r.Scan(&due.ID, &at)
		due.At = instant(at)
		out = append(out, due)
		return err
	})
	return out, err
}

// Overdue implements timer.Store.
func (s *Store) Overdue(ctx context.Context, at time.Time, limit int) (out []timer.Due, err error) {
	var find mysqldb.Statement
	find.Write("SELECT id, next_at FROM timer FORCE INDEX (timer_next) WHERE next_at > 0 AND next_at <= ").Int(at.UnixMicro())
	find.Write(" ORDER BY next_at, id LIMIT ").Int(int64(max(0, limit)))
	err = s.db.Read(ctx, func(q mysqldb.Querier) (err error) {
		out, err = readDues(ctx, q, &find)
		return err
	})
	return out, err
}

// Prune implements timer.Store. What is old is looked for without locks, then
// removed by ids if it still is.
func (s *Store) Prune(ctx context.Context, before time.Time, limit int) (removed int, err error) {
	var old mysqldb.Statement
	old.Write(" ended_at > 0 AND ended_at < ").Int(before.UnixMicro()).Write(" AND next_at = 0")
	err = s.db.Tx(ctx, func(tx *sql.Tx) error {
		removed = 0
		var ids []string
		var find mysqldb.Statement
		find.Write("SELECT id FROM timer FORCE INDEX (timer_ended) WHERE").Append(&old)
		find.Write(" ORDER BY ended_at, id LIMIT ").Int(int64(max(0, limit)))
		err := find.Query(ctx, tx, func(r *sql.Rows) error {
			var id string
			err := r.Scan(&id)
			ids = append(ids, id)
			return err
		})
		if err != nil {
			return err
		}
		slices.Sort(ids)
		for part := range slices.Chunk(ids, maxIDs) {
			var remove mysqldb.Statement
			writeIDs(remove.Write("DELETE timer FROM timer FORCE INDEX (PRIMARY) WHERE id IN ("), part).Write(") AND").Append(&old)
			result, err := remove.Exec(ctx, tx)
			if err != nil {
				return err
			}
			n, err := result.RowsAffected()
			if err != nil {
				return err
			}
			removed += int(n)
		}
		return nil
	})
	return removed, err
}
