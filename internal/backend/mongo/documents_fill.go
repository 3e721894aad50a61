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
		SetProjection(bson.D{{Key: fieldVersion, Value: 1}, {Key: fieldSum, Value: 1}, {Key: fieldOwn, Value: 1}}))
	if err != nil {
		return err
	}
	var stored []documentRecord
	if err := cursor.All(ctx, &stored); err != nil {
		return err
	}
	var changes []driver.WriteModel
	for i := range stored {
		if change := s.filled(&stored[i], byID[stored[i].ID]); change != nil {
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
// values, nil if there is none.
func (s *Documents) filled(r *documentRecord, d *document.Document) driver.WriteModel {
	if r.Version != micros(d.Version) {
		return nil
	}
	set := bson.D{}
	for _, e := range s.ownValues(d) {
		if !slices.ContainsFunc(r.Own, func(has bson.E) bool { return has.Key == e.Key }) {
			set = append(set, bson.E{Key: fieldOwn + "." + e.Key, Value: e.Value})
		}
	}
	if len(set) == 0 {
		return nil
	}
	same := bson.D{{Key: fieldID, Value: r.ID}, {Key: fieldVersion, Value: r.Version}}
	if len(r.Sum) > 0 {
		same = append(same, bson.E{Key: fieldSum, Value: r.Sum})
	}
	// The sum is not of this any more: whatever copy comes next is stored.
	return driver.NewUpdateOneModel().SetFilter(same).SetUpdate(bson.D{
		{Key: "$set", Value: set}, {Key: "$unset", Value: bson.D{{Key: fieldSum, Value: ""}}},
	})
}
