// Package mongodb is what the adapters on MongoDB share: the connection, writes
// that survive a dead one, and what a failure means. What the collections mean
// is the business of the adapters built on it.
package mongodb

import (
	"context"
	"errors"
	"net"
	"net/url"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/writeconcern"

	"sluice/internal/domain"
)

// DefaultDatabase is the database of a URL that names none.
const DefaultDatabase = "sluice"

const (
	// selectTime is how long a server that does not answer is looked for.
	selectTime = 5 * time.Second
	// callTime bounds a call whose context has no deadline: a server may take
	// a call and never answer it.
	callTime = 15 * time.Second
)

// Open connects to the database that a URL names:
// mongodb://[user:password@]host:port/database, or mongodb+srv:// with what the
// server's operator says. It does not wait for the server to answer. The caller
// disconnects the database's client.
func Open(text string) (*mongo.Database, error) {
	name, err := databaseName(text)
	if err != nil {
		return nil, err
	}
	client, err := connect(text)
	if err != nil {
		return nil, err
	}
	return client.Database(name), nil
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
		// What was written counts as done: it must outlive the server's death,
		// and its successor must have it.
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

// Persist repeats a write whose connection turned out to be dead: the server may
// have been started anew since it was last used. The driver does so by itself,
// but only for some servers.
func Persist(write func() error) error {
	err := write()
	if mongo.IsNetworkError(err) && !mongo.IsTimeout(err) {
		return write()
	}
	return err
}

// The codes of the server for a user that is not accepted.
const (
	codeUnauthorized         = 13
	codeAuthenticationFailed = 18
)

// Failure tells what an error of the driver means to callers: what is neither
// their canceled context nor a wrong password may work when it is tried again.
func Failure(ctx context.Context, err error) error {
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
