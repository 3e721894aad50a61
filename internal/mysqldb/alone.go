package mysqldb

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"database/sql/driver"
	"encoding/hex"
	"errors"
	"time"

	"sluice/internal/domain"
)

// lockName is what the server knows a lock of a database by: names of locks are
// the whole server's, and short.
func lockName(what, database string) string {
	sum := sha256.Sum256([]byte(database))
	return "sluice " + what + " " + hex.EncodeToString(sum[:8])
}

// lock takes a lock on a connection, and reports whether it got it within so many
// seconds. It ends with the connection.
func lock(ctx context.Context, conn *sql.Conn, name string, seconds int) (bool, error) {
	var got sql.NullInt64
	err := conn.QueryRowContext(ctx, "SELECT GET_LOCK(?, ?)", name, seconds).Scan(&got)
	return got.Int64 == 1, err
}

// releaseTime is how long giving a lock back may take.
const releaseTime = 2 * time.Second

// Alone keeps the other processes on the database from doing what this one does
// until release is called. It fails with code conflict if one of them does it
// now.
func (d *DB) Alone(ctx context.Context, what string) (release func(), err error) {
	conn, err := d.pool.Conn(ctx)
	if err != nil {
		return nil, d.describe(ctx, err)
	}
	name := lockName(what, d.name)
	got, err := lock(ctx, conn, name, 0)
	if err == nil && !got {
		err = domain.Errorf(domain.CodeConflict, "another process is at it (%s); try again when it is done", what)
	}
	if err != nil {
		return nil, errors.Join(d.describe(ctx, err), conn.Close())
	}
	return func() {
		limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTime)
		defer cancel()
		if _, err := conn.ExecContext(limited, "DO RELEASE_LOCK(?)", name); err != nil {
			// A connection that goes takes its locks along: it must not be used again.
			_ = conn.Raw(func(any) error { return driver.ErrBadConn })
		}
		_ = conn.Close() // it goes back to the pool, or is gone
	}, nil
}
