package mysqldb

import (
	"context"
	"database/sql"
	"errors"
	"math/rand/v2"
	"time"
)

const (
	// maxAttempts bounds how often a transaction is begun.
	maxAttempts = 12
	// maxLockTimeouts bounds how often it waits for a lock in vain, as each
	// such wait takes seconds.
	maxLockTimeouts = 2
	longestPause    = 100 * time.Millisecond
)

// Tx runs fn in a READ COMMITTED transaction and commits it, unless fn fails.
// When the server gives the transaction up in favour of another, the whole of
// it is repeated: fn must set its results anew each time. If the answer to the
// commit is lost, the error has code unavailable and the transaction may have
// been committed.
func (d *DB) Tx(ctx context.Context, fn func(*sql.Tx) error) error {
	return d.repeat(ctx, func() error { return d.transact(ctx, nil, fn) })
}

// Snapshot runs fn in a transaction that reads one state of the database.
func (d *DB) Snapshot(ctx context.Context, fn func(*sql.Tx) error) error {
	options := &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true}
	return d.repeat(ctx, func() error { return d.transact(ctx, options, fn) })
}

func (d *DB) transact(ctx context.Context, options *sql.TxOptions, fn func(*sql.Tx) error) error {
	d.transactions.Add(1)
	tx, err := d.pool.BeginTx(ctx, options)
	if err != nil {
		return err
	}
	if err := fn(tx); err != nil {
		// If this fails as well, the connection is lost, and the server ends
		// the transaction by itself.
		_ = tx.Rollback()
		return err
	}
	return tx.Commit()
}

// repeat calls fn until the server does not ask for a repetition any more.
func (d *DB) repeat(ctx context.Context, fn func() error) error {
	timeouts := 0
	for attempt := 1; ; attempt++ {
		err := fn()
		if err == nil {
			return nil
		}
		if isNumber(err, errLockTimeout) {
			timeouts++
		}
		if !isNumber(err, errAgain...) || attempt == maxAttempts || timeouts == maxLockTimeouts {
			return d.describe(ctx, err)
		}
		if err := pause(ctx, attempt); err != nil {
			return err
		}
	}
}

// pause waits for a random time that grows with the attempts, so that those
// who collided do not meet again.
func pause(ctx context.Context, attempt int) error {
	limit := min(time.Millisecond<<attempt, longestPause)
	timer := time.NewTimer(rand.N(limit))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Querier is a database or a transaction.
type Querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

// Query calls each for every row, outside of any transaction.
func (d *DB) Query(ctx context.Context, each func(*sql.Rows) error, query string, args ...any) error {
	return d.describe(ctx, Query(ctx, d.pool, each, query, args...))
}

// Exec runs one statement that is a transaction of its own.
func (d *DB) Exec(ctx context.Context, query string, args ...any) (result sql.Result, err error) {
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
	return d.describe(ctx, fn(d.pool))
}

// Run is Query with a statement.
func (d *DB) Run(ctx context.Context, s *Statement, each func(*sql.Rows) error) error {
	return d.describe(ctx, s.Query(ctx, d.pool, each))
}
