package mongo

import (
	"context"
	"fmt"

	"github.com/klauspost/compress/zstd"
	"go.mongodb.org/mongo-driver/v2/bson"
	driver "go.mongodb.org/mongo-driver/v2/mongo"

	"sluice/internal/document"
)

const (
	documentsName    = "documents"
	repositoriesName = "repositories"
)

// Documents implements document.Store. Each is one document of one collection:
// its fields by name, for whoever queries them, and its payload compressed. It
// is safe for concurrent use, and several processes can write to one database.
type Documents struct {
	*feed
	db           *DB
	kinds        document.Kinds
	own          []document.Column
	documents    *driver.Collection
	repositories *driver.Collection
	enc          *zstd.Encoder
	dec          *zstd.Decoder
}

var _ document.Store = (*Documents)(nil)

// NewDocuments returns the documents of a database, of the declared kinds, and
// makes the indexes that are missing. A server that does not answer is an error of code unavailable.
func NewDocuments(ctx context.Context, db *DB, kinds document.Kinds) (*Documents, error) {
	if err := kinds.Check(); err != nil {
		return nil, err
	}
	s := &Documents{feed: newFeed(db, kinds), db: db, kinds: kinds, own: kinds.Own(), documents: db.database.Collection(documentsName), repositories: db.database.Collection(repositoriesName)}
	if err := s.prepare(ctx); err != nil {
		return nil, err
	}
	return s, nil
}

// prepare makes what a store needs beside the connection.
func (s *Documents) prepare(ctx context.Context) error {
	var err error
	s.enc, err = zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderCRC(true))
	if err != nil {
		return fmt.Errorf("prepare compression: %w", err)
	}
	if s.dec, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(0)); err != nil {
		return fmt.Errorf("prepare decompression: %w", err)
	}
	if err := s.index(ctx); err != nil {
		return err
	}
	return s.feed.prepare(ctx)
}

// index makes the indexes that are missing, one at a time: FerretDB 1 fails
// when it is asked for several that it has.
func (s *Documents) index(ctx context.Context) error {
	type index struct {
		of     *driver.Collection
		fields []string
	}
	indexes := []index{
		{s.documents, []string{fieldAccount, fieldKind, fieldName}},                    // the order of scans; counts are read from it alone
		{s.documents, []string{fieldAccount, fieldRepository, fieldKind, fieldNumber}}, // what is marked as gone
		{s.documents, []string{fieldCreatedAt}},
		{s.repositories, []string{fieldAccount}},
	}
	for _, fields := range s.listIndexes() {
		indexes = append(indexes, index{s.documents, fields})
	}
	for _, index := range indexes {
		keys := bson.D{}
		for _, field := range index.fields {
			keys = append(keys, bson.E{Key: field, Value: 1})
		}
		if _, err := index.of.Indexes().CreateOne(ctx, driver.IndexModel{Keys: keys}); err != nil {
			return failure(ctx, err)
		}
	}
	return nil
}

// Check tells whether the server can be reached and takes writes.
func (s *Documents) Check(ctx context.Context) error { return s.db.check(ctx, checkName) }
