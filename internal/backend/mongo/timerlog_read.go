package mongo

import (
	"context"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"sluice/internal/timer"
)

// statsBatch is how many records one call brings to sum them up: without their
// payloads they are small, and no call may be long.
const statsBatch = 10_000

// place is one in the order of the log; what follows it is read. An empty id
// is before all of the instant.
type place struct {
	fired int64
	id    string
}

// Completions implements timer.History.
func (l *TimerLog) Completions(ctx context.Context, from time.Time, afterID string, limit int) ([]timer.Completion, error) {
	records, err := l.page(ctx, place{from.UnixMicro(), afterID}, limit)
	if err != nil {
		return nil, err
	}
	completions := make([]timer.Completion, len(records))
	for i := range records {
		if completions[i], err = records[i].Record.completion(); err != nil {
			return nil, err
		}
		if id := records[i].ID; id != records[i].Record.TimerID {
			completions[i].Record = id
		}
	}
	return completions, nil
}

// page reads up to so many records that follow a place. The rest of its instant
// and what is later are two ranges of the index; as one condition they would be
// searched from the first record on.
func (l *TimerLog) page(ctx context.Context, after place, limit int) ([]foundCompletion, error) {
	later, records := "$gte", []foundCompletion(nil)
	if after.id != "" && limit > 0 {
		later = "$gt"
		var err error
		records, err = l.find(ctx, bson.D{
			{Key: fieldFired, Value: after.fired},
			{Key: fieldID, Value: bson.D{{Key: "$gt", Value: after.id}}},
		}, limit)
		if err != nil {
			return nil, err
		}
	}
	if len(records) >= limit {
		return records, nil
	}
	rest, err := l.find(ctx, bson.D{{Key: fieldFired, Value: bson.D{{Key: later, Value: after.fired}}}}, limit-len(records))
	return append(records, rest...), err
}

// find reads the first records of a selection, in order. The limit is not zero,
// which is none to the server.
func (l *TimerLog) find(ctx context.Context, filter bson.D, limit int) ([]foundCompletion, error) {
	cursor, err := l.entries.Find(ctx, filter, options.Find().SetSort(byTime()).SetLimit(int64(limit)))
	if err != nil {
		return nil, failure(ctx, err)
	}
	var records []foundCompletion
	err = cursor.All(ctx, &records)
	return records, failure(ctx, err)
}

// ids lists the ids of some records of a selection.
func (l *TimerLog) ids(ctx context.Context, filter bson.D, limit int) ([]string, error) {
	cursor, err := l.entries.Find(ctx, filter, options.Find().SetLimit(int64(limit)).SetProjection(only(fieldID)))
	if err != nil {
		return nil, failure(ctx, err)
	}
	var found []struct {
		ID string `bson:"_id"`
	}
	if err := cursor.All(ctx, &found); err != nil {
		return nil, failure(ctx, err)
	}
	ids := make([]string, len(found))
	for i := range found {
		ids[i] = found[i].ID
	}
	return ids, nil
}

// Stats implements timer.History. It is summed up here, from the few fields
// that it needs: servers of MongoDB's protocol differ in the operators that
// their aggregations have. FerretDB 1 has neither $max nor $cond.
func (l *TimerLog) Stats(ctx context.Context, from time.Time) (timer.Stats, error) {
	cursor, err := l.entries.Find(ctx, bson.D{{Key: fieldFired, Value: bson.D{{Key: "$gte", Value: from.UnixMicro()}}}},
		options.Find().SetProjection(only(fieldServer, fieldLateness, fieldLate, fieldStatus)).SetBatchSize(statsBatch))
	if err != nil {
		return timer.Stats{}, failure(ctx, err)
	}
	// An error at the end of what was read is nobody's.
	defer func() { _ = cursor.Close(ctx) }()
	sum := newSum(from)
	for cursor.Next(ctx) {
		var r completionRecord
		if err := cursor.Decode(&r); err != nil {
			return timer.Stats{}, failure(ctx, err)
		}
		sum.add(&r)
	}
	if err := cursor.Err(); err != nil {
		return timer.Stats{}, failure(ctx, err)
	}
	return sum.stats(), nil
}

// only projects records to some of their fields.
func only(fields ...string) bson.D {
	projection := make(bson.D, len(fields))
	for i, name := range fields {
		projection[i] = bson.E{Key: name, Value: 1}
	}
	return projection
}
