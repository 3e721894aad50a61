package mongo

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/bson"
	driver "go.mongodb.org/mongo-driver/v2/mongo"

	"sluice/internal/timer"
)

const logName = "timer_completion_logs"

// TimerLog implements timer.Log: the completions of timers, one document each,
// its fields by name for whoever queries them. It is safe for concurrent use,
// and several processes can write to one database.
type TimerLog struct {
	db      *DB
	entries *driver.Collection
}

var _ timer.Log = (*TimerLog)(nil)

// NewTimerLog returns the log of a database and makes its index if it is
// missing. A server that does not answer is an error of code unavailable.
func NewTimerLog(ctx context.Context, db *DB) (*TimerLog, error) {
	l := &TimerLog{db: db, entries: db.database.Collection(logName)}
	if _, err := l.entries.Indexes().CreateOne(ctx, driver.IndexModel{Keys: byTime()}); err != nil {
		return nil, failure(ctx, err)
	}
	return l, nil
}

// byTime is the order of the log.
func byTime() bson.D {
	return bson.D{{Key: fieldFired, Value: 1}, {Key: fieldID, Value: 1}}
}

// Check tells whether the server can be reached and takes writes.
func (l *TimerLog) Check(ctx context.Context) error { return l.db.check(ctx, logName) }
