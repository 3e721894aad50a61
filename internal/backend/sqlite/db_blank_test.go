package sqlite_test

import (
	"database/sql"
	"path/filepath"
	"slices"
	"testing"

	"sluice/internal/backend/sqlite"
)

// TestCopiedFileIsWhatAMadeOneIs: files whose tables are copied have the same
// tables as the first, whose tables were made, and are checked as whole.
func TestCopiedFileIsWhatAMadeOneIs(t *testing.T) {
	made := filepath.Join(t.TempDir(), sqlite.FileName)
	db, err := sql.Open("sqlite", made)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	if err := sqlite.Create(t.Context(), db); err != nil {
		t.Fatal(err)
	}
	const tables = "SELECT type || ' ' || name || ' ' || coalesce(sql, '') FROM sqlite_schema ORDER BY rowid"
	want := column(t, db, tables)
	for n := range 4 {
		dir := t.TempDir()
		one, err := sqlite.Open(t.Context(), sqlite.Options{Dir: dir})
		if err != nil {
			t.Fatalf("open file %d: %v", n, err)
		}
		if err := one.Close(); err != nil {
			t.Fatalf("close file %d: %v", n, err)
		}
		path := filepath.Join(dir, sqlite.FileName)
		if err := sqlite.Verify(t.Context(), path); err != nil {
			t.Errorf("file %d: %v", n, err)
		}
		other, err := sql.Open("sqlite", path)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = other.Close() })
		if got := column(t, other, tables); !slices.Equal(got, want) || len(got) < 50 {
			t.Errorf("file %d has\n%q\nwant\n%q", n, got, want)
		}
		left, err := filepath.Glob(filepath.Join(dir, "*.new-*"))
		if err != nil || len(left) != 0 {
			t.Errorf("file %d leaves %q, %v", n, left, err)
		}
	}
}
