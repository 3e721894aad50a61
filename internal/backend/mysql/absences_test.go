package mysql_test

import (
	"testing"

	"sluice/internal/backend/mysql"
	"sluice/internal/backend/relational"
	"sluice/internal/document"
	"sluice/internal/document/documenttest"
	"sluice/internal/testkit"
)

// absences is the migration that is tested.
const (
	migrations = "schema"
	absences   = 7
)

// TestFlagsBecomeAbsences opens a database of the time when what was gone was a
// flag: that goes on as an absence of which nobody knows since when. The
// migration can be interrupted anywhere.
func TestFlagsBecomeAbsences(t *testing.T) {
	url := testkit.MariaDB(t)
	openIt := func() (*relational.Documents, *relational.DB) {
		db, err := mysql.Open(t.Context(), mysql.Options{URL: url})
		if err != nil {
			t.Fatalf("open: %v", err)
		}
		store, err := relational.NewDocuments(t.Context(), db, documenttest.Kinds())
		if err != nil {
			t.Fatalf("new: %v", err)
		}
		return store, db
	}
	docs := make([]document.Document, 3)
	for i := range docs {
		docs[i].Key = document.Key{Account: 1, Kind: documenttest.KindIssue, Name: string(rune('0' + i))}
		docs[i].Raw, docs[i].Repository, docs[i].Truncated = []byte("{}"), 7, true
	}
	store, db := openIt()
	if err := store.Upsert(t.Context(), docs); err != nil {
		t.Fatal(err)
	}
	run := func(statements ...string) {
		t.Helper()
		err := db.Tx(t.Context(), func(tx *relational.Tx) error {
			for _, s := range statements {
				if _, err := tx.ExecContext(t.Context(), s); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatalf("go back: %v", err)
		}
	}
	undo := testkit.Undo(t, migrations, absences)
	forget := undo[len(undo)-1]
	run(undo...)
	run("UPDATE document SET flags = flags | 8 WHERE name < '2'")
	for range 2 { // the second time, all of it was done but for the last word
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		store, db = openIt()
		run(forget)
	}
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
