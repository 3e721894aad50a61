package mysqldb

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"github.com/go-sql-driver/mysql"
	"github.com/pressly/goose/v3"

	"sluice/internal/domain"
)

//go:embed migrations/*.sql
var migrations embed.FS

// lockSeconds is how long one process waits for another that migrates.
const lockSeconds = 120

// migrate brings the tables up to date. A database that is up to date is only
// asked about its version.
func (d *DB) migrate(ctx context.Context, config *mysql.Config) error {
	have, want, err := d.SchemaVersion(ctx)
	if err != nil || have >= want {
		return err
	}
	patient := config.Clone()
	// Neither another process' migration nor a change of a large table
	// is over in the time that a statement has otherwise.
	patient.ReadTimeout = 0
	pool, err := newPool(patient)
	if err != nil {
		return err
	}
	return d.describe(ctx, errors.Join(migrateLocked(ctx, pool, config.DBName), pool.Close()))
}

// migrateLocked migrates while it holds the lock that keeps other processes
// from doing the same.
func migrateLocked(ctx context.Context, pool *sql.DB, database string) (err error) {
	conn, err := pool.Conn(ctx)
	if err != nil {
		return err
	}
	// Closing the pool, if not this, gives up the lock.
	defer func() { err = errors.Join(err, conn.Close()) }()
	name := lockName("migration", database)
	got, err := lock(ctx, conn, name, lockSeconds)
	if err != nil {
		return err
	}
	if !got {
		return domain.Errorf(domain.CodeUnavailable, "another process is migrating the database %s; try again when it is done", database)
	}
	dir, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return err
	}
	provider, err := goose.NewProvider(goose.DialectMySQL, pool, dir)
	if err != nil {
		return err
	}
	if _, err := provider.Up(ctx); err != nil {
		return fmt.Errorf("migrate the database %s: %w", database, err)
	}
	_, err = conn.ExecContext(ctx, "DO RELEASE_LOCK(?)", name)
	return err
}

// SchemaVersion returns the version that the tables have, 0 if there are none,
// and the one that this program wants.
func (d *DB) SchemaVersion(ctx context.Context) (have, want int64, err error) {
	if want, err = newestMigration(); err != nil {
		return 0, 0, err
	}
	err = Query(ctx, d.pool, func(r *sql.Rows) error { return r.Scan(&have) },
		"SELECT COALESCE(MAX(version_id), 0) FROM "+goose.DefaultTablename+" WHERE is_applied")
	if isNumber(err, errTableMissing) {
		return 0, want, nil
	}
	return have, want, d.describe(ctx, err)
}

func newestMigration() (int64, error) {
	names, err := fs.Glob(migrations, "migrations/*.sql")
	if err != nil || len(names) == 0 {
		return 0, domain.Errorf(domain.CodeInternal, "there are no migrations: %v", err)
	}
	number, _, _ := strings.Cut(strings.TrimPrefix(names[len(names)-1], "migrations/"), "_")
	return strconv.ParseInt(number, 10, 64)
}
