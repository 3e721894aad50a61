package postgres

import (
	"context"
	"database/sql/driver"
	"errors"
	"maps"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"sluice/internal/domain"
)

// A machine can vanish without a word: nothing closes its connections, and the
// server would keep the locks of its transactions for hours. So every session
// says how long the server is to wait for it.
const (
	// idleInTransaction is how long a transaction may wait for its next
	// statement before the server gives it up, with its locks.
	idleInTransaction = 5 * time.Second
	// idleInSnapshot is the same for one that only reads: it locks nothing, and
	// whoever reads may be slow between two pages.
	idleInSnapshot = time.Minute
	// lockWait is how long a statement waits for a lock. It is short, as others
	// wait behind whoever waits, and longer than the second after which a server
	// looks for a deadlock: of two that wait for each other one is then told to
	// begin anew, and the other goes on.
	lockWait = 1300 * time.Millisecond
	// statementTime ends what nobody waits for any more: see answerTime.
	statementTime = 2 * answerTime
	// idleSession is how long the server keeps a connection that says nothing,
	// and what it has locked by name. The pool gives connections up before.
	idleSession = 4 * time.Minute
	// migrationTime is how long one process waits for another that migrates.
	migrationTime = 2 * time.Minute
)

func milliseconds(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }

// common is what every session begins with.
var common = map[string]string{
	"application_name": "sluice",
	"client_encoding":  "UTF8",
	"TimeZone":         "UTC",
	// How texts and bytes are written: see interpolate.go and rows.go.
	"standard_conforming_strings":   "on",
	"bytea_output":                  "hex",
	"default_transaction_isolation": "read committed",
}

// working are the limits of a session that serves.
var working = map[string]string{
	"lock_timeout":                        milliseconds(lockWait),
	"idle_in_transaction_session_timeout": milliseconds(idleInTransaction),
	"idle_session_timeout":                milliseconds(idleSession),
	"statement_timeout":                   milliseconds(statementTime),
	// To compile a statement takes longer than any of these runs.
	"jit": "off",
	// Statements that change many rows lock them in the order in which they find
	// them: two that go along an index do not wait for each other, and what there
	// is an index for does not depend on what the server believes of a table.
	"enable_seqscan":    "off",
	"enable_bitmapscan": "off",
}

// patient are those of a migration: neither another process' migration nor a
// change of a large table is over in the time that a statement has otherwise.
var patient = map[string]string{
	"lock_timeout":                        milliseconds(migrationTime),
	"idle_in_transaction_session_timeout": "0",
	"idle_session_timeout":                "0",
	"statement_timeout":                   "0",
}

// begin sets what a configuration's sessions begin with.
func begin(config *pgconn.Config, limits map[string]string) {
	if config.RuntimeParams == nil {
		config.RuntimeParams = map[string]string{}
	}
	maps.Copy(config.RuntimeParams, common)
	maps.Copy(config.RuntimeParams, limits)
}

// connector makes connections.
type connector struct{ config *pgconn.Config }

// Connect implements driver.Connector.
func (c connector) Connect(ctx context.Context) (driver.Conn, error) {
	server, err := pgconn.ConnectConfig(ctx, c.config)
	if err != nil {
		return nil, err
	}
	conn := &connection{server: server, network: underneath(server.Conn())}
	if conn.network == nil {
		//nolint:contextcheck // it gives itself the time it needs, whatever became of the caller
		return nil, errors.Join(errors.New("the driver hides the network connection"), conn.Close())
	}
	conn.network.rest()
	if !isSafe(server) {
		err := domain.Errorf(domain.CodeInvalid,
			"PostgreSQL does not let a session write texts in the usual way (standard_conforming_strings, client_encoding); is something between it and this program?")
		//nolint:contextcheck // as above
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}

// Driver implements driver.Connector.
func (c connector) Driver() driver.Driver { return opener{} }

// opener is only there because database/sql wants a driver of a connector.
type opener struct{}

// Open implements driver.Driver.
func (opener) Open(string) (driver.Conn, error) {
	return nil, errors.New("connections to PostgreSQL are made by a connector")
}

// isSafe reports whether a session takes texts as interpolate writes them.
func isSafe(server *pgconn.PgConn) bool {
	return server.ParameterStatus("standard_conforming_strings") == "on" && server.ParameterStatus("client_encoding") == "UTF8"
}
