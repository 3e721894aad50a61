package mongo

import (
	"context"
	"slices"

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
	inserts, err := creations(items)
	if err != nil {
		return err
	}
	_, err = s.documents.BulkWrite(ctx, inserts, options.BulkWrite().SetOrdered(false))
	present, err := duplicates(items, err)
	if err != nil {
		return failure(ctx, err)
	}
	if len(present) == 0 {
		return nil
	}
	others, again, err := s.compare(ctx, present)
	if err != nil {
		return err
	}
	missed, err := s.renew(ctx, again)
	if err != nil {
		return failure(ctx, err)
	}
	if missed {
		others = append(others, again...)
	}
	changes, mark := sightings(present), unfed{}
	for i := range others {
		if i%tellRecords == 0 {
			mark = newMark(min(tellRecords, len(others)-i))
			mark.Changed = true
		}
		change, err := others[i].change(mark)
		if err != nil {
			return err
		}
		changes = append(changes, driver.NewUpdateOneModel().SetFilter(bson.D{
			{Key: fieldID, Value: others[i].record.ID},
			{Key: fieldVersion, Value: bson.D{{Key: "$lte", Value: others[i].record.Version}}},
		}).SetUpdate(change))
	}
	if len(changes) == 0 {
		return nil
	}
	_, err = s.documents.BulkWrite(ctx, changes, options.BulkWrite().SetOrdered(false))
	return failure(ctx, err)
}

// creations insert items, with marks.
func creations(items []item) (inserts []driver.WriteModel, err error) {
	for part := range slices.Chunk(items, tellRecords) {
		mark := newMark(len(part))
		mark.Created = true
		plain, err := bson.Marshal(bson.D{{Key: fieldUnfed, Value: mark}})
		if err != nil {
			return nil, domain.Errorf(domain.CodeInternal, "encode a mark: %w", err)
		}
		for i := range part {
			inserts = append(inserts, driver.NewInsertOneModel().SetDocument(joined(part[i].encoded, plain)))
		}
	}
	return inserts, nil
}

// renew gives records the later versions of copies that show the same. It says
// whether it missed one, that somebody else changed meanwhile.
func (s *Documents) renew(ctx context.Context, items []item) (missed bool, err error) {
	if len(items) == 0 {
		return false, nil
	}
	changes := make([]driver.WriteModel, len(items))
	for i := range items {
		r := &items[i].record
		changes[i] = driver.NewUpdateOneModel().SetFilter(bson.D{
			{Key: fieldID, Value: r.ID}, {Key: fieldContent, Value: r.Content}, {Key: fieldVersion, Value: bson.D{{Key: "$lte", Value: r.Version}}},
		}).SetUpdate(bson.D{{Key: "$set", Value: bson.D{{Key: fieldVersion, Value: r.Version}}}})
	}
	result, err := s.documents.BulkWrite(ctx, changes, options.BulkWrite().SetOrdered(false))
	if err != nil {
		return false, err
	}
	return result.MatchedCount < int64(len(items)), nil
}

// sightings note when items were seen, whatever becomes of their copies. Those
// of a page were seen together. A record that may have been told to be gone is
// marked; one that becomes such in between is met twice.
func sightings(items []item) []driver.WriteModel {
	together := map[int64][]string{}
	for i := range items {
		if at := items[i].record.SeenAt; at != 0 {
			together[at] = append(together[at], items[i].record.ID)
		}
	}
	models := make([]driver.WriteModel, 0, 2*len(together))
	for at, ids := range together {
		seen := func() bson.D { return bson.D{{Key: "$max", Value: bson.D{{Key: fieldSeenAt, Value: at}}}} }
		for _, gone := range []bool{false, true} {
			update := seen()
			if gone {
				update = newMark(0).on(update)
			}
			models = append(models, driver.NewUpdateManyModel().SetUpdate(update).
				SetFilter(append(bson.D{{Key: fieldID, Value: bson.D{{Key: "$in", Value: ids}}}}, maybeGone(gone)...)))
		}
	}
	return models
}

// optional are the fields that a record has only if they are not empty.
var optional = []string{"updated_at", "closed_at", "merged_at", "state", "title", "author", "language", "closed_by", "stars",
	"additions", "deletions", "fork", "private", "external", "truncated", "measured", fieldOwn, fieldPayload, fieldSum}

// change is the update that makes a record this copy, and leaves what is known
// of its being there. The feed is to tell of it.
func (it *item) change(mark unfed) (bson.D, error) {
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
	return mark.on(change), nil
}

// compare returns the items that show something else than what the server has, unless
// that is newer, and those that show the same in a later version. What is collected
// again is mostly what it was, and need not be written.
func (s *Documents) compare(ctx context.Context, items []item) (others, again []item, err error) {
	ids := make([]string, len(items))
	for i, it := range items {
		ids[i] = it.record.ID
	}
	cursor, err := s.documents.Find(ctx, bson.D{{Key: fieldID, Value: bson.D{{Key: "$in", Value: ids}}}},
		options.Find().SetProjection(bson.D{{Key: fieldVersion, Value: 1}, {Key: fieldSum, Value: 1}, {Key: fieldContent, Value: 1}}).SetBatchSize(callRecords))
	if err != nil {
		return nil, nil, failure(ctx, err)
	}
	var stored []documentRecord
	if err := cursor.All(ctx, &stored); err != nil {
		return nil, nil, failure(ctx, err)
	}
	byID := make(map[string]*documentRecord, len(stored))
	for i := range stored {
		byID[stored[i].ID] = &stored[i]
	}
	for _, it := range items {
		r := byID[it.record.ID]
		if r == nil {
			others = append(others, it)
			continue
		}
		if r.Version > it.record.Version {
			continue
		}
		same, err := it.shows(r)
		switch {
		case err != nil:
			return nil, nil, err
		case !same:
			others = append(others, it)
		case r.Version < it.record.Version:
			again = append(again, it)
		}
	}
	return others, again, nil
}
