package relational

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"time"

	"sluice/internal/domain"
	"sluice/internal/timer"
)

// openPage is how much Open reads at a time.
const openPage = 2000

// Timers implements timer.Store.
func (s *Timers) Timers(ctx context.Context, q timer.Query) (out []timer.Timer, err error) {
	var find Statement
	find.Write("SELECT " + timerColumns + " FROM timer /*! FORCE INDEX (PRIMARY) */ WHERE id > ").Blob([]byte(q.AfterID))
	find.Write(" AND id >= ").Blob([]byte(q.Prefix))
	if end := timer.PrefixEnd(q.Prefix); end != "" {
		// LIKE would take % and _ for more than they are.
		find.Write(" AND id < ").Blob([]byte(end))
	}
	if len(q.Statuses) > 0 {
		numbers := make([]int64, len(q.Statuses))
		for i, status := range q.Statuses {
			numbers[i] = int64(status)
		}
		find.Write(" AND status IN (").Ints(numbers...).Write(")")
	}
	find.Write(" AND stored_by <> ").Int(retired)
	find.Write(" ORDER BY id LIMIT ").Int(domain.Limit(q.Limit))
	err = s.db.Run(ctx, &find, func(r *sql.Rows) error {
		t, err := scanTimer(r)
		out = append(out, t)
		return err
	})
	return out, err
}

// errStopped ends a snapshot without the error that was the reason: that of a
// caller may look like one after which all of it would be repeated.
var errStopped = errors.New("stopped")

// Open implements timer.Store. All pages are of one snapshot, so that nothing
// is missed that moves meanwhile; no page is open while fn works, which may
// take longer than the server waits for a reader.
func (s *Timers) Open(ctx context.Context, fn func(timer.Due) error) error {
	var failed error
	err := s.db.Snapshot(ctx, func(tx *Tx) error {
		var last timer.Due
		for {
			var find Statement
			find.Write("SELECT id, next_at FROM timer /*! FORCE INDEX (timer_next) */ WHERE ")
			afterPosition(&find, "next_at", Micros(last.At), last.ID).Write(" ORDER BY next_at, id LIMIT ").Int(openPage)
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

// afterPosition adds the condition that a row comes after an instant, or after an
// id of this instant, and has one at all.
func afterPosition(s *Statement, column string, at int64, id string) *Statement {
	at = max(0, at)
	if at == 0 {
		return s.Write(column).Write(" > 0")
	}
	s.Write(column).Write(" >= ").Int(at).Write(" AND (").Write(column).Write(" > ").Int(at)
	return s.Write(" OR id > ").Blob([]byte(id)).Write(")")
}

func readDues(ctx context.Context, q Querier, find *Statement) (out []timer.Due, err error) {
	err = find.Query(ctx, q, func(r *sql.Rows) error {
		var due timer.Due
		var at int64
		err := r.Scan(&due.ID, &at)
		due.At = timer.StoredInstant(at)
		out = append(out, due)
		return err
	})
	return out, err
}

// Overdue implements timer.Store.
func (s *Timers) Overdue(ctx context.Context, at time.Time, limit int) (out []timer.Due, err error) {
	var find Statement
	find.Write("SELECT id, next_at FROM timer /*! FORCE INDEX (timer_next) */ WHERE next_at > 0 AND next_at <= ").Int(at.UnixMicro())
	find.Write(" ORDER BY next_at, id LIMIT ").Int(int64(max(0, limit)))
	err = s.db.Read(ctx, func(q Querier) (err error) {
		out, err = readDues(ctx, q, &find)
		return err
	})
	return out, err
}

// Prune implements timer.Store. What is old is looked for without locks, then
// removed by ids if it still is.
func (s *Timers) Prune(ctx context.Context, before time.Time, limit int) (removed int, err error) {
	var old Statement
	old.Write(" ended_at > 0 AND ended_at < ").Int(before.UnixMicro()).Write(" AND next_at = 0")
	err = s.db.Tx(ctx, func(tx *Tx) error {
		removed = 0
		var ids []string
		var find Statement
		find.Write("SELECT id FROM timer /*! FORCE INDEX (timer_ended) */ WHERE").Append(&old)
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
		for part := range slices.Chunk(ids, maxTimerIDs) {
			for _, table := range []string{"timer_completion", "timer_unlogged", "timer_given_up"} {
				if err := dropIDs(ctx, tx, table, part); err != nil {
					return err
				}
			}
			var remove Statement
			writeIDs(remove.Write("DELETE /*! timer */ FROM timer /*! FORCE INDEX (PRIMARY) */ WHERE id IN ("), part).Write(") AND").Append(&old)
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
