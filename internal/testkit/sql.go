package testkit

import (
	"database/sql"
	"os"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
)

// SLUICE_TEST_SQL chooses the server that holds the truth where a test is about
// the whole program: mariadb, which is the default, or postgres.
func usesPostgres(tb testing.TB) bool {
	tb.Helper()
	switch name := os.Getenv("SLUICE_TEST_SQL"); name {
	case "", "mariadb":
		return false
	case "postgres":
		return true
	default:
		tb.Fatalf("testkit: SLUICE_TEST_SQL is %q; there are mariadb and postgres", name)
		return false
	}
}

// SQL is MariaDB or Postgres.
func SQL(tb testing.TB) string {
	tb.Helper()
	if usesPostgres(tb) {
		return Postgres(tb)
	}
	return MariaDB(tb)
}

// StartSQL is StartMariaDB or StartPostgres.
func StartSQL(tb testing.TB) *Server {
	tb.Helper()
	if usesPostgres(tb) {
		return StartPostgres(tb)
	}
	return StartMariaDB(tb)
}

// OpenSQL connects to the database of a URL of SQL or StartSQL.
func OpenSQL(tb testing.TB, url string) *sql.DB {
	tb.Helper()
	db, err := ConnectSQL(url)
	if err != nil {
		tb.Fatalf("testkit: %v", err)
	}
	tb.Cleanup(func() { _ = db.Close() })
	return db
}

// ConnectSQL is OpenSQL for what no test owns; the caller closes it.
func ConnectSQL(url string) (*sql.DB, error) {
	if IsPostgres(url) {
		config, err := pgx.ParseConfig(url)
		if err != nil {
			return nil, err
		}
		return stdlib.OpenDB(*config), nil
	}
	host, name, _ := strings.Cut(strings.TrimPrefix(url, "mysql://root@"), "/")
	config := mysql.NewConfig()
	config.User, config.Net, config.Addr, config.DBName = "root", "tcp", host, name
	// Connections that a fault has cut are no news.
	config.Logger = &mysql.NopLogger{}
	connector, err := mysql.NewConnector(config)
	if err != nil {
		return nil, err
	}
	return sql.OpenDB(connector), nil
}

// IsPostgres reports whether a URL is that of a PostgreSQL.
func IsPostgres(url string) bool { return strings.HasPrefix(url, "postgres://") }
