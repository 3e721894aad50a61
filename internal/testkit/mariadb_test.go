package testkit_test

import (
	"database/sql"
	"net/url"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"

	"sluice/internal/testkit"
)

func openMariaDB(t *testing.T, text string) *sql.DB {
	t.Helper()
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "mysql" {
		t.Fatalf("%q is no URL of MySQL's protocol (%v)", text, err)
	}
	config := mysql.NewConfig()
	config.User, config.Net, config.Addr, config.DBName = u.User.Username(), "tcp", u.Host, strings.TrimPrefix(u.Path, "/")
	config.Logger = &mysql.NopLogger{}
	connector, err := mysql.NewConnector(config)
	if err != nil {
		t.Fatalf("connector: %v", err)
	}
	db := sql.OpenDB(connector)
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func mustExec(t *testing.T, db *sql.DB, statement string) {
	t.Helper()
	if _, err := db.ExecContext(t.Context(), statement); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

func count(t *testing.T, db *sql.DB, query string) (n int) {
	t.Helper()
	if err := db.QueryRowContext(t.Context(), query).Scan(&n); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return n
}

func TestMariaDBDatabasesAreApart(t *testing.T) {
	first, second := openMariaDB(t, testkit.MariaDB(t)), openMariaDB(t, testkit.MariaDB(t))
	mustExec(t, first, "CREATE TABLE a (n INT) ENGINE=InnoDB")
	const tables = "SELECT count(*) FROM information_schema.tables WHERE table_schema = database()"
	if n, m := count(t, first, tables), count(t, second, tables); n != 1 || m != 0 {
		t.Errorf("the databases have %d and %d tables, want 1 and 0", n, m)
	}
}

func TestMariaDBSurvivesAKill(t *testing.T) {
	server := testkit.StartMariaDB(t)
	db := openMariaDB(t, server.URL())
	mustExec(t, db, "CREATE TABLE a (n INT PRIMARY KEY) ENGINE=InnoDB")
	mustExec(t, db, "INSERT INTO a VALUES (1), (2), (3)")
	server.Kill()
	if err := db.PingContext(t.Context()); err == nil {
		t.Fatal("a killed server answers")
	}
	server.Start()
	if n := count(t, db, "SELECT count(*) FROM a"); n != 3 {
		t.Errorf("%d rows are left of 3", n)
	}
	server.Restart()
	if n := count(t, db, "SELECT count(*) FROM a"); n != 3 {
		t.Errorf("%d rows are left of 3 after an orderly restart", n)
	}
}
