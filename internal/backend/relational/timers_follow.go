package relational

import (
	"context"
	"database/sql"
	"slices"
	"time"

	"sluice/internal/domain"
	"sluice/internal/timer"
)

const (
	// positionSequence is the row that the last position is kept in. Its lock lets one
	// at a time give positions.
	positionSequence = "timer position"
	// maxNumbered bounds how many get their positions in one transaction.
	maxNumbered = 1000
)

// Tables that have a timer once.
var (
	noteCompleted = &Insert{Head: "INSERT INTO timer_completion (timer)", Upsert: Upsert{Key: "timer"}}
	noteUnlogged  = &Insert{Head: "INSERT INTO timer_unlogged (timer)", Upsert: Upsert{Key: "timer"}}
)

// noteIDs puts ids into a table that has them once.
func noteIDs(ctx context.Context, tx *Tx, note *Insert, ids []string) error {
	slices.Sort(ids)
	ids = slices.Compact(ids)
	rows := make([]Row, len(ids))
	for i, id := range ids {
		rows[i].Key = id
		rows[i].Write("(").Blob([]byte(id)).Write(")")
	}
	_, err := note.Run(ctx, tx, rows)
	return err
}

// dropIDs takes ids out of a table.
func dropIDs(ctx context.Context, tx *Tx, table string, ids []string) error {
	for part := range slices.Chunk(ids, maxTimerIDs) {
		var drop Statement
		writeIDs(drop.Write("DELETE FROM "+table+" WHERE timer IN ("), part).Write(")")
		if _, err := drop.Exec(ctx, tx); err != nil {
			return err
		}
	}
	return nil
}

// number gives positions to all that have fired and have none. Whoever commits
// later gets a later one, so that who follows them misses nobody.
func (s *Timers) number(ctx context.Context) error {
	for {
		waits := false
		err := s.db.Query(ctx, func(*sql.Rows) error { waits = true; return nil }, "SELECT timer FROM timer_completion WHERE position = 0 LIMIT 1")
		if err != nil || !waits {
			return err
		}
		if err := s.db.Tx(ctx, func(tx *Tx) error { return numberSome(ctx, tx) }); err != nil {
			return err
		}
	}
}

var givePositions = &Insert{
	Head:   "INSERT INTO timer_completion (timer, position)",
	Upsert: Upsert{Key: "timer", Set: Overwrite("position")},
}

// lockPositions keeps others from giving positions, and returns the last.
func lockPositions(ctx context.Context, tx *Tx) (last int64, err error) {
	last = -1
	err = Query(ctx, tx, func(r *sql.Rows) error { return r.Scan(&last) }, "SELECT last_id FROM id_sequence WHERE name = ? FOR UPDATE", positionSequence)
	if err == nil && last < 0 {
		err = domain.Errorf(domain.CodeCorrupt, "the table id_sequence has lost its row %q", positionSequence)
	}
	return last, err
}

func numberSome(ctx context.Context, tx *Tx) error {
	last, err := lockPositions(ctx, tx)
	if err != nil {
		return err
	}
	var ids []string
	var find Statement
	find.Write("SELECT timer FROM timer_completion JOIN timer ON id = timer WHERE position = 0 ORDER BY ended_at, id LIMIT ").Int(maxNumbered)
	err = find.Query(ctx, tx, func(r *sql.Rows) error {
		var id string
		err := r.Scan(&id)
		ids = append(ids, id)
		return err
	})
	if err != nil {
		return err
	}
	if len(ids) == 0 {
		// What is left was removed with its timer.
		_, err = tx.ExecContext(ctx, "DELETE FROM timer_completion WHERE position = 0 AND NOT EXISTS (SELECT 1 FROM timer WHERE id = timer_completion.timer)")
		return err
	}
	rows := make([]Row, len(ids))
	for i, id := range ids {
		last++
		rows[i].Key = id
		rows[i].Write("(").Blob([]byte(id)).Write(",").Int(last).Write(")")
	}
	if _, err := givePositions.Run(ctx, tx, rows); err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, "UPDATE id_sequence SET last_id = ? WHERE name = ?", last, positionSequence)
	return err
}

// Follow implements timer.Store.
func (s *Timers) Follow(ctx context.Context, after int64, limit int) (out []timer.Completion, err error) {
	if err := s.number(ctx); err != nil {
		return nil, err
	}
	var find Statement
	find.Write("SELECT " + timerColumns + ", position FROM timer_completion /*! FORCE INDEX (timer_completion_position) */ JOIN timer ON id = timer WHERE position > ")
	find.Int(max(0, after)).Write(" ORDER BY position LIMIT ").Int(int64(max(0, limit)))
	err = s.db.Run(ctx, &find, func(r *sql.Rows) error {
		position := int64(0)
		t, err := scanTimerRecord(r, &position)
		if err != nil {
			return err
		}
		one := t.Completion()
		one.Position = position
		out = append(out, one)
		return nil
	})
	return out, err
}

// Position implements timer.Store.
func (s *Timers) Position(ctx context.Context, from time.Time) (position int64, err error) {
	if err := s.number(ctx); err != nil {
		return 0, err
	}
	var find Statement
	find.Write("SELECT COALESCE((SELECT MIN(position) - 1 FROM timer JOIN timer_completion ON timer = id WHERE position > 0 AND ended_at > 0 AND ended_at >= ")
	find.Time(from).Write(" AND status <> ").Int(int64(timer.Canceled))
	find.Write("), (SELECT MAX(position) FROM timer_completion), 0)")
	err = s.db.Run(ctx, &find, func(r *sql.Rows) error { return r.Scan(&position) })
	return position, err
}

// Unlogged implements timer.Store.
func (s *Timers) Unlogged(ctx context.Context, limit int) (out []timer.Timer, err error) {
	var find Statement
	find.Write("SELECT " + timerColumns + " FROM timer_unlogged JOIN timer ON id = timer LIMIT ").Int(int64(max(0, limit)))
	err = s.db.Run(ctx, &find, func(r *sql.Rows) error {
		t, err := scanTimer(r)
		out = append(out, t)
		return err
	})
	return out, err
}

// Logged implements timer.Store.
func (s *Timers) Logged(ctx context.Context, timers []timer.Timer) error {
	if len(timers) == 0 {
		return nil
	}
	ids := make([]string, len(timers))
	for i, t := range timers {
		ids[i] = t.ID
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	return s.db.Tx(ctx, func(tx *Tx) error {
		rows, err := lockTimers(ctx, tx, ids)
		if err != nil {
			return err
		}
		if err := dropIDs(ctx, tx, "timer_unlogged", ids); err != nil {
			return err
		}
		// What has changed since it was read is written once more.
		var changed []string
		for i := range timers {
			if now := rows[timers[i].ID]; now != nil && now.Moved(&timers[i]) {
				changed = append(changed, now.ID)
			}
		}
		return noteIDs(ctx, tx, noteUnlogged, changed)
	})
}
