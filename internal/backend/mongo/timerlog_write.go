package mongo

import (
	"context"
	"reflect"
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	driver "go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"sluice/internal/timer"
)

// appendBytes is, roughly, what one call carries at most, so that no call is
// long.
const appendBytes = 8 << 20

// Append implements timer.Log. A server that fails may have stored a part of
// them: there are no transactions here, since not every server has them. Each
// is whole, though, and an error means that the call is to be repeated.
func (l *TimerLog) Append(ctx context.Context, completions []timer.Completion) error {
	last := lastOfEach(completions)
	for len(last) > 0 {
		n := callSize(len(last), appendBytes, func(i int) int { return len(last[i].Payload) })
		if err := persist(func() error { return l.store(ctx, last[:n]) }); err != nil {
			return err
		}
		last = last[n:]
	}
	return nil
}

// lastOfEach keeps the last of several that tell of one completion: a call that
// is not ordered would store any of them.
func lastOfEach(completions []timer.Completion) []*timer.Completion {
	last := make([]*timer.Completion, 0, len(completions))
	places := make(map[place]int, len(completions))
	for i := range completions {
		c := &completions[i]
		one := place{c.FiredAt.UnixMicro(), c.Timer}
		if place, twice := places[one]; twice {
			last[place] = c
			continue
		}
		places[one] = len(last)
		last = append(last, c)
	}
	return last
}

// store inserts completions, and replaces those that are there already. Most
// are new, and servers take many new records much faster than many updates.
func (l *TimerLog) store(ctx context.Context, completions []*timer.Completion) error {
	now := time.Now()
	inserts := make([]driver.WriteModel, len(completions))
	for i, c := range completions {
		inserts[i] = driver.NewInsertOneModel().SetDocument(newCompletionEntry(c, now))
	}
	_, err := l.entries.BulkWrite(ctx, inserts, options.BulkWrite().SetOrdered(false))
	twice, err := duplicates(completions, err)
	var present []foundCompletion
	if err == nil && len(twice) > 0 {
		present, err = l.different(ctx, twice)
	}
	if err != nil || len(present) == 0 {
		return failure(ctx, err)
	}
	updates := make([]driver.WriteModel, len(present))
	for i, c := range present {
		updates[i] = replaceCompletion(c, now)
	}
	// What is put aside is there before something takes its place.
	aside := slices.ContainsFunc(present, func(f foundCompletion) bool { return f.ID != f.Record.TimerID })
	_, err = l.entries.BulkWrite(ctx, updates, options.BulkWrite().SetOrdered(aside))
	return failure(ctx, err)
}

// replaceCompletion stores a record in the place of what is there, which may have
// been pruned in this moment.
func replaceCompletion(f foundCompletion, now time.Time) *driver.UpdateOneModel {
	return driver.NewUpdateOneModel().SetUpsert(true).
		SetFilter(bson.D{{Key: fieldID, Value: f.ID}}).
		SetUpdate(bson.D{
			{Key: "$set", Value: f.Record},
			{Key: "$setOnInsert", Value: bson.D{{Key: fieldLoggedAt, Value: now}}},
		})
}

// different returns what is to be stored of completions whose timers the log
// knows. What it has as it is is left out: a call that is repeated after it ran
// out of time must not have all of its work before it again. Of two completions
// of one id the earlier is put aside.
func (l *TimerLog) different(ctx context.Context, completions []*timer.Completion) ([]foundCompletion, error) {
	ids := make([]string, len(completions))
	for i, c := range completions {
		ids[i] = text(c.Timer)
	}
	found, err := l.entries.Find(ctx, bson.D{{Key: fieldID, Value: bson.D{{Key: "$in", Value: ids}}}})
	if err != nil {
		return nil, err
	}
	var records []completionRecord
	if err := found.All(ctx, &records); err != nil {
		return nil, err
	}
	known := make(map[string]completionRecord, len(records))
	for _, r := range records {
		known[r.TimerID] = r
	}
	slices.SortStableFunc(completions, func(a, b *timer.Completion) int { return a.FiredAt.Compare(b.FiredAt) })
	var out []foundCompletion
	for _, c := range completions {
		record := newCompletionRecord(c)
		r, ok := known[record.TimerID]
		switch {
		case ok && r.FiredMicros > record.FiredMicros:
			out = append(out, foundCompletion{retiredCompletion(&record), record})
			continue
		case ok && r.FiredMicros < record.FiredMicros:
			out = append(out, foundCompletion{retiredCompletion(&r), r})
		case ok && reflect.DeepEqual(r.plain(), record.plain()):
			continue
		}
		known[record.TimerID] = record
		out = append(out, foundCompletion{record.TimerID, record})
	}
	return out, nil
}

// plain is the record without what is there for people alone, and cut.
func (r completionRecord) plain() completionRecord {
	r.DueAt, r.NotifiedAt = time.Time{}, time.Time{}
	return r
}

// Prune implements timer.Log.
func (l *TimerLog) Prune(ctx context.Context, before time.Time, limit int) (int, error) {
	removed := 0
	old := bson.E{Key: fieldFired, Value: bson.D{{Key: "$lt", Value: before.UnixMicro()}}}
	for removed < limit {
		size := min(limit-removed, callRecords)
		ids, err := l.ids(ctx, bson.D{old}, size)
		if err != nil || len(ids) == 0 {
			return removed, err
		}
		err = persist(func() error {
			result, err := l.entries.DeleteMany(ctx, bson.D{{Key: fieldID, Value: bson.D{{Key: "$in", Value: ids}}}, old})
			if err == nil {
				removed += int(result.DeletedCount)
			}
			return failure(ctx, err)
		})
		if err != nil || len(ids) < size {
			return removed, err
		}
	}
	return removed, nil
}
