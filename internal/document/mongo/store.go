// Package mongo keeps documents in MongoDB, or a server of its protocol. Each
// is one document of one collection: its fields by name, for whoever queries
// them, and its payload compressed.
package mongo

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/writeconcern"

	"sluice/internal/document"
	"sluice/internal/domain"
)

// DefaultDatabase is the database of a URL that names none.
const DefaultDatabase = "sluice"

const (
	documentsName = "documents"
	checkName     = "check"
)

const (
	// selectTime is how long a server that does not answer is looked for.
	selectTime = 5 * time.Second
	// callTime bounds a call whose context has no deadline: a server may take
	// a call and never answer it.
	callTime = 15 * time.Second
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
	name, err := databaseName(o.URL)
	if err != nil {
		return nil, err
	}
	client, err := connect(o.URL)
	if err != nil {
		return nil, err
	}
	s := &Store{client: client, database: client.Database(name)}
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
			return failure(ctx, err)
		}
	}
	return nil
}

func connect(text string) (*mongo.Client, error) {
	option := options.Client().ApplyURI(text).SetAppName("sluice")
	if option.ServerSelectionTimeout == nil {
		option.SetServerSelectionTimeout(selectTime)
	}
	if option.ConnectTimeout == nil {
		option.SetConnectTimeout(selectTime)
	}
	if option.Timeout == nil {
		option.SetTimeout(callTime)
	}
	if option.WriteConcern == nil {
		// A job is done when its documents are stored: they must outlive the
		// server's death, and its successor must have them.
		journal := true
		option.SetWriteConcern(&writeconcern.WriteConcern{W: writeconcern.WCMajority, Journal: &journal})
	}
	client, err := mongo.Connect(option)
	var unknown *net.DNSError
	switch {
	case errors.As(err, &unknown):
		return nil, domain.Errorf(domain.CodeUnavailable, "the hosts of the MongoDB URL cannot be looked up: %w", unknown)
	case err != nil:
		// The parser's words may hold the password.
		return nil, domain.Errorf(domain.CodeInvalid, "the MongoDB URL cannot be understood; it is like mongodb://host:27017/%s", DefaultDatabase)
	}
	return client, nil
}

// databaseName is the path of a URL. It is cut out by hand: a URL that lists
// several hosts with ports is none to the standard library.
func databaseName(text string) (string, error) {
	_, rest, ok := strings.Cut(text, "://")
	if !ok {
		return "", domain.Errorf(domain.CodeInvalid, "the MongoDB URL has no scheme; it is like mongodb://host:27017/%s", DefaultDatabase)
	}
	rest, _, _ = strings.Cut(rest, "?")
	_, path, _ := strings.Cut(rest, "/")
	name, err := url.PathUnescape(path)
	switch {
	case err != nil || strings.ContainsAny(name, "/\\. \"$\x00"):
		return "", domain.Errorf(domain.CodeInvalid, "the MongoDB URL does not end with the name of a database; it is like mongodb://host:27017/%s", DefaultDatabase)
	case name == "":
		return DefaultDatabase, nil
	default:
		return name, nil
	}
}

// Close ends the connections.
func (s *Store) Close(ctx context.Context) error {
	return failure(ctx, s.client.Disconnect(ctx))
}

// Check tells whether the server can be reached and takes writes.
func (s *Store) Check(ctx context.Context) error {
	return persist(func() error {
		_, err := s.database.Collection(checkName).UpdateOne(ctx, bson.D{{Key: fieldID, Value: checkName}},
			bson.D{{Key: "$set", Value: bson.D{{Key: "at", Value: time.Now().UnixMicro()}}}}, options.UpdateOne().SetUpsert(true))
		if mongo.IsDuplicateKeyError(err) {
			return nil // another process was first, so that writes are taken
		}
		return failure(ctx, err)
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
		return "", failure(ctx, err)
	}
	if info.FerretDB != "" {
		return fmt.Sprintf("FerretDB %s (MongoDB %s)", info.FerretDB, info.Version), nil
	}
	return "MongoDB " + info.Version, nil
}

// The codes of the server for a user that is not accepted.
const (
	codeUnauthorized         = 13
	codeAuthenticationFailed = 18
)

// failure tells what an error of the driver means to callers: what is neither
// their canceled context nor a wrong password may work when it is tried again.
func failure(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	// The driver's own time limits look like a context's, too.
	if ended := ctx.Err(); ended != nil {
		return ended
	}
	var answer mongo.ServerError
	if errors.As(err, &answer) && (answer.HasErrorCode(codeUnauthorized) || answer.HasErrorCode(codeAuthenticationFailed)) {
		return domain.Errorf(domain.CodeUnauthorized, "mongodb does not accept the URL's user: %w", err)
	}
	return domain.Errorf(domain.CodeUnavailable, "mongodb: %w", err)
}
