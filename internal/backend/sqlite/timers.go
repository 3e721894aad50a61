package sqlite

import (
	"context"
	"time"

	driver "zombiezen.com/go/sqlite"

	"sluice/internal/timer"
)

// Timers implements timer.Store. What makes it fast is that concurrent calls
// share one fsync, and that timers are stored and fired in sets.
//
// A timer that waits is a row and an entry in the index of what is next, and
// costs nothing else. One index serves all that is asked about what is over:
// it goes by the instant of the firing or, for canceled timers, of that.
type Timers struct {
	timer.Changes
	db   *DB
	puts *merger[putItem]
}

var _ timer.Store = (*Timers)(nil)

// NewTimers returns a store on an open database, which stays the caller's.
func NewTimers(db *DB) *Timers {
	s := &Timers{db: db, puts: newMerger(db, applyPuts)}
	s.Changes = timer.NewChanges(s.change)
	return s
}

const timerColumns = "id, at, set_at, status, webhook, next_at, ended_at, server, tries, error, payload"

func scanTimer(r *driver.Stmt) timer.Timer {
	t := timer.Timer{
		Spec:   timer.Spec{ID: r.ColumnText(0), At: timer.StoredInstant(r.ColumnInt64(1)), Webhook: r.ColumnText(4), Payload: timerPayload(r, 10)},
		Status: timer.Status(r.ColumnInt(3)), SetAt: timer.StoredInstant(r.ColumnInt64(2)), NextAt: fromMicros(r.ColumnInt64(5)),
		Server: r.ColumnText(7), Tries: r.ColumnInt(8), Error: r.ColumnText(9),
	}
	if t.Status.HasFired() {
		t.FiredAt = timer.StoredInstant(r.ColumnInt64(6))
	}
	return t
}

// timerPayload returns nil for a timer without one.
func timerPayload(r *driver.Stmt, column int) []byte {
	if r.ColumnLen(column) == 0 {
		return nil
	}
	return readBlob(r, column)
}

// Timer implements timer.Store.
func (s *Timers) Timer(ctx context.Context, id string) (found timer.Timer, err error) {
	err = s.db.Read(ctx, func(c *driver.Conn) (err error) {
		found, err = readTimer(c, id)
		return err
	})
	return found, err
}

// readTimer fails with code not_found if there is none.
func readTimer(c *driver.Conn, id string) (t timer.Timer, err error) {
	err = Exec(c, "SELECT "+timerColumns+" FROM timer WHERE id = ?", func(r *driver.Stmt) { t = scanTimer(r) }, id)
	if err == nil && t.ID == "" {
		err = timer.Missing(id)
	}
	return t, err
}

// change reads a timer, has it changed, and writes it back unless that fails.
func (s *Timers) change(ctx context.Context, id string, change func(*timer.Timer) error) (t timer.Timer, err error) {
	err = s.db.Write(ctx, func(c *driver.Conn) (err error) {
		if t, err = readTimer(c, id); err != nil {
			return err
		}
		was := t.Status
		if err := change(&t); err != nil {
			return err
		}
		ended, err := number(c, "SELECT ended_at FROM timer WHERE id = ?", id)
		if err != nil {
			return err
		}
		// What fired at the beginning of 1970 is not what has not ended.
		return Exec(c, `UPDATE timer SET status = ?1, at = ?2, set_at = ?3, next_at = nullif(?4, 0), tries = ?5,
			ended_at = CASE WHEN ?6 = ?7 THEN ended_at ELSE nullif(?7, 0) END WHERE id = ?8`, nil,
			int64(t.Status), t.At.UnixMicro(), t.SetAt.UnixMicro(), toMicros(t.NextAt), t.Tries, ended, t.Ended(was, ended, time.Now()), t.ID)
	})
	return t, err
}
