package mongo

import (
	"bytes"
	"context"

	"go.mongodb.org/mongo-driver/v2/bson"
	driver "go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"sluice/internal/document"
	"sluice/internal/domain"
)

// upsertBytes is what one call carries at most: less than the server takes, so
// that no call is long.
const upsertBytes = 16 << 20

// Upsert implements document.Writer. A document that cannot be stored keeps
// all from being stored, but a server that fails may have stored a part of
// them: there are no transactions here, since not every server has them. Each
// document is whole, though, and an error means that the call is to be
// repeated, which stores what is missing and changes nothing else.
func (s *Documents) Upsert(ctx context.Context, docs []document.Document) error {
	items, err := s.encodeNewest(docs)
	if err != nil {
		return err
	}
	for len(items) > 0 {
		n := callSize(len(items), upsertBytes, func(i int) int { return len(items[i].encoded) })
		if err := persist(func() error { return s.store(ctx, items[:n]) }); err != nil {
			return err
		}
		items = items[n:]
	}
	return s.see(ctx, s.kinds.Sightings(docs))
}

// encodeNewest encodes documents; of several with one key the newest, and of
// several of one version the last.
func (s *Documents) encodeNewest(docs []document.Document) ([]item, error) {
	if err := s.kinds.CheckDocuments(docs); err != nil {
		return nil, err
	}
	items := make([]item, 0, len(docs))
	places := make(map[string]int, len(docs))
	for i := range docs {
		it, err := s.encode(&docs[i])
		if err != nil {
			return nil, err
		}
		place, twice := places[it.record.ID]
		if !twice {
			places[it.record.ID] = len(items)
			items = append(items, it)
			continue
		}
		if err := items[place].meet(it); err != nil {
			return nil, err
		}
	}
	return items, nil
}

// store inserts items. Those that are there already are changed unless they
// are newer; the server decides that for each as it writes it, so that any
// number of writers can meet. An upsert would save a call but is not safe: one
// that loses the race to insert fails just like one that finds a newer record.
func (s *Documents) store(ctx context.Context, items []item) error {
	inserts := make([]driver.WriteModel, len(items))
	for i, it := range items {
		inserts[i] = driver.NewInsertOneModel().SetDocument(it.encoded)
	}
	_, err := s.documents.BulkWrite(ctx, inserts, options.BulkWrite().SetOrdered(false))
	present, err := duplicates(items, err)
	if err != nil {
		return failure(ctx, err)
	}
	if len(present) == 0 {
		return nil
	}
	older, err := s.older(ctx, present)
	if err != nil {
		return err
	}
	changes := sightings(present)
	for i := range older {
		change, err := older[i].change()
		if err != nil {
			return err
		}
		changes = append(changes, driver.NewUpdateOneModel().SetFilter(bson.D{
			{Key: fieldID, Value: older[i].record.ID},
			{Key: fieldVersion, Value: bson.D{{Key: "$lte", Value: older[i].record.Version}}},
		}).SetUpdate(change))
	}
	if len(changes) == 0 {
		return nil
	}
	_, err = s.documents.BulkWrite(ctx, changes, options.BulkWrite().SetOrdered(false))
	return failure(ctx, err)
}

// sightings note when items were seen, whatever becomes of their copies. Those
// of a page were seen together.
func sightings(items []item) []driver.WriteModel {
	together := map[int64][]string{}
	for i := range items {
		if at := items[i].record.SeenAt; at != 0 {
			together[at] = append(together[at], items[i].record.ID)
		}
	}
	models := make([]driver.WriteModel, 0, len(together))
	for at, ids := range together {
		models = append(models, driver.NewUpdateManyModel().
			SetFilter(bson.D{{Key: fieldID, Value: bson.D{{Key: "$in", Value: ids}}}}).
			SetUpdate(bson.D{{Key: "$max", Value: bson.D{{Key: fieldSeenAt, Value: at}}}}))
	}
	return models
}

// optional are the fields that a record has only if they are not empty.
var optional = []string{"updated_at", "closed_at", "merged_at", "state", "title", "author", "language", "closed_by", "stars",
	"additions", "deletions", "fork", "private", "external", "truncated", "measured", fieldOwn, fieldPayload}

// change is the update that makes a record this copy, and leaves what is known
// of its being there.
func (it *item) change() (bson.D, error) {
	elements, err := it.encoded.Elements()
	if err != nil {
		return nil, domain.Errorf(domain.CodeInternal, "encode %s: %w", it.record.ID, err)
	}
	set, unset := make(bson.D, 0, len(elements)), bson.D{}
	missing := make(map[string]bool, len(optional))
	for _, field := range optional {
		missing[field] = true
	}
	for _, e := range elements {
		key := e.Key()
		delete(missing, key)
		if key != fieldID && key != fieldSeenAt {
			set = append(set, bson.E{Key: key, Value: e.Value()})
		}
	}
	for _, field := range optional {
		if missing[field] {
			unset = append(unset, bson.E{Key: field, Value: ""})
		}
	}
	change := bson.D{{Key: "$set", Value: set}}
	if len(unset) > 0 {
		change = append(change, bson.E{Key: "$unset", Value: unset})
	}
	return change, nil
}

// older returns the items of which the server has another copy that is not
// newer. What is collected again is mostly what it was, and need not be
// written.
func (s *Documents) older(ctx context.Context, items []item) ([]item, error) {
	ids := make([]string, len(items))
	for i, it := range items {
		ids[i] = it.record.ID
	}
	cursor, err := s.documents.Find(ctx, bson.D{{Key: fieldID, Value: bson.D{{Key: "$in", Value: ids}}}},
		options.Find().SetProjection(bson.D{{Key: fieldVersion, Value: 1}, {Key: fieldSum, Value: 1}}).SetBatchSize(callRecords))
	if err != nil {
		return nil, failure(ctx, err)
	}
	var stored []documentRecord
	if err := cursor.All(ctx, &stored); err != nil {
		return nil, failure(ctx, err)
	}
	byID := make(map[string]*documentRecord, len(stored))
	for i := range stored {
		byID[stored[i].ID] = &stored[i]
	}
	older := make([]item, 0, len(items))
	for _, it := range items {
		r := byID[it.record.ID]
		if r == nil || r.Version < it.record.Version || r.Version == it.record.Version && !bytes.Equal(r.Sum, it.record.Sum) {
			older = append(older, it)
		}
	}
	return older, nil
}
