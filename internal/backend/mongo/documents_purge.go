package mongo

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/bson"
	driver "go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// Purge implements document.Writer.
func (s *Documents) Purge(ctx context.Context, account int64, most int) (int64, error) {
	removed, err := purge(ctx, s.documents, account, most)
	if err != nil || removed >= int64(most) {
		return removed, err
	}
	more, err := purge(ctx, s.repositories, account, most-int(removed))
	return removed + more, err
}

// purge removes up to so many of an account's records: a removal has no limit of
// its own, so they are looked for first.
func purge(ctx context.Context, of *driver.Collection, account int64, most int) (int64, error) {
	cursor, err := of.Find(ctx, bson.D{{Key: fieldAccount, Value: account}},
		options.Find().SetLimit(int64(most)).SetProjection(bson.D{{Key: fieldID, Value: 1}}))
	if err != nil {
		return 0, failure(ctx, err)
	}
	var found []struct {
		ID any `bson:"_id"`
	}
	if err := cursor.All(ctx, &found); err != nil || len(found) == 0 {
		return 0, failure(ctx, err)
	}
	ids := make(bson.A, len(found))
	for i := range found {
		ids[i] = found[i].ID
	}
	result, err := of.DeleteMany(ctx, bson.D{{Key: fieldID, Value: bson.D{{Key: "$in", Value: ids}}}})
	if err != nil {
		return 0, failure(ctx, err)
	}
	return result.DeletedCount, nil
}
