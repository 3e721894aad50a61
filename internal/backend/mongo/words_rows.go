package mongo

import (
	"context"
	"errors"

	"go.mongodb.org/mongo-driver/v2/bson"
	driver "go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"sluice/internal/document"
	"sluice/internal/document/wordindex"
	"sluice/internal/domain"
)

// wordRows implements wordindex.Rows, without a transaction.
type wordRows struct {
	*Words
	// was is the progress that a step begins with.
	was []byte
}

// progressID is that of the one record of progress.
const progressID = 1

// Progress implements wordindex.Rows.
func (t wordRows) Progress(ctx context.Context) ([]byte, error) {
	var record struct {
		Progress string `bson:"progress"`
	}
	err := t.progress.FindOne(ctx, bson.D{{Key: fieldID, Value: progressID}}).Decode(&record)
	if errors.Is(err, driver.ErrNoDocuments) {
		return nil, nil
	}
	if err != nil {
		return nil, failure(ctx, err)
	}
	return []byte(record.Progress), nil
}

// SaveProgress changes it from what it was, or adds it if there was none.
func (t wordRows) SaveProgress(ctx context.Context, progress []byte) error {
	there, err := t.Progress(ctx)
	if err != nil {
		return err
	}
	if there == nil {
		_, err := t.progress.InsertOne(ctx, bson.D{{Key: fieldID, Value: progressID}, {Key: fieldProgress, Value: string(progress)}})
		if driver.IsDuplicateKeyError(err) {
			return errOtherFollower()
		}
		return failure(ctx, err)
	}
	result, err := t.progress.UpdateOne(ctx, bson.D{{Key: fieldID, Value: progressID}, {Key: fieldProgress, Value: string(t.was)}},
		bson.D{{Key: "$set", Value: bson.D{{Key: fieldProgress, Value: string(progress)}}}})
	if err != nil {
		return failure(ctx, err)
	}
	if result.MatchedCount == 0 {
		return errOtherFollower()
	}
	return nil
}

func errOtherFollower() error {
	return domain.Errorf(domain.CodeConflict, "the index of words has moved on: another process keeps it, too")
}

// Entries implements wordindex.Rows.
func (t wordRows) Entries(ctx context.Context, keys []document.Key) (entries []wordindex.Entry, err error) {
	ids := make([]string, len(keys))
	for i, key := range keys {
		ids[i] = identity(key)
	}
	found, err := t.find(ctx, bson.D{{Key: fieldKey, Value: bson.D{{Key: "$in", Value: ids}}}}, options.Find())
	if err != nil {
		return nil, err
	}
	for _, e := range found {
		key := document.Key{Account: e.Account, Kind: document.Kind(e.Kind), Name: e.Name}
		entries = append(entries, wordindex.Entry{ID: e.ID, Key: key, Words: e.Words})
	}
	return entries, nil
}

// Taken implements wordindex.Rows.
func (t wordRows) Taken(ctx context.Context, ids []int64) (taken []int64, err error) {
	found, err := t.find(ctx, bson.D{{Key: fieldID, Value: bson.D{{Key: "$in", Value: ids}}}},
		options.Find().SetProjection(bson.D{{Key: fieldID, Value: 1}}))
	for _, e := range found {
		taken = append(taken, e.ID)
	}
	return taken, err
}

// Change removes first: who is cut off in between leaves a document without an entry,
// which the next try adds, and never two of one.
func (t wordRows) Change(ctx context.Context, changes []wordindex.Change) error {
	var old []int64
	var added []any
	for i := range changes {
		c := &changes[i]
		if c.Old != nil {
			old = append(old, c.Old.ID)
		}
		if c.New != nil {
			e := c.New
			added = append(added, wordEntry{e.ID, identity(e.Key), e.Key.Account, string(e.Key.Kind), e.Key.Name, e.Words})
		}
	}
	if err := t.remove(ctx, old); err != nil || len(added) == 0 {
		return err
	}
	_, err := t.entries.InsertMany(ctx, added)
	return failure(ctx, err)
}
