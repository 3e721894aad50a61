package mongo

import (
	"context"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"
	driver "go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"sluice/internal/document"
)

var _ document.Filler = (*Documents)(nil)

// Fill implements document.Filler. A record that is changed meanwhile is left to
// whoever changed it.
func (s *Documents) Fill(ctx context.Context, docs []document.Document) error {
	if err := s.kinds.CheckDocuments(docs); err != nil {
		return err
	}
	for part := range slices.Chunk(docs, callRecords) {
		if err := persist(func() error { return s.fill(ctx, part) }); err != nil {
			return failure(ctx, err)
		}
	}
	return nil
}

func (s *Documents) fill(ctx context.Context, docs []document.Document) error {
	byID := make(map[string]*document.Document, len(docs))
	ids := make(bson.A, len(docs))
	for i := range docs {
		id := identity(docs[i].Key)
		ids[i], byID[id] = id, &docs[i]
	}
	cursor, err := s.documents.Find(ctx, bson.D{{Key: fieldID, Value: bson.D{{Key: "$in", Value: ids}}}}, options.Find().SetBatchSize(callRecords).
		SetProjection(bson.D{{Key: fieldVersion, Value: 1}, {Key: fieldSum, Value: 1}, {Key: fieldContent, Value: 1}, {Key: fieldOwn, Value: 1}}))
	if err != nil {
		return err
	}
	var stored []documentRecord
	if err := cursor.All(ctx, &stored); err != nil {
		return err
	}
	var changes []driver.WriteModel
	for i := range stored {
		change, err := s.filled(&stored[i], byID[stored[i].ID])
		if err != nil {
			return err
		}
		if change != nil {
			changes = append(changes, change)
		}
	}
	if len(changes) == 0 {
		return nil
	}
	_, err = s.documents.BulkWrite(ctx, changes, options.BulkWrite().SetOrdered(false))
	return err
}

// filled is the update that adds to a record what it lacks of a document's own
// values, nil if there is none. The feed is to tell of it.
func (s *Documents) filled(r *documentRecord, d *document.Document) (driver.WriteModel, error) {
	if r.Version != micros(d.Version) {
		return nil, nil
	}
	var added bson.D
	set := bson.D{}
	for _, e := range s.ownValues(d) {
		if !slices.ContainsFunc(r.Own, func(has bson.E) bool { return has.Key == e.Key }) {
			added = append(added, e)
			set = append(set, bson.E{Key: fieldOwn + "." + e.Key, Value: e.Value})
		}
	}
	if len(set) == 0 {
		return nil, nil
	}
	same := bson.D{{Key: fieldID, Value: r.ID}, {Key: fieldVersion, Value: r.Version}}
	update := bson.D{{Key: "$set", Value: set}}
	switch {
	case r.Content != 0:
		content, err := withOwn(r.Content, added)
		if err != nil {
			return nil, err
		}
		same = append(same, bson.E{Key: fieldContent, Value: r.Content})
		update[0].Value = append(set, bson.E{Key: fieldContent, Value: content})
	case len(r.Sum) > 0:
		// The sum is not of this any more: whatever copy comes next is stored.
		same = append(same, bson.E{Key: fieldSum, Value: r.Sum})
		update = append(update, bson.E{Key: "$unset", Value: bson.D{{Key: fieldSum, Value: ""}}})
	}
	mark := newMark(1)
	mark.Changed = true
	return driver.NewUpdateOneModel().SetFilter(same).SetUpdate(mark.on(update)), nil
}
