package mongo

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	driver "go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readpref"

	"sluice/internal/document"
	"sluice/internal/domain"
)

const (
	feedName    = "feed"
	changesName = "changes"
	purgesName  = "purges"

	fieldLast    = "last"
	fieldEntries = "entries"
	fieldNewest  = "newest"
	fieldTrimmed = "trimmed"
)

// feedID is that of the one record of the feed.
const feedID = 1

// longCall bounds calls that go through a whole collection.
const longCall = 10 * time.Minute

// feed implements document.Feed without transactions. Every write that may change what
// a document shows sets a mark in the same update, on the document's record or on that
// of its repository for all that lies in it. Whoever reads the feed first tells of what
// is marked: it compares with what was told, writes rows of changes, gives them
// positions, and removes the marks that are still those it has read. One process does
// so at a time, by a lease in the record of the feed, through which alone positions are
// given: who has lost the lease gives none.
//
// So nothing is ever left out. Several changes of a document that nobody has read in
// between are one, and a process that dies after it gave positions, and before it
// removed marks, leaves changes that are told again.
type feed struct {
	kinds document.Kinds
	// docs and homes are the records of documents and of repositories.
	docs, homes *driver.Collection
	// purges are accounts whose documents are removed, record the one of the feed.
	purges, record, changes *driver.Collection
	now                     func() time.Time
	// turn lets one caller at a time tell of what is marked; whoever comes while one
	// does shares the next turn.
	turn              chan struct{}
	started, finished atomic.Int64
}

var _ document.Feed = (*Documents)(nil)

// feedState is the record of the feed.
type feedState struct {
	ID   int    `bson:"_id"`
	Feed string `bson:"feed"`
	// All changes up to Newest have their positions, and those up to Trimmed are gone.
	Newest  int64 `bson:"newest"`
	Trimmed int64 `bson:"trimmed"`
	// Holder has the lease, "" if nobody has, until an instant in microseconds.
	Holder string `bson:"holder"`
	Until  int64  `bson:"until"`
	// Placing are rows that are being given their positions.
	Placing *placing `bson:"placing,omitempty"`
}

type placing struct {
	Newest int64    `bson:"newest"`
	Rows   []placed `bson:"rows"`
}

type placed struct {
	ID   bson.ObjectID `bson:"id"`
	Last int64         `bson:"last"`
}

func (s *feedState) bounds() document.Bounds {
	return document.Bounds{Feed: s.Feed, Oldest: s.Trimmed + 1, Newest: s.Newest}
}

// logRow are changes of one account, with the positions up to Last.
type logRow struct {
	ID      bson.ObjectID `bson:"_id"`
	Account int64         `bson:"account"`
	Last    int64         `bson:"last,omitempty"`
	Count   int64         `bson:"count"`
	At      int64         `bson:"at"`
	Entries []logEntry    `bson:"entries"`
}

type logEntry struct {
	Kind    string `bson:"kind,omitempty"`
	Name    string `bson:"name,omitempty"`
	What    string `bson:"what"`
	Version int64  `bson:"version,omitempty"`
}

func newFeed(db *DB, kinds document.Kinds) *feed {
	// A secondary may not have yet what was written.
	in := func(name string) *driver.Collection {
		return db.database.Collection(name, options.Collection().SetReadPreference(readpref.Primary()))
	}
	return &feed{
		kinds: kinds, docs: in(documentsName), homes: in(repositoriesName), purges: in(purgesName), record: in(feedName), changes: in(changesName),
		now: time.Now, turn: make(chan struct{}, 1),
	}
}

// SetClock sets the clock that changes are logged by, before the store is used.
func (f *feed) SetClock(now func() time.Time) { f.now = now }

// prepare makes what is missing of the feed. What was gone before there was one is
// marked, so that the feed knows it when it comes back.
func (f *feed) prepare(ctx context.Context) error {
	for _, of := range []*driver.Collection{f.docs, f.homes} {
		// Only records that are marked are in this index.
		index := driver.IndexModel{Keys: bson.D{{Key: fieldToken, Value: 1}}, Options: options.Index().SetSparse(true)}
		if _, err := of.Indexes().CreateOne(ctx, index); err != nil {
			return failure(ctx, err)
		}
	}
	for _, field := range []string{fieldLast, fieldAccount} {
		if _, err := f.changes.Indexes().CreateOne(ctx, driver.IndexModel{Keys: bson.D{{Key: field, Value: 1}}}); err != nil {
			return failure(ctx, err)
		}
	}
	_, err := f.state(ctx)
	if domain.CodeOf(err) != domain.CodeNotFound {
		return err
	}
	long, end := context.WithTimeout(ctx, longCall)
	defer end()
	for _, of := range []*driver.Collection{f.docs, f.homes} {
		gone := bson.D{{Key: "$or", Value: bson.A{bson.D{{Key: fieldGoneWhy, Value: bson.D{{Key: "$gt", Value: ""}}}}, bson.D{{Key: fieldDeleted, Value: true}}}}}
		if _, err := of.UpdateMany(long, gone, newMark(0).on(nil)); err != nil {
			return failure(ctx, err)
		}
	}
	_, err = f.record.InsertOne(ctx, feedState{ID: feedID, Feed: newToken()})
	if driver.IsDuplicateKeyError(err) {
		return nil // another process was first
	}
	return failure(ctx, err)
}

func (f *feed) state(ctx context.Context) (s feedState, err error) {
	err = f.record.FindOne(ctx, bson.D{{Key: fieldID, Value: feedID}}).Decode(&s)
	if errors.Is(err, driver.ErrNoDocuments) {
		return s, domain.Errorf(domain.CodeNotFound, "the record of the feed is missing in MongoDB (collection %s); start the service anew, which makes another feed", feedName)
	}
	return s, failure(ctx, err)
}

// feedRows is how many rows are read at a time.
const feedRows = 32

// Changes implements document.Feed.
func (f *feed) Changes(ctx context.Context, after int64, limit int) (changes []document.Change, err error) {
	if err := f.sequence(ctx); err != nil {
		return nil, err
	}
	state, err := f.state(ctx)
	if err != nil {
		return nil, err
	}
	if err := state.bounds().Check(after); err != nil {
		return nil, err
	}
	for last := after; len(changes) < limit && last < state.Newest; {
		rows, err := f.rows(ctx, last, state.Newest, min(feedRows, limit-len(changes)), nil)
		if err != nil {
			return nil, err
		}
		if len(rows) == 0 {
			break
		}
		for i := range rows {
			changes = rows[i].appendTo(changes, after, limit)
		}
		last = rows[len(rows)-1].Last
	}
	// What was trimmed meanwhile may be missing.
	if state, err = f.state(ctx); err != nil {
		return nil, err
	}
	return changes, state.bounds().Check(after)
}

// rows reads rows that end after a position and no later than another one.
func (f *feed) rows(ctx context.Context, after, newest int64, limit int, projection any) (rows []logRow, err error) {
	o := options.Find().SetSort(bson.D{{Key: fieldLast, Value: 1}}).SetLimit(int64(limit))
	if projection != nil {
		o.SetProjection(projection)
	}
	cursor, err := f.changes.Find(ctx, bson.D{{Key: fieldLast, Value: bson.D{{Key: "$gt", Value: after}, {Key: "$lte", Value: newest}}}}, o)
	if err != nil {
		return nil, failure(ctx, err)
	}
	return rows, failure(ctx, cursor.All(ctx, &rows))
}

func (r *logRow) appendTo(changes []document.Change, after int64, limit int) []document.Change {
	for i := range r.Entries {
		e, position := &r.Entries[i], r.Last-int64(len(r.Entries))+int64(i)+1
		if position <= after || len(changes) == limit {
			continue
		}
		changes = append(changes, document.Change{
			Position: position, Key: document.Key{Account: r.Account, Kind: document.Kind(e.Kind), Name: e.Name},
			What: document.What(e.What), Version: instant(e.Version), At: instant(r.At),
		})
	}
	return changes
}

// Bounds implements document.Feed.
func (f *feed) Bounds(ctx context.Context) (document.Bounds, error) {
	if err := f.sequence(ctx); err != nil {
		return document.Bounds{}, err
	}
	state, err := f.state(ctx)
	return state.bounds(), err
}

// trimRows is how many rows are removed at a time.
const trimRows = 1000

// TrimChanges implements document.Feed: whole rows, and the one in which so many
// are reached as a whole. That they are trimmed is known before they are.
func (f *feed) TrimChanges(ctx context.Context, before time.Time, most int) (removed int64, err error) {
	if err := f.sequence(ctx); err != nil {
		return 0, err
	}
	state, err := f.state(ctx)
	if err != nil {
		return 0, err
	}
	rows, err := f.rows(ctx, state.Trimmed, state.Newest, min(most, trimRows), bson.D{{Key: fieldEntries, Value: 0}})
	if err != nil {
		return 0, err
	}
	last := int64(0)
	for i := range rows {
		if removed >= int64(most) || rows[i].At >= micros(before) {
			break
		}
		removed, last = removed+rows[i].Count, rows[i].Last
	}
	if last == 0 {
		return 0, nil
	}
	_, err = f.record.UpdateOne(ctx, bson.D{{Key: fieldID, Value: feedID}}, bson.D{{Key: "$max", Value: bson.D{{Key: fieldTrimmed, Value: last}}}})
	if err != nil {
		return 0, failure(ctx, err)
	}
	_, err = f.changes.DeleteMany(ctx, bson.D{{Key: fieldLast, Value: bson.D{{Key: "$lte", Value: last}}}})
	return removed, failure(ctx, err)
}
