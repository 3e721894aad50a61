package mongo

import (
	"bytes"
	"context"
	"errors"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"sluice/internal/document"
	"sluice/internal/mongodb"
)

// One call to the server carries at most so many records and bytes: less than
// the server takes, so that no call is long.
const (
	callRecords = 1000
	callBytes   = 16 << 20
)

// Upsert implements document.Writer. A document that cannot be stored keeps
// all from being stored, but a server that fails may have stored a part of
// them: there are no transactions here, since not every server has them. Each
// document is whole, though, and an error means that the call is to be
// repeated, which stores what is missing and changes nothing else.
func (s *Store) Upsert(ctx context.Context, docs []document.Document) error {
	items, err := s.encodeNewest(docs)
	if err != nil {
		return err
	}
	for len(items) > 0 {
		n := callSize(items)
		if err := mongodb.Persist(func() error { return s.store(ctx, items[:n]) }); err != nil {
			return err
		}
		items = items[n:]
	}
	return nil
}

// encodeNewest encodes documents; of several with one key the newest, and of
// several of one version the last.
func (s *Store) encodeNewest(docs []document.Document) ([]item, error) {
	items := make([]item, 0, len(docs))
	places := make(map[string]int, len(docs))
	for i := range docs {
		it, err := s.encode(&docs[i])
		if err != nil {
			return nil, err
		}
		place, twice := places[it.id]
		switch {
		case !twice:
			places[it.id] = len(items)
			items = append(items, it)
		case it.version >= items[place].version:
			items[place] = it
		}
	}
	return items, nil
}

// callSize is how many of the items one call carries.
func callSize(items []item) int {
	size := 0
	for i := range min(len(items), callRecords) {
		if size += len(items[i].encoded); size > callBytes && i > 0 {
			return i
		}
	}
	return min(len(items), callRecords)
}

// store inserts items. Those that are there already are replaced unless they
// are newer; the server decides that for each as it writes it, so that any
// number of writers can meet. An upsert would save a call but is not safe: one
// that loses the race to insert fails just like one that finds a newer record.
func (s *Store) store(ctx context.Context, items []item) error {
	inserts := make([]mongo.WriteModel, len(items))
	for i, it := range items {
		inserts[i] = mongo.NewInsertOneModel().SetDocument(it.encoded)
	}
	_, err := s.documents.BulkWrite(ctx, inserts, options.BulkWrite().SetOrdered(false))
	present, err := duplicates(items, err)
	if err != nil {
		return mongodb.Failure(ctx, err)
	}
	if len(present) == 0 {
		return nil
	}
	older, err := s.older(ctx, present)
	if err != nil || len(older) == 0 {
		return err
	}
	replacements := make([]mongo.WriteModel, len(older))
	for i, it := range older {
		replacements[i] = mongo.NewReplaceOneModel().SetFilter(bson.D{
			{Key: fieldID, Value: it.id},
			{Key: fieldVersion, Value: bson.D{{Key: "$lte", Value: it.version}}},
		}).SetReplacement(it.encoded)
	}
	_, err = s.documents.BulkWrite(ctx, replacements, options.BulkWrite().SetOrdered(false))
	return mongodb.Failure(ctx, err)
}

// codeDuplicate is the server's for a record whose id is there.
const codeDuplicate = 11000

// duplicates returns the items that an insert found to be there already, if
// that is all that went wrong.
func duplicates(items []item, err error) ([]item, error) {
	var failed mongo.BulkWriteException
	if !errors.As(err, &failed) || failed.WriteConcernError != nil {
		return nil, err
	}
	present := make([]item, 0, len(failed.WriteErrors))
	for _, e := range failed.WriteErrors {
		if e.Code != codeDuplicate || e.Index < 0 || e.Index >= len(items) {
			return nil, err
		}
		present = append(present, items[e.Index])
	}
	return present, nil
}

// older returns the items of which the server has another copy that is not
// newer. What is collected again is mostly what it was, and need not be
// written.
func (s *Store) older(ctx context.Context, items []item) ([]item, error) {
	ids := make([]string, len(items))
	for i, it := range items {
		ids[i] = it.id
	}
	cursor, err := s.documents.Find(ctx, bson.D{{Key: fieldID, Value: bson.D{{Key: "$in", Value: ids}}}},
		options.Find().SetProjection(bson.D{{Key: fieldVersion, Value: 1}, {Key: fieldSum, Value: 1}}).SetBatchSize(callRecords))
	if err != nil {
		return nil, mongodb.Failure(ctx, err)
	}
	var stored []record
	if err := cursor.All(ctx, &stored); err != nil {
		return nil, mongodb.Failure(ctx, err)
	}
	byID := make(map[string]*record, len(stored))
	for i := range stored {
		byID[stored[i].ID] = &stored[i]
	}
	older := make([]item, 0, len(items))
	for _, it := range items {
		r := byID[it.id]
		if r == nil || r.Version < it.version || r.Version == it.version && !bytes.Equal(r.Sum, it.sum) {
			older = append(older, it)
		}
	}
	return older, nil
}

// MarkDeleted implements document.Writer. Like Upsert, it is to be repeated
// when it fails.
func (s *Store) MarkDeleted(ctx context.Context, absences []document.Absence) error {
	// The sum is that of a record without the flag.
	mark := bson.D{
		{Key: "$set", Value: bson.D{{Key: fieldDeleted, Value: true}}},
		{Key: "$unset", Value: bson.D{{Key: fieldSum, Value: ""}}},
	}
	models := make([]mongo.WriteModel, len(absences))
	for i := range absences {
		models[i] = mongo.NewUpdateManyModel().SetFilter(absent(&absences[i])).SetUpdate(mark)
	}
	for len(models) > 0 {
		n := min(len(models), callRecords)
		err := mongodb.Persist(func() error {
			_, err := s.documents.BulkWrite(ctx, models[:n], options.BulkWrite().SetOrdered(false))
			return mongodb.Failure(ctx, err)
		})
		if err != nil {
			return err
		}
		models = models[n:]
	}
	return nil
}

func absent(a *document.Absence) bson.D {
	filter := bson.D{{Key: fieldAccount, Value: a.Account}, {Key: fieldRepository, Value: a.Repository}}
	if a.Kind == "" {
		return append(filter, bson.E{Key: fieldKind, Value: bson.D{{Key: "$ne", Value: string(document.KindEvent)}}})
	}
	number := bson.D{{Key: "$gt", Value: a.After}, {Key: "$lte", Value: a.UpTo}}
	if len(a.Present) > 0 {
		number = append(number, bson.E{Key: "$nin", Value: a.Present})
	}
	return append(filter,
		bson.E{Key: fieldKind, Value: string(a.Kind)},
		bson.E{Key: fieldNumber, Value: number},
		bson.E{Key: fieldCreatedAt, Value: bson.D{{Key: "$lt", Value: micros(a.CreatedBefore)}}})
}
