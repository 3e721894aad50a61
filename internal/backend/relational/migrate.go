package relational

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"github.com/pressly/goose/v3"

	"sluice/internal/domain"
)

// Migrations brings the tables of a server up to date.
type Migrations struct {
	// Files has them in its folder schema.
	Files   fs.FS
	Dialect goose.Dialect
	// TableMissing tells an error that says so.
	TableMissing func(error) bool
	// Lock waits a while for the lock that keeps other processes from migrating;
	// Unlock gives it up, and so does closing the connection.
	Lock   func(ctx context.Context, conn *sql.Conn, name string) (got bool, err error)
	Unlock func(ctx context.Context, conn *sql.Conn, name string) error
}

// Migrator is what one opening of a database needs for that.
type Migrator struct {
	// Database is its name.
	Database string
	// Look refuses tables that are not up to date instead of bringing them there.
	Look bool
	// Open opens a pool that has time: neither another process' migration nor a
	// change of a large table is over in what a statement gets otherwise.
	Open func() (*sql.DB, error)
	// Explain, if set, may say what an error means for a person.
	Explain func(error) error
}

// Run brings the tables of a database up to date. One that is up to date is only
// asked about its version.
func (m *Migrations) Run(ctx context.Context, d *DB, by Migrator) error {
	have, want, err := m.Versions(ctx, d)
	if err != nil || have == want {
		return err
	}
	if have > want {
		return domain.Errorf(domain.CodeConflict,
			"the database %s has schema %d, but this program knows %d at most: use the version of the program that migrated it, or a newer one", d.Name(), have, want)
	}
	if by.Look {
		return outdated(d.Name(), have, want)
	}
	pool, err := by.Open()
	if err != nil {
		return err
	}
	err = errors.Join(m.runLocked(ctx, pool, by.Database), pool.Close())
	if by.Explain != nil {
		err = by.Explain(err)
	}
	return d.Describe(ctx, err)
}

// outdated tells whoever only looks what has to be done first.
func outdated(database string, have, want int64) error {
	if have == 0 {
		return domain.Errorf(domain.CodeNotFound, "there is no data in the database %s yet: `sluice up` or `sluice collect LOGIN` makes the tables", database)
	}
	return domain.Errorf(domain.CodeConflict,
		"the database %s has schema %d, but this program needs %d: start the service (`sluice up`), which upgrades it, or use the version of the program that it belongs to", database, have, want)
}

// runLocked migrates while it holds the lock that keeps other processes from
// doing the same.
func (m *Migrations) runLocked(ctx context.Context, pool *sql.DB, database string) (err error) {
	conn, err := pool.Conn(ctx)
	if err != nil {
		return err
	}
	// Closing the pool, if not this, gives up the lock.
	defer func() { err = errors.Join(err, conn.Close()) }()
	name := LockName("migration", database)
	got, err := m.Lock(ctx, conn, name)
	if err != nil {
		return err
	}
	if !got {
		return domain.Errorf(domain.CodeUnavailable, "another process is migrating the database %s; try again when it is done", database)
	}
	dir, err := fs.Sub(m.Files, "schema")
	if err != nil {
		return err
	}
	provider, err := goose.NewProvider(m.Dialect, pool, dir)
	if err != nil {
		return err
	}
	if _, err := provider.Up(ctx); err != nil {
		return fmt.Errorf("migrate the database %s: %w", database, err)
	}
	return m.Unlock(ctx, conn, name)
}

// Versions returns the version that the tables have, 0 if there are none, and
// the one that this program wants.
func (m *Migrations) Versions(ctx context.Context, d *DB) (have, want int64, err error) {
	if want, err = m.newest(); err != nil {
		return 0, 0, err
	}
	err = d.Query(ctx, func(r *sql.Rows) error { return r.Scan(&have) },
		"SELECT COALESCE(MAX(version_id), 0) FROM "+goose.DefaultTablename+" WHERE is_applied")
	if m.TableMissing(err) {
		return 0, want, nil
	}
	return have, want, err
}

func (m *Migrations) newest() (int64, error) {
	names, err := fs.Glob(m.Files, "schema/*.sql")
	if err != nil || len(names) == 0 {
		return 0, domain.Errorf(domain.CodeInternal, "there are no migrations: %v", err)
	}
	number, _, _ := strings.Cut(strings.TrimPrefix(names[len(names)-1], "schema/"), "_")
	return strconv.ParseInt(number, 10, 64)
}
