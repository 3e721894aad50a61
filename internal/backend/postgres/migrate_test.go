package postgres

import (
	"database/sql"
	"strings"
	"sync"
	"testing"

	"sluice/internal/domain"
	"sluice/internal/testkit"
)

// TestManyProcessesMigrateAtOnce lets the first ones meet on an empty database.
func TestManyProcessesMigrateAtOnce(t *testing.T) {
	t.Parallel()
	url := testkit.Postgres(t)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			db, err := Open(t.Context(), Options{URL: url})
			if err != nil {
				t.Errorf("open: %v", err)
				return
			}
			have, want, err := SchemaVersion(t.Context(), db)
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

// TestFailedMigrationLeavesNothing: a table is in the way of the last ones.
func TestFailedMigrationLeavesNothing(t *testing.T) {
	t.Parallel()
	url := testkit.Postgres(t)
	db := plain(t, url)
	if _, err := db.ExecContext(t.Context(), "CREATE TABLE refresh_pace (n INT)"); err != nil {
		t.Fatal(err)
	}
	if opened, err := Open(t.Context(), Options{URL: url}); err == nil {
		_ = opened.Close()
		t.Fatal("the table is not in the way")
	}
	var tables int
	if err := db.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM pg_tables WHERE schemaname = 'public' AND tablename NOT LIKE 'goose%'").Scan(&tables); err != nil || tables != 1 {
		t.Errorf("%d tables are there (%v), want the one in the way", tables, err)
	}
	if _, err := db.ExecContext(t.Context(), "DROP TABLE refresh_pace"); err != nil {
		t.Fatal(err)
	}
	again := open(t, url)
	if have, want, err := SchemaVersion(t.Context(), again); err != nil || have != want {
		t.Errorf("version %d of %d: %v", have, want, err)
	}
}

// TestNewerSchemaIsRefused opens what a later version of the program left.
func TestNewerSchemaIsRefused(t *testing.T) {
	t.Parallel()
	url := testkit.Postgres(t)
	if _, err := open(t, url).Exec(t.Context(), "INSERT INTO goose_db_version (version_id, is_applied) VALUES (9999, true)"); err != nil {
		t.Fatal(err)
	}
	_, err := Open(t.Context(), Options{URL: url})
	if domain.CodeOf(err) != domain.CodeConflict || !strings.Contains(err.Error(), "schema 9999") || !strings.Contains(err.Error(), "newer") {
		t.Errorf("open: %v", err)
	}
}

// TestTablesGoBack: what the migrations make they also remove.
func TestTablesGoBack(t *testing.T) {
	t.Parallel()
	url := testkit.Postgres(t)
	db := open(t, url)
	for _, statement := range testkit.Undo(t, "schema", 1) {
		if _, err := db.Exec(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
	if n := count(t.Context(), t, db, "SELECT COUNT(*) FROM pg_tables WHERE schemaname = 'public' AND tablename <> 'goose_db_version'"); n != 0 {
		t.Errorf("%d tables are left", n)
	}
	open(t, url)
}

// TestNewSchema uses the tables of a schema of one's own.
func TestNewSchema(t *testing.T) {
	t.Parallel()
	url := testkit.Postgres(t)
	if _, err := plain(t, url).ExecContext(t.Context(), "CREATE SCHEMA own"); err != nil {
		t.Fatal(err)
	}
	db := open(t, url+"&search_path=own")
	if n := count(t.Context(), t, db, "SELECT COUNT(*) FROM pg_tables WHERE schemaname = 'own' AND tablename IN ('job', 'goose_db_version')"); n != 2 {
		t.Errorf("%d tables of two are in the schema", n)
	}
}

// TestUserWithoutRights is told what is missing.
func TestUserWithoutRights(t *testing.T) {
	t.Parallel()
	url := testkit.Postgres(t)
	name := testkit.Prefix(t)
	admin := plain(t, url)
	for _, statement := range []string{"CREATE ROLE " + name + " LOGIN", "REVOKE CREATE ON SCHEMA public FROM public"} {
		if _, err := admin.ExecContext(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
	_, err := Open(t.Context(), Options{URL: strings.Replace(url, "sluice@", name+":s3cret@", 1)})
	if domain.CodeOf(err) != domain.CodeInvalid || !strings.Contains(err.Error(), "GRANT CREATE") || strings.Contains(err.Error(), "s3cret") {
		t.Errorf("open: %v", err)
	}
}

func TestDatabaseOfAnotherEncoding(t *testing.T) {
	t.Parallel()
	url := testkit.Postgres(t)
	name := testkit.Prefix(t)
	if _, err := plain(t, url).ExecContext(t.Context(), "CREATE DATABASE "+name+" ENCODING 'LATIN1' TEMPLATE template0 LC_COLLATE 'C' LC_CTYPE 'C'"); err != nil {
		t.Fatal(err)
	}
	_, err := Open(t.Context(), Options{URL: strings.Replace(url, url[strings.LastIndex(url, "/"):], "/"+name+"?sslmode=disable", 1)})
	if domain.CodeOf(err) != domain.CodeInvalid || !strings.Contains(err.Error(), "LATIN1") {
		t.Errorf("open: %v", err)
	}
}

// TestNamesAreComparedAsBytes, whatever the language of the database.
func TestNamesAreComparedAsBytes(t *testing.T) {
	t.Parallel()
	db := open(t, testkit.Postgres(t))
	var odd []string
	err := db.Query(t.Context(), func(r *sql.Rows) error {
		var table, column string
		err := r.Scan(&table, &column)
		odd = append(odd, table+"."+column)
		return err
	}, `SELECT table_name, column_name FROM information_schema.columns JOIN information_schema.tables USING (table_schema, table_name)
		WHERE table_schema = 'public' AND table_type = 'BASE TABLE' AND data_type IN ('text', 'character varying') AND collation_name IS DISTINCT FROM 'C' AND column_name NOT IN ('reason', 'hours')`)
	if err != nil || len(odd) > 0 {
		t.Errorf("%v are compared by the rules of a language (%v)", odd, err)
	}
}
