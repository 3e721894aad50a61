package mysql

import (
	"context"
	"database/sql"
	"embed"

	"github.com/go-sql-driver/mysql"
	"github.com/pressly/goose/v3"

	"sluice/internal/backend/relational"
)

//go:embed schema/*.sql
var files embed.FS

// lockSeconds is how long one process waits for another that migrates.
const lockSeconds = 120

var migrations = relational.Migrations{
	Files: files, Dialect: goose.DialectMySQL,
	TableMissing: func(err error) bool { return isNumber(err, errTableMissing) },
	Lock: func(ctx context.Context, conn *sql.Conn, name string) (bool, error) {
		return lock(ctx, conn, name, lockSeconds)
	},
	Unlock: unlock,
}

// migrate brings the tables up to date.
func migrate(ctx context.Context, d *relational.DB, config *mysql.Config, look bool) error {
	return migrations.Run(ctx, d, relational.Migrator{Look: look, Database: config.DBName, Open: func() (*sql.DB, error) {
		patient := config.Clone()
		patient.ReadTimeout = 0
		return newPool(patient, true)
	}})
}

// SchemaVersion returns the version that the tables have, 0 if there are none,
// and the one that this program wants.
func SchemaVersion(ctx context.Context, d *relational.DB) (have, want int64, err error) {
	return migrations.Versions(ctx, d)
}
