// Package mysql keeps timers in MySQL or MariaDB, for several processes at
// once. What makes it fast is that the small calls of a process share
// transactions of few, set-based statements; large ones have their own.
//
// Whoever changes timers locks them first, by ascending id, so that two never
// wait for each other, looks at them, and writes back what became of them.
package mysql

import (
	"context"
	"database/sql"
	"time"

	"sluice/internal/batch"
	"sluice/internal/domain"
	"sluice/internal/mysqldb"
	"sluice/internal/timer"
)

// Store implements timer.Store.
type Store struct {
	db    *mysqldb.DB
	puts  *batch.Group[putItem]
	fires *batch.Group[fireItem]
}

var _ timer.Store = (*Store)(nil)

const (
	// maxGroup bounds how many calls share a transaction.
	maxGroup = 256
	// maxShared is how many timers a call may be about to share one.
	maxShared = 64
	// groupPatience is short beside a transaction, and long enough for callers
	// that the last one set free to come back.
	groupPatience = 300 * time.Microsecond
	// maxIDs bounds how many ids a statement lists.
	maxIDs = 500
)

// New returns a store on an open database, which stays the caller's.
func New(db *mysqldb.DB) *Store {
	s := &Store{db: db}
	s.puts = batch.New(maxGroup, func(ctx context.Context, items []*putItem) error {
		return apart(items, func(some []*putItem) error { return s.applyPuts(ctx, some) }, func(i *putItem, err error) { i.err = err })
	}).Patient(groupPatience)
	s.fires = batch.New(maxGroup, func(ctx context.Context, items []*fireItem) error {
		return apart(items, func(some []*fireItem) error { return s.applyFires(ctx, some) }, func(i *fireItem, err error) { i.err = err })
	}).Patient(groupPatience)
	return s
}

// apart applies items together and, if that is refused for what one of them
// holds, each alone, so that only the culprit fails.
func apart[T any](items []*T, apply func([]*T) error, fail func(*T, error)) error {
	err := apply(items)
	if err == nil || len(items) == 1 || domain.CodeOf(err) == domain.CodeUnavailable {
		return err
	}
	for i, item := range items {
		fail(item, apply(items[i:i+1]))
	}
	return nil
}

// Timer implements timer.Store.
func (s *Store) Timer(ctx context.Context, id string) (found timer.Timer, err error) {
	var find mysqldb.Statement
	find.Write("SELECT " + timerColumns + " FROM timer WHERE id = ").Blob([]byte(id))
	err = s.db.Run(ctx, &find, func(r *sql.Rows) (err error) {
		found, err = scanTimer(r)
		return err
	})
	if err == nil && found.ID == "" {
		err = missing(id)
	}
	return found, err
}

func missing(id string) error {
	return domain.Errorf(domain.CodeNotFound, "there is no timer %s", id)
}

// refused is the error of a change that a timer's status does not allow.
func refused(t *row, verb string) error {
	return domain.Errorf(domain.CodeConflict, "timer %s is %s and cannot be %s", t.ID, t.Status, verb)
}

// change locks a timer, has it changed, and writes it back unless that fails.
func (s *Store) change(ctx context.Context, id string, change func(*row) error) (changed timer.Timer, err error) {
	err = s.db.Tx(ctx, func(tx *sql.Tx) error {
		rows, err := lockTimers(ctx, tx, []string{id})
		if err != nil {
			return err
		}
		t := rows[id]
		if t == nil {
			return missing(id)
		}
		err = change(t)
		changed = t.Timer
		if err != nil {
			return err
		}
		return writeBack(ctx, tx, []*row{t})
	})
	return changed, err
}

// Cancel implements timer.Store.
func (s *Store) Cancel(ctx context.Context, id string) (timer.Timer, error) {
	return s.change(ctx, id, func(t *row) error {
		if t.Status.Fired() {
			return refused(t, "canceled")
		}
		if t.Status == timer.Waiting {
			t.Status, t.NextAt, t.ended = timer.Canceled, time.Time{}, time.Now().UnixMicro()
		}
		return nil
	})
}

// Reschedule implements timer.Store.
func (s *Store) Reschedule(ctx context.Context, id string, at, now time.Time) (timer.Timer, error) {
	return s.change(ctx, id, func(t *row) error {
		if t.Status.Fired() {
			return refused(t, "rescheduled")
		}
		t.Status, t.At, t.SetAt, t.NextAt, t.ended = timer.Waiting, kept(at), kept(now), pending(at), 0
		return nil
	})
}

// Redeliver implements timer.Store.
func (s *Store) Redeliver(ctx context.Context, id string, now time.Time) (timer.Timer, error) {
	return s.change(ctx, id, func(t *row) error {
		if t.Status != timer.Dead {
			return refused(t, "delivered again")
		}
		t.Status, t.NextAt, t.Tries = timer.Delivering, pending(now), 0
		return nil
	})
}
