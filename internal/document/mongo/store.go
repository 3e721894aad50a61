// Package mongo keeps documents in MongoDB, or a server of its protocol. Each
// is one document of one collection: its fields by name, for whoever queries
// them, and its payload compressed.
package mongo

import (
	"context"
	"fmt"
	"time"

	"github.com/klauspost/compress/zstd"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"sluice/internal/document"
	"sluice/internal/mongodb"
)

const (
	documentsName = "documents"
	checkName     = "check"
)

// Options says which server to use.
type Options struct {
	// URL is mongodb://[user:password@]host:port/database, or mongodb+srv://
	// with what the server's operator says.
	URL string
}

// Store implements document.Store. It is safe for concurrent use, and several
// processes can write to one database.
type Store struct {
	client    *mongo.Client
	database  *mongo.Database
	documents *mongo.Collection
	enc       *zstd.Encoder
	dec       *zstd.Decoder
}

var _ document.Store = (*Store)(nil)

// Open connects and makes the indexes that are missing. A server that does not
// answer is an error of code unavailable.
func Open(ctx context.Context, o Options) (*Store, error) {
	database, err := mongodb.Open(o.URL)
	if err != nil {
		return nil, err
	}
	client := database.Client()
	s := &Store{client: client, database: database}
	s.documents = s.database.Collection(documentsName)
	if err := s.prepare(ctx); err != nil {
		// Why it cannot be used is what counts.
		_ = client.Disconnect(context.WithoutCancel(ctx))
		return nil, err
	}
	return s, nil
}

// prepare makes what a store needs beside the connection.
func (s *Store) prepare(ctx context.Context) error {
	var err error
	s.enc, err = zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderCRC(true))
	if err != nil {
		return fmt.Errorf("prepare compression: %w", err)
	}
	if s.dec, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(0)); err != nil {
		return fmt.Errorf("prepare decompression: %w", err)
	}
	return s.index(ctx)
}

// index makes the indexes that are missing, one at a time: FerretDB 1 fails
// when it is asked for several that it has.
func (s *Store) index(ctx context.Context) error {
	for _, fields := range [][]string{
		{fieldAccount, fieldKind, fieldName},                    // the order of scans; counts are read from it alone
		{fieldAccount, fieldRepository, fieldKind, fieldNumber}, // what is marked as deleted
		{fieldCreatedAt},
	} {
		keys := bson.D{}
		for _, field := range fields {
			keys = append(keys, bson.E{Key: field, Value: 1})
		}
		if _, err := s.documents.Indexes().CreateOne(ctx, mongo.IndexModel{Keys: keys}); err != nil {
			return mongodb.Failure(ctx, err)
		}
	}
	return nil
}

// Close ends the connections.
func (s *Store) Close(ctx context.Context) error {
	return mongodb.Failure(ctx, s.client.Disconnect(ctx))
}

// Check tells whether the server can be reached and takes writes.
func (s *Store) Check(ctx context.Context) error {
	return mongodb.Persist(func() error {
		_, err := s.database.Collection(checkName).UpdateOne(ctx, bson.D{{Key: fieldID, Value: checkName}},
			bson.D{{Key: "$set", Value: bson.D{{Key: "at", Value: time.Now().UnixMicro()}}}}, options.UpdateOne().SetUpsert(true))
		if mongo.IsDuplicateKeyError(err) {
			return nil // another process was first, so that writes are taken
		}
		return mongodb.Failure(ctx, err)
	})
}

// Version names the server and its version.
func (s *Store) Version(ctx context.Context) (string, error) {
	var info struct {
		Version  string `bson:"version"`
		FerretDB string `bson:"ferretdbVersion"`
	}
	err := s.database.RunCommand(ctx, bson.D{{Key: "buildInfo", Value: 1}}).Decode(&info)
	if err != nil {
		return "", mongodb.Failure(ctx, err)
	}
	if info.FerretDB != "" {
		return fmt.Sprintf("FerretDB %s (MongoDB %s)", info.FerretDB, info.Version), nil
	}
	return "MongoDB " + info.Version, nil
}
