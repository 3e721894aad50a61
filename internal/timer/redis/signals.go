package redis

import (
	"log/slog"

	"sluice/internal/redisdb"
)

// Signals tells other processes that timers have fired.
type Signals = redisdb.Signals

// NewSignals returns the signals of the timers of a database. Close ends them.
// A nil log is slog.Default.
func NewSignals(db *redisdb.DB, log *slog.Logger) *Signals {
	return redisdb.NewSignals(db, db.Key("timers:fired"), log)
}
