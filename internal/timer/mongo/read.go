package mongo

import (
	"context"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"sluice/internal/timer"
)

// statsPage is how many records are read at once to sum them up: without their
// payloads they are small, and no call may be long.
const statsPage = 20_000

// place is one in the order of the log; what follows it is read. An empty id
// is before all of the instant.
type place struct {
	fired int64
	id    string
}

// Completions implements timer.History.
func (l *Log) Completions(ctx context.Context, from time.Time, afterID string, limit int) ([]timer.Completion, error) {
	records, err := l.page(ctx, place{from.UnixMicro(), afterID}, limit, nil)
	if err != nil {
		return nil, err
	}
	completions := make([]timer.Completion, len(records))
	for i := range records {
		if completions[i], err = records[i].completion(); err != nil {
			return nil, err
		}
	}
	return completions, nil
}

// page reads up to so many records that follow a place. The rest of its instant
// and what is later are two ranges of the index; as one condition they would be
// searched from the first record on.
func (l *Log) page(ctx context.Context, after place, limit int, fields bson.D) ([]record, error) {
	later, records := "$gte", []record(nil)
	if after.id != "" && limit > 0 {
		later = "$gt"
		var err error
		records, err = l.find(ctx, bson.D{
			{Key: fieldFired, Value: after.fired},
			{Key: fieldID, Value: bson.D{{Key: "$gt", Value: after.id}}},
		}, limit, fields)
		if err != nil {
			return nil, err
		}
	}
	if len(records) >= limit {
		return records, nil
	}
	rest, err := l.find(ctx, bson.D{{Key: fieldFired, Value: bson.D{{Key: later, Value: after.fired}}}}, limit-len(records), fields)
	return append(records, rest...), err
}

// find reads the first records of a selection, in order. The limit is not zero,
// which is none to the server.
func (l *Log) find(ctx context.Context, filter bson.D, limit int, fields bson.D) ([]record, error) {
	option := options.Find().SetSort(byTime()).SetLimit(int64(limit))
	if fields != nil {
		option.SetProjection(fields)
	}
	cursor, err := l.entries.Find(ctx, filter, option)
	if err != nil {
		return nil, failure(ctx, err)
	}
	var records []record
	err = cursor.All(ctx, &records)
	return records, failure(ctx, err)
}

// ids lists the ids of the first records of a selection.
func (l *Log) ids(ctx context.Context, filter bson.D, limit int) ([]string, error) {
	records, err := l.find(ctx, filter, limit, bson.D{{Key: fieldTimer, Value: 1}})
	ids := make([]string, len(records))
	for i := range records {
		ids[i] = records[i].TimerID
	}
	return ids, err
}

// Stats implements timer.History. It is summed up here, from the few fields
// that it needs: servers of MongoDB's protocol differ in the operators that
// their aggregations have ($max and $cond among those that are missing).
func (l *Log) Stats(ctx context.Context, from time.Time) (timer.Stats, error) {
	fields := bson.D{}
	for _, name := range []string{fieldTimer, fieldFired, fieldServer, fieldLateness, fieldLate, fieldStatus} {
		fields = append(fields, bson.E{Key: name, Value: 1})
	}
	sum := newSum(from)
	next := place{fired: from.UnixMicro()}
	for {
		records, err := l.page(ctx, next, statsPage, fields)
		if err != nil {
			return timer.Stats{}, err
		}
		for i := range records {
			sum.add(&records[i])
		}
		if len(records) < statsPage {
			return sum.stats(), nil
		}
		last := &records[len(records)-1]
		next = place{last.FiredMicros, last.TimerID}
	}
}
