// Package mongo keeps the completions of timers in MongoDB, or a server of its
// protocol: one document each, its fields by name for whoever queries them.
package mongo

import (
	"context"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"sluice/internal/mongodb"
	"sluice/internal/timer"
)

const (
	logName   = "timer_completion_logs"
	checkName = "check"
)

// Options says which server to use.
type Options struct {
	// URL is mongodb://[user:password@]host:port/database, or mongodb+srv://
	// with what the server's operator says.
	URL string
}

// Log implements timer.Log. It is safe for concurrent use, and several
// processes can write to one database.
type Log struct {
	client   *mongo.Client
	database *mongo.Database
	entries  *mongo.Collection
}

var _ timer.Log = (*Log)(nil)

// Open connects and makes the index if it is missing. A server that does not
// answer is an error of code unavailable.
func Open(ctx context.Context, o Options) (*Log, error) {
	database, err := mongodb.Open(o.URL)
	if err != nil {
		return nil, err
	}
	client := database.Client()
	l := &Log{client: client, database: database}
	l.entries = l.database.Collection(logName)
	_, err = l.entries.Indexes().CreateOne(ctx, mongo.IndexModel{Keys: byTime()})
	if err != nil {
		err = mongodb.Failure(ctx, err)
		// Why it cannot be used is what counts.
		_ = client.Disconnect(context.WithoutCancel(ctx))
		return nil, err
	}
	return l, nil
}

// byTime is the order of the log.
func byTime() bson.D {
	return bson.D{{Key: fieldFired, Value: 1}, {Key: fieldID, Value: 1}}
}

// Close ends the connections.
func (l *Log) Close(ctx context.Context) error {
	return mongodb.Failure(ctx, l.client.Disconnect(ctx))
}

// Check tells whether the server can be reached and takes writes.
func (l *Log) Check(ctx context.Context) error {
	return mongodb.Persist(func() error {
		_, err := l.database.Collection(checkName).UpdateOne(ctx, bson.D{{Key: fieldID, Value: logName}},
			bson.D{{Key: "$set", Value: bson.D{{Key: "at", Value: time.Now().UnixMicro()}}}}, options.UpdateOne().SetUpsert(true))
		if mongo.IsDuplicateKeyError(err) {
			return nil // another process was first, so that writes are taken
		}
		return mongodb.Failure(ctx, err)
	})
}
