package relational

import (
	"context"
	"database/sql"
	"time"

	"sluice/internal/batch"
	"sluice/internal/domain"
	"sluice/internal/timer"
)

// Timers implements timer.Store. What makes it fast is that the small calls of a
// process share transactions of few, set-based statements; large ones have their
// own.
//
// Whoever changes timers locks them first, by ascending id, so that two never
// wait for each other, looks at them, and writes back what became of them.
type Timers struct {
	timer.Changes
	db    *DB
	puts  *batch.Group[putItem]
	fires *batch.Group[fireItem]
}

var _ timer.Store = (*Timers)(nil)

const (
	// maxTimerCalls bounds how many calls share a transaction.
	maxTimerCalls = 256
	// maxShared is how many timers a call may be about to share one.
	maxShared = 64
	// maxTimerIDs bounds how many ids a statement lists.
	maxTimerIDs = 500
)

// NewTimers returns a store on an open database, which stays the caller's.
func NewTimers(db *DB) *Timers {
	s := &Timers{db: db}
	s.Changes = timer.NewChanges(s.change)
	s.puts = batch.New(maxTimerCalls, func(ctx context.Context, items []*putItem) error {
		return apart(items, func(some []*putItem) error { return s.applyPuts(ctx, some) }, func(i *putItem, err error) { i.err = err })
	}).Patient(groupPatience)
	s.fires = batch.New(maxTimerCalls, func(ctx context.Context, items []*fireItem) error {
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
func (s *Timers) Timer(ctx context.Context, id string) (found timer.Timer, err error) {
	var find Statement
	find.Write("SELECT " + timerColumns + " FROM timer WHERE id = ").Blob([]byte(id))
	err = s.db.Run(ctx, &find, func(r *sql.Rows) (err error) {
		found, err = scanTimer(r)
		return err
	})
	if err == nil && found.ID == "" {
		err = timer.Missing(id)
	}
	return found, err
}

// change locks a timer, has it changed, and writes it back unless that fails.
func (s *Timers) change(ctx context.Context, id string, change func(*timer.Timer) error) (changed timer.Timer, err error) {
	err = s.db.Tx(ctx, func(tx *Tx) error {
		rows, err := lockTimers(ctx, tx, []string{id})
		if err != nil {
			return err
		}
		t := rows[id]
		if t == nil {
			return timer.Missing(id)
		}
		was := t.Status
		err = change(&t.Timer)
		changed = t.Timer
		if err != nil {
			return err
		}
		t.ended = t.Ended(was, t.ended, time.Now())
		return writeTimers(ctx, tx, []*timerRecord{t})
	})
	return changed, err
}
