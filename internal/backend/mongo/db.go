package mongo

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	driver "go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/writeconcern"

	"sluice/internal/domain"
)

// defaultDatabase is the database of a URL that names none.
const defaultDatabase = "sluice"

const (
	// selectTime is how long a server that does not answer is looked for.
	selectTime = 5 * time.Second
	// callTime bounds a call whose context has no deadline: a server may take
	// a call and never answer it.
	callTime = 15 * time.Second
)

// checkName is the collection that checks write to.
const checkName = "check"

// fieldID is the id of every record.
const fieldID = "_id"

// DB is a connection to one database, for as many adapters as there are.
type DB struct{ database *driver.Database }

// Open connects to the database that a URL names:
// mongodb://[user:password@]host:port/database, or mongodb+srv:// with what the
// server's operator says. It does not wait for the server to answer. The caller
// closes it.
func Open(text string) (*DB, error) {
	name, err := databaseName(text)
	if err != nil {
		return nil, err
	}
	client, err := connect(text)
	if err != nil {
		return nil, err
	}
	return &DB{client.Database(name)}, nil
}

// Close ends the connections.
func (d *DB) Close(ctx context.Context) error {
	return failure(ctx, d.database.Client().Disconnect(ctx))
}

// check tells whether the server can be reached and takes writes, by one to the
// record of this id.
func (d *DB) check(ctx context.Context, id string) error {
	return persist(func() error {
		_, err := d.database.Collection(checkName).UpdateOne(ctx, bson.D{{Key: fieldID, Value: id}},
			bson.D{{Key: "$set", Value: bson.D{{Key: "at", Value: time.Now().UnixMicro()}}}}, options.UpdateOne().SetUpsert(true))
		if driver.IsDuplicateKeyError(err) {
			return nil // another process was first, so that writes are taken
		}
		return failure(ctx, err)
	})
}

// Version names the server and its version.
func (d *DB) Version(ctx context.Context) (string, error) {
	var info struct {
		Version  string `bson:"version"`
		FerretDB string `bson:"ferretdbVersion"`
	}
	err := d.database.RunCommand(ctx, bson.D{{Key: "buildInfo", Value: 1}}).Decode(&info)
	if err != nil {
		return "", failure(ctx, err)
	}
	if info.FerretDB != "" {
		return fmt.Sprintf("FerretDB %s (MongoDB %s)", info.FerretDB, info.Version), nil
	}
	return "MongoDB " + info.Version, nil
}

func connect(text string) (*driver.Client, error) {
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
		// What was written counts as done: it must outlive the server's death,
		// and its successor must have it.
		journal := true
		option.SetWriteConcern(&writeconcern.WriteConcern{W: writeconcern.WCMajority, Journal: &journal})
	}
	client, err := driver.Connect(option)
	var unknown *net.DNSError
	switch {
	case errors.As(err, &unknown):
		return nil, domain.Errorf(domain.CodeUnavailable, "the hosts of the MongoDB URL cannot be looked up: %w", unknown)
	case err != nil:
		// The parser's words may hold the password.
		return nil, domain.Errorf(domain.CodeInvalid, "the MongoDB URL cannot be parsed; write it like mongodb://host:27017/%s", defaultDatabase)
	}
	return client, nil
}

// databaseName is the path of a URL. It is cut out by hand: a URL that lists
// several hosts with ports is none to the standard library.
func databaseName(text string) (string, error) {
	_, rest, ok := strings.Cut(text, "://")
	if !ok {
		return "", domain.Errorf(domain.CodeInvalid, "the MongoDB URL has no scheme; write it like mongodb://host:27017/%s", defaultDatabase)
	}
	rest, _, _ = strings.Cut(rest, "?")
	_, path, _ := strings.Cut(rest, "/")
	name, err := url.PathUnescape(path)
	switch {
	case err != nil || strings.ContainsAny(name, "/\\. \"$\x00"):
		return "", domain.Errorf(domain.CodeInvalid, "the MongoDB URL does not end with the name of a database; write it like mongodb://host:27017/%s", defaultDatabase)
	case name == "":
		return defaultDatabase, nil
	default:
		return name, nil
	}
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
	var answer driver.ServerError
	if errors.As(err, &answer) && (answer.HasErrorCode(codeUnauthorized) || answer.HasErrorCode(codeAuthenticationFailed)) {
		return domain.Errorf(domain.CodeUnauthorized, "mongodb does not accept the URL's user: %w", err)
	}
	return domain.Errorf(domain.CodeUnavailable, "mongodb: %w", err)
}
