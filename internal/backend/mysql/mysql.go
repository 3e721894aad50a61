// Package mysql opens databases of MySQL 8 and MariaDB for the stores of
// package relational. What is here is what only these servers are: mysql.go
// (Open), url.go, connector.go (how a session begins, and ends when its machine
// vanishes), connection.go (fewer trips to the server), dialect.go, errors.go,
// version.go, migrate.go with the tables in schema, examine.go (for doctor).
package mysql

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/go-sql-driver/mysql"

	"sluice/internal/backend/relational"
	"sluice/internal/domain"
)

// Options says which database to use.
type Options struct {
	// URL is mysql://user:password@host:port/database?tls=true; tls may also
	// be false, skip-verify or preferred.
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
	tune(config)
	pool, err := newPool(config, false)
	if err != nil {
		return nil, err
	}
	if o.MaxConnections <= 0 {
		o.MaxConnections = defaultConnections
	}
	pool.SetMaxOpenConns(o.MaxConnections)
	pool.SetMaxIdleConns(o.MaxConnections)
	d, err := prepare(ctx, pool, config, o.Look)
	if err != nil {
		return nil, errors.Join(err, pool.Close())
	}
	return d, nil
}

// newPool prepares connections; patient ones are for a migration.
func newPool(config *mysql.Config, patient bool) (*sql.DB, error) {
	base, err := mysql.NewConnector(config)
	if err != nil {
		// The URL was understood, so that this is about TLS; the driver's words
		// are not repeated, as nobody vouches for what they quote.
		return nil, domain.Errorf(domain.CodeInvalid, "the options for MySQL at %s are refused by the driver", config.Addr)
	}
	pool := sql.OpenDB(connector{Connector: base, patient: patient})
	pool.SetConnMaxIdleTime(idleTime)
	pool.SetConnMaxLifetime(lifeTime)
	return pool, nil
}

// nameOf is what people are told of a database.
func nameOf(config *mysql.Config) string { return config.Addr + "/" + config.DBName }

func prepare(ctx context.Context, pool *sql.DB, config *mysql.Config, look bool) (*relational.DB, error) {
	version := ""
	o := relational.Options{Name: nameOf(config), Dialect: dialect}
	d := relational.New(pool, o)
	err := d.Query(ctx, func(r *sql.Rows) error { return r.Scan(&version, &o.MaxPacket) }, "SELECT VERSION(), @@max_allowed_packet")
	if err != nil {
		return nil, d.Denied(err)
	}
	if err := checkVersion(version); err != nil {
		return nil, err
	}
	d = relational.New(pool, o)
	return d, migrate(ctx, d, config, look)
}
