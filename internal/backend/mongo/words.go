package mongo

import (
	"context"
	"encoding/json"
	"errors"

	"go.mongodb.org/mongo-driver/v2/bson"
	driver "go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"sluice/internal/document"
	"sluice/internal/document/wordindex"
	"sluice/internal/domain"
)

const (
	wordEntriesName  = "word_entries"
	wordProgressName = "word_progress"
	fieldWords       = "words"
	fieldProgress    = "progress"
	fieldKey         = "key"
)

// Words implements wordindex.Index by an array of words in each entry, which has an
// index. MongoDB's own text index is not used: it cuts and folds words in its own way,
// knows no prefixes and has no order, there is one for each collection at most, and
// FerretDB has none.
//
// There are no transactions here. Entries are written before the progress is, so that a
// step that is cut off is taken again; it has the same result.
type Words struct {
	entries, progress *driver.Collection
}

var _ wordindex.Index = (*Words)(nil)

// wordEntry is an entry as it is stored: its id is what orders entries.
type wordEntry struct {
	ID      int64    `bson:"_id"`
	Key     string   `bson:"key"`
	Account int64    `bson:"account"`
	Kind    string   `bson:"kind"`
	Name    string   `bson:"name"`
	Words   []string `bson:"words"`
}

// NewWords returns the index of a database, and makes what is missing of it.
func NewWords(ctx context.Context, db *DB) (*Words, error) {
	s := &Words{db.database.Collection(wordEntriesName), db.database.Collection(wordProgressName)}
	for _, keys := range []bson.D{
		{{Key: fieldWords, Value: 1}, {Key: fieldID, Value: -1}},
		{{Key: fieldAccount, Value: 1}},
	} {
		if _, err := s.entries.Indexes().CreateOne(ctx, driver.IndexModel{Keys: keys}); err != nil {
			return nil, failure(ctx, err)
		}
	}
	return s, s.indexKeys(ctx)
}

// indexKeys keeps two processes that take the same step from adding a document twice.
// Before anything was indexed there was an index that did not.
func (s *Words) indexKeys(ctx context.Context) error {
	index := driver.IndexModel{Keys: bson.D{{Key: fieldKey, Value: 1}}, Options: options.Index().SetUnique(true)}
	_, err := s.entries.Indexes().CreateOne(ctx, index)
	var refused driver.ServerError
	if !errors.As(err, &refused) {
		return failure(ctx, err)
	}
	if err := s.entries.Indexes().DropOne(ctx, fieldKey+"_1"); err != nil {
		return failure(ctx, err)
	}
	_, err = s.entries.Indexes().CreateOne(ctx, index)
	return failure(ctx, err)
}

// Progress implements wordindex.Index.
func (s *Words) Progress(ctx context.Context) (wordindex.Progress, error) {
	data, err := wordRows{s, nil}.Progress(ctx)
	if err != nil {
		return wordindex.Progress{}, err
	}
	return wordindex.ReadProgress(data)
}

// Apply implements wordindex.Index.
func (s *Words) Apply(ctx context.Context, b wordindex.Batch) error {
	was, err := json.Marshal(b.Was)
	if err != nil {
		return domain.Errorf(domain.CodeInternal, "encode the progress of the index of words: %w", err)
	}
	return wordindex.Apply(ctx, wordRows{s, was}, b)
}

// Drop implements wordindex.Index.
func (s *Words) Drop(ctx context.Context, account int64, most int) (more bool, err error) {
	filter := bson.D{}
	if account != 0 {
		filter = bson.D{{Key: fieldAccount, Value: account}}
	}
	found, err := s.find(ctx, filter, options.Find().SetLimit(int64(most)).SetProjection(bson.D{{Key: fieldID, Value: 1}}))
	if err != nil || len(found) == 0 {
		return false, err
	}
	ids := make([]int64, len(found))
	for i := range found {
		ids[i] = found[i].ID
	}
	return len(found) == most, s.remove(ctx, ids)
}

func (s *Words) remove(ctx context.Context, ids []int64) error {
	if len(ids) == 0 {
		return nil
	}
	return failure(ctx, persist(func() error {
		_, err := s.entries.DeleteMany(ctx, bson.D{{Key: fieldID, Value: bson.D{{Key: "$in", Value: ids}}}})
		return err
	}))
}

func (s *Words) find(ctx context.Context, filter bson.D, o *options.FindOptionsBuilder) (found []wordEntry, err error) {
	cursor, err := s.entries.Find(ctx, filter, o)
	if err != nil {
		return nil, failure(ctx, err)
	}
	return found, failure(ctx, cursor.All(ctx, &found))
}

// Search implements wordindex.Index.
func (s *Words) Search(ctx context.Context, l wordindex.Lookup) (hits []wordindex.Hit, err error) {
	found, err := s.find(ctx, wordFilter(&l), options.Find().SetLimit(int64(l.Limit)).SetSort(bson.D{{Key: fieldID, Value: -1}}).
		SetProjection(bson.D{{Key: fieldWords, Value: 0}}))
	if err != nil {
		return nil, err
	}
	for _, e := range found {
		hits = append(hits, wordindex.Hit{ID: e.ID, Key: document.Key{Account: e.Account, Kind: document.Kind(e.Kind), Name: e.Name}})
	}
	return hits, nil
}

func wordFilter(l *wordindex.Lookup) bson.D {
	all := bson.A{}
	add := func(operator string, value any) {
		all = append(all, bson.D{{Key: fieldWords, Value: bson.D{{Key: operator, Value: value}}}})
	}
	if len(l.Has) > 0 {
		add("$all", l.Has)
	}
	for _, prefix := range l.Begins {
		// Letters and digits mean themselves in an expression, and one that begins so
		// is looked up in the index.
		add("$regex", "^"+prefix)
	}
	if len(l.AnyOf) > 0 {
		add("$in", l.AnyOf)
	}
	if len(l.Lacks) > 0 {
		add("$nin", l.Lacks)
	}
	if l.Before != 0 {
		all = append(all, bson.D{{Key: fieldID, Value: bson.D{{Key: "$lt", Value: l.Before}}}})
	}
	return bson.D{{Key: "$and", Value: all}}
}
