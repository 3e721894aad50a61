package relational

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"sluice/internal/access"
	"sluice/internal/backoff"
)

const (
	// maxAttempts bounds how often a transaction is begun.
	maxAttempts = 12
	// maxLockTimeouts bounds how often it waits for a lock in vain. All of them
	// take longer than the server waits for a machine that vanished with it.
	maxLockTimeouts = 8
	longestPause    = 100 * time.Millisecond
)

// Tx runs fn in a READ COMMITTED transaction and commits it, unless fn fails. The
// first one for a request of the API also has its entry in the audit log.
// When the server gives the transaction up in favour of another, the whole of
// it is repeated: fn must set its results anew each time. If the answer to the
// commit is lost, the error has code unavailable and the transaction may have
// been committed.
func (d *DB) Tx(ctx context.Context, fn func(*Tx) error) error {
	return d.repeat(ctx, func() error { return d.transact(ctx, nil, fn) })
}

// TxNoWait is Tx for a transaction that serves many: it is not repeated after it
// has waited for a lock in vain (see DB.IsLocked), as one of the many may be what
// the others need not wait for.
func (d *DB) TxNoWait(ctx context.Context, fn func(*Tx) error) error {
	return d.repeatFor(ctx, 1, func() error { return d.transact(ctx, nil, fn) })
}

// Snapshot runs fn in a transaction that reads one state of the database.
func (d *DB) Snapshot(ctx context.Context, fn func(*Tx) error) error {
	options := &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true}
	return d.repeat(ctx, func() error { return d.transact(ctx, options, fn) })
}

func (d *DB) transact(ctx context.Context, options *sql.TxOptions, fn func(*Tx) error) error {
	d.transactions.Add(1)
	tx, err := d.pool.BeginTx(ctx, options)
	if err != nil {
		return err
	}
	trail, err := recordTrail(ctx, options, &Tx{tx, d.options.Dialect, d.pool.observe})
	if err == nil {
		err = fn(&Tx{tx, d.options.Dialect, d.pool.observe})
	}
	if err != nil {
		// If this fails as well, the connection is lost, and the server ends
		// the transaction by itself.
		_ = tx.Rollback()
		return err
	}
	if err := tx.Commit(); err != nil {
		return err
	}
	trail.Stored()
	return nil
}

// repeat calls fn until the server does not ask for a repetition any more.
func (d *DB) repeat(ctx context.Context, fn func() error) error {
	return d.repeatFor(ctx, maxLockTimeouts, fn)
}

func (d *DB) repeatFor(ctx context.Context, mostTimeouts int, fn func() error) error {
	timeouts := 0
	for attempt := 1; ; attempt++ {
		err := fn()
		if err == nil {
			return nil
		}
		problem := d.Problem(err)
		if problem == Locked {
			timeouts++
		}
		if (problem != Again && problem != Locked) || attempt == maxAttempts || timeouts >= mostTimeouts {
			return d.Describe(ctx, err)
		}
		if !backoff.Sleep(ctx, collisionDelays.Delay(attempt)) {
			return ctx.Err()
		}
	}
}

// collisionDelays are random times that grow with the attempts, so that those who
// collided do not meet again.
var collisionDelays = backoff.Delays{First: time.Millisecond, Longest: longestPause, Spread: backoff.Whole}

// Querier is a database or a transaction.
type Querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	Dialect() *Dialect
}

// Tx is a transaction.
type Tx struct {
	*sql.Tx
	dialect *Dialect
	observe observer
}

// observer is told every statement, in tests; nil is nobody.
type observer func(query string, args []any)

func (o observer) tell(query string, args []any) {
	if o != nil {
		o(query, args)
	}
}

// QueryContext implements Querier.
func (t *Tx) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	t.observe.tell(query, args)
	return t.Tx.QueryContext(ctx, query, args...)
}

// ExecContext implements Querier.
func (t *Tx) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	t.observe.tell(query, args)
	return t.Tx.ExecContext(ctx, query, args...)
}

// Dialect is what the server speaks.
func (t *Tx) Dialect() *Dialect { return t.dialect }

// pool is a database outside of transactions.
type pool struct {
	*sql.DB
	dialect *Dialect
	observe observer
}

// QueryContext implements Querier.
func (p pool) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	p.observe.tell(query, args)
	return p.DB.QueryContext(ctx, query, args...)
}

// ExecContext implements Querier.
func (p pool) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	p.observe.tell(query, args)
	return p.DB.ExecContext(ctx, query, args...)
}

// Dialect is what the server speaks.
func (p pool) Dialect() *Dialect { return p.dialect }

// Query calls each for every row, outside of any transaction.
func (d *DB) Query(ctx context.Context, each func(*sql.Rows) error, query string, args ...any) error {
	d.reads.Add(1)
	return d.Describe(ctx, Query(ctx, d.pool, each, query, args...))
}

// Exec runs one statement that is a transaction of its own.
func (d *DB) Exec(ctx context.Context, query string, args ...any) (result sql.Result, err error) {
	if _, due := access.TrailOf(ctx).Due(); due {
		err = d.Tx(ctx, func(tx *Tx) error {
			result, err = tx.ExecContext(ctx, query, args...)
			return err
		})
		return result, err
	}
	d.transactions.Add(1)
	err = d.repeat(ctx, func() error {
		result, err = d.pool.ExecContext(ctx, query, args...)
		return err
	})
	return result, err
}

// Query calls each for every row of a query.
func Query(ctx context.Context, q Querier, each func(*sql.Rows) error, query string, args ...any) (err error) {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		if err := each(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// Read runs fn outside of any transaction.
func (d *DB) Read(ctx context.Context, fn func(Querier) error) error {
	d.reads.Add(1)
	return d.Describe(ctx, fn(d.pool))
}

// Run is Query with a statement.
func (d *DB) Run(ctx context.Context, s *Statement, each func(*sql.Rows) error) error {
	d.reads.Add(1)
	return d.Describe(ctx, s.Query(ctx, d.pool, each))
}
