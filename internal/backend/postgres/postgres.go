// Package postgres opens databases of PostgreSQL 14 and newer for the stores of
// package relational. What is here is what only this server is: postgres.go
// (Open), url.go, connector.go (how a session begins, and ends when its machine
// vanishes), network.go and alive_unix.go (connections that are gone without a
// word), connection.go (fewer trips to the server), interpolate.go (values in
// statements), rows.go (values in answers), dialect.go, errors.go, version.go,
// migrate.go with the tables in schema, examine.go (for doctor).
package postgres

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"sluice/internal/backend/relational"
)

// Options says which database to use.
type Options struct {
	// URL is postgres://user:password@host:port/database?sslmode=require; more
	// hosts than one, and the other parameters, are as in PostgreSQL's own
	// clients.
	URL string
	// MaxConnections bounds the connections of this process; 0 means 16.
	MaxConnections int
	// Look refuses a database whose tables are not up to date, and makes none.
	Look bool
}

const (
	defaultConnections = 16
	// idleTime is how long an unused connection is kept; less than idleSession.
	idleTime = 3 * time.Minute
	// lifeTime makes connections follow a name that points elsewhere by now.
	lifeTime = 30 * time.Minute
)

// Open connects, and creates or migrates the tables. A server that does not
// answer is an error of code unavailable. The caller closes the database.
func Open(ctx context.Context, o Options) (*relational.DB, error) {
	config, err := parseURL(o.URL)
	if err != nil {
		return nil, err
	}
	d := newDB(config, o.MaxConnections)
	if err := prepare(ctx, d, config, o.Look); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

// newDB prepares connections and makes none.
func newDB(config *pgx.ConnConfig, maxConnections int) *relational.DB {
	sessions := config.Config.Copy()
	begin(sessions, working)
	pool := sql.OpenDB(connector{sessions})
	if maxConnections <= 0 {
		maxConnections = defaultConnections
	}
	pool.SetMaxOpenConns(maxConnections)
	pool.SetMaxIdleConns(maxConnections)
	pool.SetConnMaxIdleTime(idleTime)
	pool.SetConnMaxLifetime(lifeTime)
	return relational.New(pool, relational.Options{Name: place(sessions), Dialect: dialect, MaxPacket: maxPacket})
}

// maxPacket is how long what is stored at once may be: far less than the server
// takes, as it has each statement in its memory several times.
const maxPacket = 32 << 20

func prepare(ctx context.Context, d *relational.DB, config *pgx.ConnConfig, look bool) error {
	var version, encoding string
	err := d.Query(ctx, func(r *sql.Rows) error { return r.Scan(&version, &encoding) },
		"SELECT current_setting('server_version'), current_setting('server_encoding')")
	if err != nil {
		return tooOld(d.Denied(err))
	}
	if err := errors.Join(checkVersion(version), checkEncoding(encoding)); err != nil {
		return err
	}
	return migrate(ctx, d, config, look)
}
