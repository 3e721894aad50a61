package mongo

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/bson"
	driver "go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// Purge implements document.Writer. That an account is purged is noted before anything
// of it is removed, and told when nothing is left.
func (s *Documents) Purge(ctx context.Context, account int64, most int) (int64, error) {
	removed, err := s.purge(ctx, s.documents, account, most)
	if err != nil || removed >= int64(most) {
		return removed, err
	}
	more, err := s.purge(ctx, s.repositories, account, most-int(removed))
	if removed += more; err != nil || removed >= int64(most) {
		return removed, err
	}
	_, err = s.purges.UpdateOne(ctx, bson.D{{Key: fieldID, Value: account}}, bson.D{{Key: "$set", Value: bson.D{{Key: fieldReady, Value: true}}}})
	return removed, failure(ctx, err)
}

// fieldReady says that nothing of an account is left.
const fieldReady = "ready"

func isReady() bson.D { return bson.D{{Key: fieldReady, Value: true}} }

// purged is an account that is purged.
type purged struct {
	Account int64  `bson:"_id"`
	Token   string `bson:"token"`
}

// notePurge notes that an account is being purged, again if it was before.
func (f *feed) notePurge(ctx context.Context, account int64) error {
	_, err := f.purges.UpdateOne(ctx, bson.D{{Key: fieldID, Value: account}},
		bson.D{{Key: "$set", Value: bson.D{{Key: "token", Value: newToken()}, {Key: fieldReady, Value: false}}}}, options.UpdateOne().SetUpsert(true))
	return err
}

// forget removes what the log says of accounts that were purged, before their last
// rows, and that they are being purged.
func (f *feed) forget(ctx context.Context, accounts []purged, rows []logRow) error {
	for _, one := range accounts {
		for i := range rows {
			if rows[i].Account != one.Account {
				continue
			}
			before := rows[i].Last - rows[i].Count
			_, err := f.changes.DeleteMany(ctx, bson.D{{Key: fieldAccount, Value: one.Account}, {Key: fieldLast, Value: bson.D{{Key: "$lte", Value: before}}}})
			if err != nil {
				return failure(ctx, err)
			}
			break
		}
		if _, err := f.purges.DeleteOne(ctx, bson.D{{Key: fieldID, Value: one.Account}, {Key: "token", Value: one.Token}}); err != nil {
			return failure(ctx, err)
		}
	}
	return nil
}

// purge removes up to so many of an account's records: a removal has no limit of
// its own, so they are looked for first.
func (s *Documents) purge(ctx context.Context, of *driver.Collection, account int64, most int) (int64, error) {
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
	if err := s.notePurge(ctx, account); err != nil {
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
