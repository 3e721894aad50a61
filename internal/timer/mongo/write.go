package mongo

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"sluice/internal/mongodb"
	"sluice/internal/timer"
)

// One call to the server carries at most so many records and, roughly, bytes,
// so that no call is long.
const (
	callRecords = 1000
	callBytes   = 8 << 20
)

// Append implements timer.Log. A server that fails may have stored a part of
// them: there are no transactions here, since not every server has them. Each
// is whole, though, and an error means that the call is to be repeated.
func (l *Log) Append(ctx context.Context, completions []timer.Completion) error {
	last := lastOfEach(completions)
	for len(last) > 0 {
		n := callSize(last)
		if err := mongodb.Persist(func() error { return l.store(ctx, last[:n]) }); err != nil {
			return err
		}
		last = last[n:]
	}
	return nil
}

// lastOfEach keeps the last of several completions of one timer: a call that
// is not ordered would store any of them.
func lastOfEach(completions []timer.Completion) []*timer.Completion {
	last := make([]*timer.Completion, 0, len(completions))
	places := make(map[string]int, len(completions))
	for i := range completions {
		c := &completions[i]
		if place, twice := places[c.Timer]; twice {
			last[place] = c
			continue
		}
		places[c.Timer] = len(last)
		last = append(last, c)
	}
	return last
}

// callSize is how many of the completions one call carries.
func callSize(completions []*timer.Completion) int {
	size := 0
	for i := range min(len(completions), callRecords) {
		if size += len(completions[i].Payload); size > callBytes && i > 0 {
			return i
		}
	}
	return min(len(completions), callRecords)
}

// store inserts completions, and replaces those that are there already. Most
// are new, and servers take many new records much faster than many updates.
func (l *Log) store(ctx context.Context, completions []*timer.Completion) error {
	now := time.Now()
	inserts := make([]mongo.WriteModel, len(completions))
	for i, c := range completions {
		inserts[i] = mongo.NewInsertOneModel().SetDocument(newEntry(c, now))
	}
	_, err := l.entries.BulkWrite(ctx, inserts, options.BulkWrite().SetOrdered(false))
	present, err := duplicates(completions, err)
	if err == nil && len(present) > 0 {
		present, err = l.different(ctx, present)
	}
	if err != nil || len(present) == 0 {
		return mongodb.Failure(ctx, err)
	}
	updates := make([]mongo.WriteModel, len(present))
	for i, c := range present {
		// It may have been pruned in this moment.
		updates[i] = mongo.NewUpdateOneModel().SetUpsert(true).
			SetFilter(bson.D{{Key: fieldID, Value: text(c.Timer)}}).
			SetUpdate(bson.D{
				{Key: "$set", Value: newRecord(c)},
				{Key: "$setOnInsert", Value: bson.D{{Key: fieldCreatedAt, Value: now}}},
			})
	}
	_, err = l.entries.BulkWrite(ctx, updates, options.BulkWrite().SetOrdered(false))
	return mongodb.Failure(ctx, err)
}

// different leaves out what the log has as it is. A call that is repeated after
// it ran out of time must not have all of its work before it again.
func (l *Log) different(ctx context.Context, completions []*timer.Completion) ([]*timer.Completion, error) {
	ids := make([]string, len(completions))
	for i, c := range completions {
		ids[i] = text(c.Timer)
	}
	found, err := l.entries.Find(ctx, bson.D{{Key: fieldID, Value: bson.D{{Key: "$in", Value: ids}}}})
	if err != nil {
		return nil, err
	}
	var records []record
	if err := found.All(ctx, &records); err != nil {
		return nil, err
	}
	known := make(map[string]record, len(records))
	for _, r := range records {
		known[r.TimerID] = r.plain()
	}
	return slices.DeleteFunc(completions, func(c *timer.Completion) bool {
		r, ok := known[text(c.Timer)]
		return ok && reflect.DeepEqual(r, newRecord(c).plain())
	}), nil
}

// plain is the record without what is there for people alone, and cut.
func (r record) plain() record {
	r.DueAt, r.NotifiedAt = time.Time{}, time.Time{}
	return r
}

// codeDuplicate is the server's for a record whose id is there.
const codeDuplicate = 11000

// duplicates returns the completions that an insert found to be there already,
// if that is all that went wrong.
func duplicates(completions []*timer.Completion, err error) ([]*timer.Completion, error) {
	var failed mongo.BulkWriteException
	if !errors.As(err, &failed) || failed.WriteConcernError != nil {
		return nil, err
	}
	present := make([]*timer.Completion, 0, len(failed.WriteErrors))
	for _, e := range failed.WriteErrors {
		if e.Code != codeDuplicate || e.Index < 0 || e.Index >= len(completions) {
			return nil, err
		}
		present = append(present, completions[e.Index])
	}
	return present, nil
}

// Prune implements timer.Log.
func (l *Log) Prune(ctx context.Context, before time.Time, limit int) (int, error) {
	removed := 0
	old := bson.E{Key: fieldFired, Value: bson.D{{Key: "$lt", Value: before.UnixMicro()}}}
	for removed < limit {
		size := min(limit-removed, callRecords)
		ids, err := l.ids(ctx, bson.D{old}, size)
		if err != nil || len(ids) == 0 {
			return removed, err
		}
		err = mongodb.Persist(func() error {
			result, err := l.entries.DeleteMany(ctx, bson.D{{Key: fieldID, Value: bson.D{{Key: "$in", Value: ids}}}, old})
			if err == nil {
				removed += int(result.DeletedCount)
			}
			return mongodb.Failure(ctx, err)
		})
		if err != nil || len(ids) < size {
			return removed, err
		}
	}
	return removed, nil
}
