package sqlite_test

import (
	"strings"
	"sync"
	"testing"

	driver "zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"sluice/internal/backend/sqlite"
	"sluice/internal/document"
	"sluice/internal/document/documenttest"
	"sluice/internal/document/views"
	"sluice/internal/domain"
)

const addAccount = `INSERT INTO account (id, source, login, state, owner, key_id, credential, credential_name, created_at, updated_at)
	VALUES (?, ?, ?, 'active', '', '', x'', '', 1, 1)`

func anyRows(t *testing.T, db *sqlite.DB, query string) (rows [][]any) {
	t.Helper()
	// What people ask is not ours to explain: it does not go through Exec.
	err := db.Read(t.Context(), func(c *driver.Conn) error {
		return sqlitex.ExecuteTransient(c, query, &sqlitex.ExecOptions{ResultFunc: func(r *driver.Stmt) error {
			row := make([]any, r.ColumnCount())
			for i := range row {
				if r.ColumnType(i) != driver.TypeNull {
					row[i] = r.ColumnText(i)
				}
			}
			rows = append(rows, row)
			return nil
		}})
	})
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

// change does something to a database that no store does.
func change(t *testing.T, db *sqlite.DB, statement string, args ...any) {
	t.Helper()
	err := db.Write(t.Context(), func(c *driver.Conn) error {
		return sqlitex.ExecuteTransient(c, statement, &sqlitex.ExecOptions{Args: args})
	})
	if err != nil {
		t.Fatal(err)
	}
}

func openKinds(t *testing.T, db *sqlite.DB, kinds document.Kinds) *sqlite.Documents {
	t.Helper()
	store, err := sqlite.NewDocuments(t.Context(), db, kinds)
	if err != nil {
		t.Fatal(err)
	}
	return store
}

func TestViewsShowWhatColumnsSay(t *testing.T) {
	db := openIn(t, t.TempDir())
	documenttest.RunViews(t, documenttest.Viewed{
		Open: func(t *testing.T, kinds document.Kinds) document.Store { return openKinds(t, db, kinds) },
		AddAccount: func(t *testing.T, a domain.Account) {
			change(t, db, addAccount, a.ID, a.Source, a.Login)
		},
		Rows:  func(t *testing.T, query string) [][]any { return anyRows(t, db, query) },
		Quote: views.SQLite().Quote,
	})
}

// things are kinds of one table.
func things(columns ...document.Column) document.Kinds {
	return document.Kinds{{Kind: "thing", Source: "suite", Plural: "things", Columns: append([]document.Column{
		{Name: "id", Type: document.TypeText, From: document.FromName}}, columns...)}}
}

// TestViewsAreMadeOnce: who opens a database whose views are as declared writes
// nothing, and several who open it at once agree.
func TestViewsAreMadeOnce(t *testing.T) {
	db := openIn(t, t.TempDir())
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() { _ = openKinds(t, db, things()) })
	}
	all.Wait()
	before := db.Transactions()
	openKinds(t, db, things())
	if after := db.Transactions(); after != before {
		t.Errorf("a database whose views are there was written %d times", after-before)
	}
	openKinds(t, db, things(document.Column{Name: "title", Type: document.TypeText, From: document.FromTitle}))
	if got := len(anyRows(t, db, "SELECT id, title FROM things")); got != 0 {
		t.Errorf("there are %d things", got)
	}
}

// TestViewsLeaveOthersAlone: a table or a view that somebody else has made keeps
// its name.
func TestViewsLeaveOthersAlone(t *testing.T) {
	db := openIn(t, t.TempDir())
	change(t, db, "CREATE VIEW Things AS SELECT 7 AS seven")
	for range 2 {
		openKinds(t, db, things())
		if got := anyRows(t, db, "SELECT seven FROM things"); len(got) != 1 || got[0][0] != "7" {
			t.Errorf("somebody's own view shows %v", got)
		}
		text := anyRows(t, db, "SELECT sql FROM sqlite_schema WHERE name = 'collected_things'")
		if len(text) != 1 || !strings.Contains(text[0][0].(string), views.Mark) {
			t.Errorf("the view beside it is %v", text)
		}
	}
}
