package sqlite_test

import (
	"strings"
	"testing"

	driver "zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"sluice/internal/backend/sqlite"
	"sluice/internal/document"
	"sluice/internal/document/documenttest"
	"sluice/internal/testkit"
)

// absences is the migration that is tested.
const (
	schemaFolder      = "schema"
	absencesMigration = 7
)

// TestFlagsBecomeAbsences opens a database of the time when what was gone was a
// flag: that goes on as an absence of which nobody knows since when.
func TestFlagsBecomeAbsences(t *testing.T) {
	dir := t.TempDir()
	docs := documentPage(3)
	for i := range docs {
		docs[i].Repository = 7
	}
	openIn := func() (*sqlite.Documents, *sqlite.DB) {
		db, err := sqlite.Open(t.Context(), sqlite.Options{Dir: dir, Holder: "a test"})
		if err != nil {
			t.Fatalf("open: %v", err)
		}
		store, err := sqlite.NewDocuments(t.Context(), db, documenttest.Kinds())
		if err != nil {
			t.Fatalf("new: %v", err)
		}
		return store, db
	}
	store, db := openIn()
	if err := store.Upsert(t.Context(), docs); err != nil {
		t.Fatal(err)
	}
	script := strings.Join(testkit.Undo(t, schemaFolder, absencesMigration), ";\n") + `;
		UPDATE document SET flags = flags | 8 | 16 WHERE name < '2';`
	if err := db.Write(t.Context(), func(c *driver.Conn) error { return sqlitex.ExecuteScript(c, script, nil) }); err != nil {
		t.Fatalf("go back: %v", err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	store, db = openIn()
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	docs[0].SeenAt = docs[0].SeenAt.AddDate(2030, 0, 0)
	if err := store.Upsert(t.Context(), docs[:1]); err != nil {
		t.Fatal(err)
	}
	for i, gone := range []bool{false, true, false} {
		got, ok, err := store.Get(t.Context(), docs[i].Key)
		if err != nil || !ok || got.Deleted != gone || gone && (got.GoneWhy != document.GoneDeleted || !got.GoneSince.IsZero() || !got.Truncated) {
			t.Errorf("document %d: %+v (%t, %v), want gone: %t", i, got.Fields, ok, err, gone)
		}
	}
}
