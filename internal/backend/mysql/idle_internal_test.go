package mysql

import (
	"database/sql"
	"os"
	"testing"

	"github.com/go-sql-driver/mysql"

	"sluice/internal/backend/relational"
	"sluice/internal/testkit"
)

// TestIdleLimits: inside of a transaction that may have locked something the
// server waits for seconds only, whichever server it is and however the
// transaction ends.
func TestIdleLimits(t *testing.T) {
	t.Parallel()
	for version, variable := range map[string]string{"10.11-MariaDB": "idle_transaction_timeout", "8.0.36": "wait_timeout"} {
		db := openAs(t, testkit.MariaDB(t), version)
		limit := func(q relational.Querier) (n int) {
			err := relational.Query(t.Context(), q, func(r *sql.Rows) error { return r.Scan(&n) }, "SELECT @@"+variable)
			if err != nil {
				t.Errorf("%s: %v", version, err)
			}
			return n
		}
		outside := read(t, db, limit)
		for name, run := range map[string]func() error{
			"a commit": func() error {
				return db.Tx(t.Context(), func(tx *relational.Tx) error { return want(t, limit(tx), 5) })
			},
			"a rollback": func() error {
				return db.Tx(t.Context(), func(tx *relational.Tx) error { limit(tx); return os.ErrClosed })
			},
			"a snapshot": func() error {
				return db.Snapshot(t.Context(), func(tx *relational.Tx) error { return want(t, limit(tx), 60) })
			},
			"a final statement": func() error {
				return db.Tx(t.Context(), func(tx *relational.Tx) error {
					_, err := relational.Batch(relational.Final(t.Context()), tx, (&relational.Statement{}).Write("UPDATE id_sequence SET last_id = last_id + 1"))
					return err
				})
			},
		} {
			if err := run(); (err != nil) != (name == "a rollback") {
				t.Errorf("%s: %s: %v", version, name, err)
			}
			if got := read(t, db, limit); got != outside {
				t.Errorf("%s: after %s the server waits %d s, before it was %d s", version, name, got, outside)
			}
		}
	}
}

func want(t *testing.T, got, want int) error {
	t.Helper()
	if got != want {
		t.Errorf("the server waits %d s inside, want %d", got, want)
	}
	return nil
}

// read reads outside of transactions.
func read(t *testing.T, db *relational.DB, limit func(relational.Querier) int) (n int) {
	t.Helper()
	if err := db.Read(t.Context(), func(q relational.Querier) error { n = limit(q); return nil }); err != nil {
		t.Errorf("read: %v", err)
	}
	return n
}

// openAs opens a database with one connection to a server that is taken for
// one of some version.
func openAs(t *testing.T, url, version string) *relational.DB {
	t.Helper()
	first, err := Open(t.Context(), Options{URL: url})
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	if err := first.Close(); err != nil {
		t.Fatalf("close: %v", err)
	}
	config, err := parseURL(url)
	if err != nil {
		t.Fatalf("URL: %v", err)
	}
	tune(config)
	base, err := mysql.NewConnector(config)
	if err != nil {
		t.Fatalf("connector: %v", err)
	}
	pool := sql.OpenDB(connector{Connector: base, version: version})
	pool.SetMaxOpenConns(1)
	db := relational.New(pool, relational.Options{Name: nameOf(config), Dialect: dialect})
	t.Cleanup(func() { _ = db.Close() })
	return db
}
