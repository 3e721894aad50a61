package sqlite

import (
	"context"
	"time"

	driver "zombiezen.com/go/sqlite"

	"sluice/internal/timer"
)

// willFire selects what a firing is about to fire, as Firing.Fires says: the ids as a JSON array, the
// status and the instant are its parameters.
const willFire = "FROM timer WHERE id IN (SELECT value FROM json_each(?1)) AND status = ?2 AND at <= ?3"

// numberCompletions gives those that are about to fire their positions, and notes them for
// the log. Nobody else writes meanwhile.
func numberCompletions(c *driver.Conn, f timer.Firing, list string) error {
	args := []any{list, int64(timer.Waiting), f.Now.UnixMicro()}
	err := Exec(c, "INSERT INTO timer_completion (seq) SELECT seq "+willFire+" ORDER BY at, id", nil, args...)
	if err != nil || !f.Log {
		return err
	}
	return Exec(c, "INSERT OR IGNORE INTO timer_unlogged SELECT id "+willFire, nil, args...)
}

// Follow implements timer.Store.
func (s *Timers) Follow(ctx context.Context, after int64, limit int) (out []timer.Completion, err error) {
	err = s.db.Read(ctx, func(c *driver.Conn) error {
		return Exec(c, "SELECT "+timerColumns+", position FROM timer_completion CROSS JOIN timer USING (seq) WHERE position > ? ORDER BY position LIMIT ?",
			func(r *driver.Stmt) {
				one := scanTimer(r).Completion()
				one.Position = r.ColumnInt64(positionColumn)
				out = append(out, one)
			}, after, max(0, limit))
	})
	return out, err
}

// positionColumn comes after those of a timer.
const positionColumn = 11

// Position implements timer.Store.
func (s *Timers) Position(ctx context.Context, from time.Time) (position int64, err error) {
	err = s.db.Read(ctx, func(c *driver.Conn) error {
		return Exec(c, `SELECT coalesce((SELECT min(position) - 1 FROM timer JOIN timer_completion USING (seq) WHERE `+firedSince+`),
			(SELECT max(position) FROM timer_completion), 0)`,
			func(r *driver.Stmt) { position = r.ColumnInt64(0) }, from, int64(timer.Canceled))
	})
	return position, err
}

// Unlogged implements timer.Store.
func (s *Timers) Unlogged(ctx context.Context, limit int) (out []timer.Timer, err error) {
	err = s.db.Read(ctx, func(c *driver.Conn) error {
		return Exec(c, "SELECT "+timerColumns+" FROM timer_unlogged CROSS JOIN timer USING (id) LIMIT ?",
			func(r *driver.Stmt) { out = append(out, scanTimer(r)) }, max(0, limit))
	})
	return out, err
}

// Logged implements timer.Store.
func (s *Timers) Logged(ctx context.Context, timers []timer.Timer) error {
	if len(timers) == 0 {
		return nil
	}
	return s.db.Write(ctx, func(c *driver.Conn) error {
		for _, t := range timers {
			err := Exec(c, "DELETE FROM timer_unlogged WHERE id = ?", nil, t.ID)
			if err != nil {
				return err
			}
			// What has changed since it was read is written once more.
			err = Exec(c, "INSERT INTO timer_unlogged SELECT id FROM timer WHERE id = ?1 AND status IN (?2, ?3, ?4) AND (status <> ?5 OR tries <> ?6 OR ended_at <> ?7)",
				nil, t.ID, int64(timer.Delivering), int64(timer.Completed), int64(timer.Dead), int64(t.Status), t.Tries, t.FiredAt.UnixMicro())
			if err != nil {
				return err
			}
		}
		return nil
	})
}
