// Package sqlite keeps timers in the embedded database. One process owns the
// file and one goroutine writes it, so that a transaction never meets another;
// what makes it fast is that concurrent calls share one fsync, and that timers
// are stored and fired in sets.
//
// A timer that waits is a row and an entry in the index of what is next, and
// costs nothing else. One index serves all that is asked about what is over:
// it goes by the instant of the firing or, for canceled timers, of that.
package sqlite

import (
	"context"
	"time"

	"zombiezen.com/go/sqlite"

	"sluice/internal/domain"
	"sluice/internal/sqlitedb"
	"sluice/internal/timer"
)

// Store implements timer.Store.
type Store struct {
	db   *sqlitedb.DB
	puts *sqlitedb.Merger[putItem]
}

var _ timer.Store = (*Store)(nil)

// New returns a store on an open database, which stays the caller's.
func New(db *sqlitedb.DB) *Store {
	return &Store{db: db, puts: sqlitedb.NewMerger(db, applyPuts)}
}

const timerColumns = "id, at, set_at, status, webhook, next_at, ended_at, server, tries, error, payload"

func scanTimer(r *sqlite.Stmt) timer.Timer {
	t := timer.Timer{
		Spec:   timer.Spec{ID: r.ColumnText(0), At: instant(r.ColumnInt64(1)), Webhook: r.ColumnText(4), Payload: payload(r, 10)},
		Status: timer.Status(r.ColumnInt(3)), SetAt: instant(r.ColumnInt64(2)), NextAt: sqlitedb.Time(r.ColumnInt64(5)),
		Server: r.ColumnText(7), Tries: r.ColumnInt(8), Error: r.ColumnText(9),
	}
	if t.Status.Fired() {
		t.FiredAt = instant(r.ColumnInt64(6))
	}
	return t
}

// payload returns nil for a timer without one.
func payload(r *sqlite.Stmt, column int) []byte {
	if r.ColumnLen(column) == 0 {
		return nil
	}
	return sqlitedb.Blob(r, column)
}

// instant reads an instant that is never missing: 0 is the beginning of 1970.
func instant(micros int64) time.Time { return time.UnixMicro(micros).UTC() }

// pending is the instant of something to be done as it is stored. That of the
// beginning of 1970 would be read as none at all.
func pending(at time.Time) int64 { return max(1, at.UnixMicro()) }

// Timer implements timer.Store.
func (s *Store) Timer(ctx context.Context, id string) (found timer.Timer, err error) {
	err = s.db.Read(ctx, func(c *sqlite.Conn) (err error) {
		found, err = readTimer(c, id)
		return err
	})
	return found, err
}

// readTimer fails with code not_found if there is none.
func readTimer(c *sqlite.Conn, id string) (t timer.Timer, err error) {
	err = sqlitedb.Exec(c, "SELECT "+timerColumns+" FROM timer WHERE id = ?", func(r *sqlite.Stmt) { t = scanTimer(r) }, id)
	if err == nil && t.ID == "" {
		err = domain.Errorf(domain.CodeNotFound, "there is no timer %s", id)
	}
	return t, err
}

// change makes an assignment to a timer if its status is one of two, and
// returns the timer as it is then, and whether it was changed.
func (s *Store) change(ctx context.Context, id string, from [2]timer.Status, set string, args ...any) (t timer.Timer, changed bool, err error) {
	args = append(args, id, int64(from[0]), int64(from[1]))
	err = s.db.Write(ctx, func(c *sqlite.Conn) (err error) {
		if err = sqlitedb.Exec(c, "UPDATE timer SET "+set+" WHERE id = ? AND status IN (?, ?)", nil, args...); err != nil {
			return err
		}
		changed = c.Changes() > 0
		t, err = readTimer(c, id)
		return err
	})
	return t, changed, err
}

// refused is the error of a change that a timer's status does not allow.
func refused(t timer.Timer, verb string) error {
	return domain.Errorf(domain.CodeConflict, "timer %s is %s and cannot be %s", t.ID, t.Status, verb)
}

// Cancel implements timer.Store.
func (s *Store) Cancel(ctx context.Context, id string) (timer.Timer, error) {
	t, _, err := s.change(ctx, id, [2]timer.Status{timer.Waiting, timer.Waiting}, "status = ?, next_at = NULL, ended_at = ?",
		int64(timer.Canceled), time.Now())
	if err == nil && t.Status != timer.Canceled {
		err = refused(t, "canceled")
	}
	return t, err
}

// Reschedule implements timer.Store.
func (s *Store) Reschedule(ctx context.Context, id string, at, now time.Time) (timer.Timer, error) {
	t, changed, err := s.change(ctx, id, [2]timer.Status{timer.Waiting, timer.Canceled},
		"status = ?, at = ?, set_at = ?, next_at = ?, ended_at = NULL",
		int64(timer.Waiting), at.UnixMicro(), now.UnixMicro(), pending(at))
	if err == nil && !changed {
		err = refused(t, "rescheduled")
	}
	return t, err
}

// Redeliver implements timer.Store.
func (s *Store) Redeliver(ctx context.Context, id string, now time.Time) (timer.Timer, error) {
	t, changed, err := s.change(ctx, id, [2]timer.Status{timer.Dead, timer.Dead}, "status = ?, next_at = ?, tries = 0",
		int64(timer.Delivering), pending(now))
	if err == nil && !changed {
		err = refused(t, "delivered again")
	}
	return t, err
}
