package mysql

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
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
	// wait behind whoever waits; see maxLockTimeouts.
	lockWait = time.Second
	// idleSession is how long the server keeps a connection that says nothing,
	// and what it has locked by name. The pool gives connections up before.
	idleSession = 4 * time.Minute
)

// session is what every connection begins with. The name of the variable for
// the isolation differs between MySQL and MariaDB; the statement does not.
var session = []string{
	"SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED",
	// Strict, so that nothing is cut off or changed in silence.
	"SET SESSION sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION', autocommit = 1, innodb_lock_wait_timeout = " + seconds(lockWait),
}

func seconds(d time.Duration) string { return strconv.Itoa(int(d / time.Second)) }

// idle is how a server is told how long it may wait inside and outside of a
// transaction.
type idle struct {
	// always is set once; write and snapshot begin a transaction of that kind,
	// and after ends it. Each is a statement, or nothing.
	always, write, snapshot, after string
}

// idleOf returns what a server of some version understands. MariaDB tells
// transactions apart; MySQL has one limit for a connection that is idle, which
// is therefore shortened while a transaction is open.
func idleOf(version string) idle {
	if strings.Contains(version, "MariaDB") {
		short := "SET SESSION idle_transaction_timeout = " + seconds(idleInTransaction)
		return idle{
			always:   short + ", wait_timeout = " + seconds(idleSession),
			snapshot: "SET SESSION idle_transaction_timeout = " + seconds(idleInSnapshot),
			after:    short,
		}
	}
	return idle{
		always:   "SET SESSION wait_timeout = " + seconds(idleSession),
		write:    "SET SESSION wait_timeout = " + seconds(idleInTransaction),
		snapshot: "SET SESSION wait_timeout = " + seconds(idleInSnapshot),
		after:    "SET SESSION wait_timeout = " + seconds(idleSession),
	}
}

// connector prepares the session of each new connection.
type connector struct {
	driver.Connector
	// patient leaves connections as long as the server would: those of a
	// migration hold a lock while others work.
	patient bool
	// version, if set, is what the server is taken for.
	version string
}

// Connect implements driver.Connector.
func (c connector) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	able, ok := conn.(driverConn)
	if !ok {
		return nil, errors.Join(fmt.Errorf("the driver's connections cannot do what they are used for"), conn.Close())
	}
	limits, err := c.prepare(ctx, able)
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return &connection{driverConn: able, idle: limits}, nil
}

// prepare sets the session up and returns how long it may be idle.
func (c connector) prepare(ctx context.Context, conn driverConn) (limits idle, err error) {
	statements := session
	if !c.patient {
		version := c.version
		if version == "" {
			if version, err = versionOf(ctx, conn); err != nil {
				return idle{}, err
			}
		}
		limits = idleOf(version)
		statements = append(statements[:len(statements):len(statements)], limits.always)
	}
	for _, statement := range statements {
		if _, err := conn.ExecContext(ctx, statement, nil); err != nil {
			return idle{}, err
		}
	}
	return limits, nil
}

func versionOf(ctx context.Context, conn driverConn) (version string, err error) {
	rows, err := conn.QueryContext(ctx, "SELECT VERSION()", nil)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	row := make([]driver.Value, 1)
	if err := rows.Next(row); err != nil {
		return "", err
	}
	if err := rows.Next(make([]driver.Value, 1)); !errors.Is(err, io.EOF) {
		return "", fmt.Errorf("the server tells its version more than once: %w", err)
	}
	switch text := row[0].(type) {
	case []byte:
		return string(text), nil
	case string:
		return text, nil
	}
	return "", fmt.Errorf("the server's version is a %T", row[0])
}
