package redis

import (
	"context"
	"log/slog"
)

// NewTimerDueSet returns the due set of the timers of a database. Earlier
// versions kept timers under other names; those are removed. A set that is new
// asks to be filled from the store, so that nothing is lost by it.
func NewTimerDueSet(ctx context.Context, db *DB, o DueSetOptions) (*DueSet, error) {
	s, err := NewDueSet(ctx, db, "timers", o)
	if err != nil {
		return nil, err
	}
	before := db.Client.B().Unlink().Key(db.Key("timers:due"), db.Key("timers:epoch")).Build()
	if err := db.Client.Do(ctx, before).Error(); err != nil {
		return nil, failure(err)
	}
	return s, nil
}

// NewTimerSignals returns the signals of the timers of a database. Close ends them.
// A nil log is slog.Default.
func NewTimerSignals(db *DB, log *slog.Logger) *Signals {
	return NewSignals(db, db.Key("timers:fired"), log)
}
