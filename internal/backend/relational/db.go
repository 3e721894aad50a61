// Package relational keeps everything that outlives a process in a server that
// speaks SQL, for several processes at once. The stores are written once; what
// a server speaks differently is in its Dialect, and how it is reached in the
// package of the server, which opens the DB.
//
// The kit: db.go (an open database), dialect.go (what servers differ in, and
// what their drivers promise), tx.go (transactions that repeat themselves when
// the server asks for it), errors.go (what a failure means), statement.go (SQL
// with many values), insert.go (rows in as few statements as possible), batch.go
// (several statements in one trip), sequence.go (ids in blocks), alone.go (one
// process at a time).
//
// The stores: State (state*.go), Documents (documents*.go), Timers (timers*.go),
// Snapshots (snapshots*.go) and Rations (rations.go).
package relational

import (
	"context"
	"database/sql"
	"sync/atomic"
	"time"

	"sluice/internal/fleet"
)

// groupPatience is how long a group waits for more callers: short beside a
// transaction, and long enough for those that the last one set free to come back.
const groupPatience = 300 * time.Microsecond

// Options are what is known of a database when it is opened.
type Options struct {
	// Name is host, port and database, for people.
	Name    string
	Dialect *Dialect
	// MaxPacket is the size of the largest statement that the server takes.
	MaxPacket int
}

// DB is an open database. It is safe for concurrent use.
type DB struct {
	pool                pool
	options             Options
	closed              atomic.Bool
	transactions, reads atomic.Uint64
}

// New returns the database that a pool of connections leads to. It closes the
// pool.
func New(connections *sql.DB, o Options) *DB {
	return &DB{pool: pool{connections, o.Dialect, nil}, options: o}
}

// Close ends the connections. It may be called twice.
func (d *DB) Close() error {
	d.closed.Store(true)
	return d.pool.Close()
}

// Name is host, port and database, for people.
func (d *DB) Name() string { return d.options.Name }

// Dialect is what its server speaks.
func (d *DB) Dialect() *Dialect { return d.options.Dialect }

// Version returns the server's version.
func (d *DB) Version(ctx context.Context) (version string, err error) {
	err = d.Query(ctx, func(r *sql.Rows) error { return r.Scan(&version) }, "SELECT VERSION()")
	return version, err
}

// Transactions counts the transactions since it was opened: an idle process
// has none.
func (d *DB) Transactions() uint64 { return d.transactions.Load() }

// Reads counts what was read outside of transactions since it was opened.
func (d *DB) Reads() uint64 { return d.reads.Load() }

// MaxPacket is the size of the largest statement that the server takes.
func (d *DB) MaxPacket() int { return d.options.MaxPacket }

// Backend implements fleet.Teller.
func (d *DB) Backend(ctx context.Context) (fleet.Backend, error) {
	b := fleet.Backend{Kind: d.options.Dialect.Name, Address: d.options.Name}
	var err error
	if b.Version, err = d.Version(ctx); err != nil {
		return b, err
	}
	var size float64
	if err := d.Query(ctx, func(r *sql.Rows) error { return r.Scan(&size) }, d.options.Dialect.Size); err != nil {
		return b, err
	}
	pool := d.pool.Stats()
	b.Figures = []fleet.Figure{
		{Name: "size", Value: size, Unit: fleet.Bytes}, {Name: "connections of this process", Value: float64(pool.OpenConnections)},
		{Name: "connections in use", Value: float64(pool.InUse)}, {Name: "waits for a connection", Value: float64(pool.WaitCount)},
		{Name: "transactions of this process", Value: float64(d.Transactions())}, {Name: "reads of this process", Value: float64(d.Reads())},
	}
	return b, nil
}
