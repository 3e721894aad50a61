package mysql_test

import (
	"context"
	"database/sql"
	"os"
	"strings"
	"sync"
	"testing"

	"sluice/internal/backend/mysql"
	"sluice/internal/backend/relational"
	"sluice/internal/domain"
	"sluice/internal/testkit"
)

func TestMain(m *testing.M) { os.Exit(testkit.Main(m)) }

func open(tb testing.TB, url string) *relational.DB {
	tb.Helper()
	db, err := mysql.Open(tb.Context(), mysql.Options{URL: url})
	if err != nil {
		tb.Fatalf("open: %v", err)
	}
	tb.Cleanup(func() {
		if err := db.Close(); err != nil {
			tb.Errorf("close: %v", err)
		}
	})
	return db
}

// number reads a row of id_sequence, which serves these tests as a table.
func number(tb testing.TB, db *relational.DB, name string) (n int64) {
	tb.Helper()
	err := db.Query(tb.Context(), func(r *sql.Rows) error { return r.Scan(&n) }, "SELECT last_id FROM id_sequence WHERE name = ?", name)
	if err != nil {
		tb.Fatalf("read: %v", err)
	}
	return n
}

func add(ctx context.Context, tx *relational.Tx, name string, n int) error {
	_, err := tx.ExecContext(ctx, "UPDATE id_sequence SET last_id = last_id + ? WHERE name = ?", n, name)
	return err
}

// TestManyProcessesMigrateAtOnce lets the first ones meet on an empty database.
func TestManyProcessesMigrateAtOnce(t *testing.T) {
	t.Parallel()
	url := testkit.MariaDB(t)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			db, err := mysql.Open(t.Context(), mysql.Options{URL: url})
			if err != nil {
				t.Errorf("open: %v", err)
				return
			}
			have, want, err := mysql.SchemaVersion(t.Context(), db)
			if err != nil || have != want || want == 0 {
				t.Errorf("version %d of %d: %v", have, want, err)
			}
			if err := db.Close(); err != nil {
				t.Errorf("close: %v", err)
			}
		})
	}
	all.Wait()
}

// TestInterruptedMigrationIsRepeated leaves what a process leaves that died
// between two tables.
func TestInterruptedMigrationIsRepeated(t *testing.T) {
	t.Parallel()
	url := testkit.MariaDB(t)
	db := open(t, url)
	for _, statement := range []string{"DROP TABLE goose_db_version", "DROP TABLE document", "DROP TABLE chunk"} {
		if _, err := db.Exec(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
	if have, _, err := mysql.SchemaVersion(t.Context(), db); have != 0 || err != nil {
		t.Fatalf("version %d, %v", have, err)
	}
	again := open(t, url)
	if _, err := again.Exec(t.Context(), "INSERT INTO chunk (id, account_id, data) VALUES (1, 1, 'x')"); err != nil {
		t.Errorf("after the repeated migration: %v", err)
	}
}

// TestNewerSchemaIsRefused opens what a later version of the program left.
func TestNewerSchemaIsRefused(t *testing.T) {
	t.Parallel()
	url := testkit.MariaDB(t)
	if _, err := open(t, url).Exec(t.Context(), "INSERT INTO goose_db_version (version_id, is_applied) VALUES (9999, 1)"); err != nil {
		t.Fatal(err)
	}
	_, err := mysql.Open(t.Context(), mysql.Options{URL: url})
	if domain.CodeOf(err) != domain.CodeConflict || !strings.Contains(err.Error(), "schema 9999") || !strings.Contains(err.Error(), "newer") {
		t.Errorf("open: %v", err)
	}
}

func TestVersionOfTheServer(t *testing.T) {
	t.Parallel()
	version, err := open(t, testkit.MariaDB(t)).Version(t.Context())
	if err != nil || !strings.Contains(version, "MariaDB") {
		t.Errorf("version %q, %v", version, err)
	}
}
