package sqlite_test

import (
	"context"
	"database/sql"
	"path/filepath"
	"slices"
	"testing"

	"sluice/internal/backend/sqlite"
)

// TestNewFileIsWhatItsMigrationsMake: the tables that are made in one go are
// those that one migration after the other makes, with what is in them.
func TestNewFileIsWhatItsMigrationsMake(t *testing.T) {
	made := map[string][]string{}
	for name, bring := range map[string]func(context.Context, *sql.DB) error{"at once": sqlite.Create, "one by one": sqlite.Upgrade} {
		db, err := sql.Open("sqlite", filepath.Join(t.TempDir(), sqlite.FileName))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = db.Close() })
		if err := bring(t.Context(), db); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		// Whoever comes later finds nothing to do.
		if err := sqlite.Upgrade(t.Context(), db); err != nil {
			t.Fatalf("%s, and then the rest: %v", name, err)
		}
		// What lies in a virtual table lies in the tables beside it.
		tables := column(t, db, "SELECT name FROM sqlite_schema WHERE type = 'table' AND coalesce(sql, '') NOT LIKE 'CREATE VIRTUAL %' ORDER BY name")
		made[name] = column(t, db, "SELECT type || ' ' || name || ' ' || tbl_name || ' ' || coalesce(sql, '') FROM sqlite_schema ORDER BY rowid")
		made[name] = append(made[name], column(t, db, "SELECT version_id || ' ' || is_applied FROM goose_db_version ORDER BY id")...)
		for _, table := range tables {
			made[name] = append(made[name], table)
			made[name] = append(made[name], column(t, db, "SELECT count(*) FROM "+table)...)
		}
	}
	if !slices.Equal(made["at once"], made["one by one"]) || len(made["at once"]) < 50 {
		t.Errorf("at once:\n%q\none by one:\n%q", made["at once"], made["one by one"])
	}
}

// column reads the one column of a query.
func column(t *testing.T, db *sql.DB, query string) (values []string) {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), query)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var value string
		if err := rows.Scan(&value); err != nil {
			t.Fatal(err)
		}
		values = append(values, value)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return values
}
