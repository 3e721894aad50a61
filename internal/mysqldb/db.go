// Package mysqldb is what the adapters on MySQL 8 and MariaDB share: the
// connections, the tables, transactions that repeat themselves when the server
// asks for it, and what a failure means. What the tables mean is the business
// of the adapters built on it.
package mysqldb

import (
	"context"
	"database/sql"
	"errors"
	"sync/atomic"
	"time"

	"github.com/go-sql-driver/mysql"

	"sluice/internal/domain"
)

// Options says which database to use.
type Options struct {
	// URL is mysql://user:password@host:port/database?tls=true; tls may also
	// be false, skip-verify or preferred.
	URL string
	// MaxConnections bounds the connections of this process; 0 means 16.
	MaxConnections int
}

const (
	defaultConnections = 16
	// idleTime is how long an unused connection is kept.
	idleTime = 3 * time.Minute
	// lifeTime makes connections follow a name that points elsewhere by now.
	lifeTime = 30 * time.Minute
)

// DB is an open database. It is safe for concurrent use.
type DB struct {
	pool *sql.DB
	name string // host, port and database, for people
	// packet is the largest packet that the server takes.
	packet       int
	closed       atomic.Bool
	transactions atomic.Uint64
}

// Open connects, and creates or migrates the tables. A server that does not
// answer is an error of code unavailable. The caller closes the database.
func Open(ctx context.Context, o Options) (*DB, error) {
	config, err := parseURL(o.URL)
	if err != nil {
		return nil, err
	}
	tune(config)
	pool, err := newPool(config)
	if err != nil {
		return nil, err
	}
	if o.MaxConnections <= 0 {
		o.MaxConnections = defaultConnections
	}
	pool.SetMaxOpenConns(o.MaxConnections)
	pool.SetMaxIdleConns(o.MaxConnections)
	d := &DB{pool: pool, name: config.Addr + "/" + config.DBName}
	if err := d.prepare(ctx, config); err != nil {
		return nil, errors.Join(err, pool.Close())
	}
	return d, nil
}

func newPool(config *mysql.Config) (*sql.DB, error) {
	base, err := mysql.NewConnector(config)
	if err != nil {
		// The URL was understood, so that this is about TLS; the driver's words
		// are not repeated, as nobody vouches for what they quote.
		return nil, domain.Errorf(domain.CodeInvalid, "the options for MySQL at %s are refused by the driver", config.Addr)
	}
	pool := sql.OpenDB(connector{base})
	pool.SetConnMaxIdleTime(idleTime)
	pool.SetConnMaxLifetime(lifeTime)
	return pool, nil
}

func (d *DB) prepare(ctx context.Context, config *mysql.Config) error {
	version := ""
	err := d.Query(ctx, func(r *sql.Rows) error { return r.Scan(&version, &d.packet) }, "SELECT VERSION(), @@max_allowed_packet")
	if err != nil {
		return refused(d.name, err)
	}
	if err := checkVersion(version); err != nil {
		return err
	}
	return d.migrate(ctx, config)
}

// Close ends the connections. It may be called twice.
func (d *DB) Close() error {
	d.closed.Store(true)
	return d.pool.Close()
}

// Version returns the server's version.
func (d *DB) Version(ctx context.Context) (version string, err error) {
	err = d.Query(ctx, func(r *sql.Rows) error { return r.Scan(&version) }, "SELECT VERSION()")
	return version, err
}

// Transactions counts the transactions since Open: an idle process has none.
func (d *DB) Transactions() uint64 { return d.transactions.Load() }

// MaxPacket is the size of the largest packet that the server takes.
func (d *DB) MaxPacket() int { return d.packet }
