package postgres

import (
	"context"
	"database/sql"
	"embed"
	"net"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"

	"sluice/internal/backend/relational"
	"sluice/internal/domain"
)

//go:embed schema/*.sql
var files embed.FS

var migrations = relational.Migrations{
	Files: files, Dialect: goose.DialectPostgres,
	TableMissing: func(err error) bool { return isCode(err, codeTableMissing) },
	Lock: func(ctx context.Context, conn *sql.Conn, name string) (bool, error) {
		_, err := conn.ExecContext(ctx, "SELECT pg_advisory_lock($1)", lockKey(name))
		if isCode(err, codeLockTimeout) {
			return false, nil
		}
		return err == nil, err
	},
	Unlock: func(ctx context.Context, conn *sql.Conn, name string) error {
		_, err := conn.ExecContext(ctx, "SELECT pg_advisory_unlock($1)", lockKey(name))
		return err
	},
}

// migrate brings the tables up to date.
func migrate(ctx context.Context, d *relational.DB, config *pgx.ConnConfig, look bool) error {
	return migrations.Run(ctx, d, relational.Migrator{
		Look: look, Database: config.Database,
		Open: func() (*sql.DB, error) {
			own := config.Copy()
			begin(&own.Config, patient)
			// It waits for as long as it takes.
			own.DialFunc = (&net.Dialer{}).DialContext
			return stdlib.OpenDB(*own), nil
		},
		Explain: func(err error) error {
			if isCode(err, codePrivilege) {
				return domain.Errorf(domain.CodeInvalid, "the user %s may not create tables in the database %s; see GRANT CREATE ON SCHEMA: %w", config.User, d.Name(), err)
			}
			return err
		},
	})
}

// SchemaVersion returns the version that the tables have, 0 if there are none,
// and the one that this program wants.
func SchemaVersion(ctx context.Context, d *relational.DB) (have, want int64, err error) {
	return migrations.Versions(ctx, d)
}
