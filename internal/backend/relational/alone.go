package relational

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

// LockName is what the server knows a lock of a database by: names of locks are
// the whole server's, and short.
func LockName(what, database string) string {
	sum := sha256.Sum256([]byte(database))
	return "sluice " + what + " " + hex.EncodeToString(sum[:8])
}

// releaseTime is how long giving a lock back may take.
const releaseTime = 2 * time.Second

// aliveTime is how often the connection that holds a lock says that it is
// there: the server gives up one that is silent, and the lock with it.
const aliveTime = time.Minute

// Alone keeps the other processes on the database from doing what this one does
// until release is called. It fails with code conflict if one of them does it
// now. The lock of a machine that vanished ends with its connection, minutes
// later.
func (d *DB) Alone(ctx context.Context, what string) (release func(), err error) {
	conn, err := d.pool.Conn(ctx)
	if err != nil {
		return nil, d.Describe(ctx, err)
	}
	name := LockName(what, d.options.Name)
	got, err := d.options.Dialect.TryLock(ctx, conn, name)
	if err == nil && !got {
		err = domain.Errorf(domain.CodeConflict, "another process is at it (%s); try again when it is done", what)
	}
	if err != nil {
		return nil, errors.Join(d.Describe(ctx, err), conn.Close())
	}
	ended, kept := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(kept)
		keepAlive(context.WithoutCancel(ctx), conn, ended)
	}()
	return func() {
		close(ended)
		<-kept
		limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTime)
		defer cancel()
		if err := d.options.Dialect.Unlock(limited, conn, name); err != nil {
			// A connection that goes takes its locks along: it must not be used again.
			_ = conn.Raw(func(any) error { return driver.ErrBadConn })
		}
		_ = conn.Close() // it goes back to the pool, or is gone
	}, nil
}

// keepAlive uses a connection now and then until ended is closed.
func keepAlive(ctx context.Context, conn *sql.Conn, ended <-chan struct{}) {
	every := time.NewTicker(aliveTime)
	defer every.Stop()
	for {
		select {
		case <-every.C:
			limited, cancel := context.WithTimeout(ctx, releaseTime)
			// One that is lost has lost the lock; releasing it finds out.
			_ = conn.PingContext(limited)
			cancel()
		case <-ended:
			return
		}
	}
}
