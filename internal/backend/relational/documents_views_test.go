package relational_test

import (
	"database/sql"
	"fmt"
	"sync"
	"testing"

	"sluice/internal/backend/relational"
	"sluice/internal/document"
	"sluice/internal/document/documenttest"
	"sluice/internal/domain"
)

func anyRows(t *testing.T, db *relational.DB, query string) (rows [][]any) {
	t.Helper()
	err := db.Query(t.Context(), func(r *sql.Rows) error {
		columns, err := r.Columns()
		if err != nil {
			return err
		}
		row, into := make([]any, len(columns)), make([]any, len(columns))
		for i := range row {
			into[i] = &row[i]
		}
		rows = append(rows, row)
		return r.Scan(into...)
	}, query)
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

// openAlone opens a database that no other test gets, as views stay when the rows of a
// database are removed. What tests ask of views is not explained: people ask that.
func openAlone(t *testing.T, on server, url string) *relational.DB {
	t.Helper()
	db, err := on.open(t.Context(), url, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return db
}

func TestViewsShowWhatColumnsSay(t *testing.T) {
	t.Parallel()
	eachServer(t, testViewsShowWhatColumnsSay)
}

func testViewsShowWhatColumnsSay(t *testing.T, on server) {
	db := openAlone(t, on, on.bare(t))
	documenttest.RunViews(t, documenttest.Viewed{
		Open: func(t *testing.T, kinds document.Kinds) document.Store {
			store, err := relational.NewDocuments(t.Context(), db, kinds)
			if err != nil {
				t.Fatal(err)
			}
			return store
		},
		AddAccount: func(t *testing.T, a domain.Account) {
			_, err := db.Exec(t.Context(), fmt.Sprintf(`INSERT INTO account (id, identity, source, login, state, reason, owner, key_id, credential, credential_hash, created_at, updated_at)
				VALUES (%d, X'%032x', ?, ?, 'active', '', '', '', X'', X'%032x', 1, 1)`, a.ID, a.ID, a.ID), a.Source, a.Login)
			if err != nil {
				t.Fatal(err)
			}
		},
		Rows:  func(t *testing.T, query string) [][]any { return anyRows(t, db, query) },
		Quote: db.Dialect().Views.Quote,
	})
}

// things are kinds of one table.
func things(columns ...document.Column) document.Kinds {
	return document.Kinds{{Kind: "thing", Source: "suite", Plural: "things", Columns: append(columns,
		document.Column{Name: "id", Type: document.TypeText, From: document.FromName})}}
}

var titleColumn = document.Column{Name: "title", Type: document.TypeText, From: document.FromTitle}

// TestViewsAreMadeByOne: several processes that start at once agree, and who finds
// the views as declared only reads.
func TestViewsAreMadeByOne(t *testing.T) {
	t.Parallel()
	eachServer(t, testViewsAreMadeByOne)
}

func testViewsAreMadeByOne(t *testing.T, on server) {
	url := on.bare(t)
	var all sync.WaitGroup
	for range 5 {
		db := openAlone(t, on, url)
		all.Go(func() {
			if _, err := relational.NewDocuments(t.Context(), db, things()); err != nil {
				t.Errorf("one of several: %v", err)
			}
		})
	}
	all.Wait()
	db := openAlone(t, on, url)
	before := db.Transactions()
	if _, err := relational.NewDocuments(t.Context(), db, things()); err != nil {
		t.Fatal(err)
	}
	if after := db.Transactions(); after != before {
		t.Errorf("a database whose views are there was written %d times", after-before)
	}
}

// TestViewsLeaveOthersAlone: a view that somebody else has made keeps its name, and
// one that others have built on ours does not keep the service from starting.
func TestViewsLeaveOthersAlone(t *testing.T) {
	t.Parallel()
	eachServer(t, testViewsLeaveOthersAlone)
}

func testViewsLeaveOthersAlone(t *testing.T, on server) {
	db := openAlone(t, on, on.bare(t))
	run := func(statement string) {
		t.Helper()
		if _, err := db.Exec(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	start := func(columns ...document.Column) {
		t.Helper()
		if _, err := relational.NewDocuments(t.Context(), db, things(columns...)); err != nil {
			t.Fatal(err)
		}
	}
	run("CREATE VIEW things AS SELECT 7 AS seven")
	for range 2 {
		start()
		if got := anyRows(t, db, "SELECT seven FROM things"); len(got) != 1 {
			t.Errorf("somebody's own view shows %v", got)
		}
		anyRows(t, db, "SELECT id FROM collected_things")
	}
	run("DROP VIEW things")
	start()
	run("CREATE VIEW mine AS SELECT id FROM things")
	// A column in front: PostgreSQL cannot replace the view, and mine needs it.
	start(titleColumn)
	anyRows(t, db, "SELECT id FROM mine")
	run("DROP VIEW mine")
	start(titleColumn)
	anyRows(t, db, "SELECT title, id FROM things")
}
