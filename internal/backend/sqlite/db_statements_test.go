package sqlite_test

import (
	"fmt"
	"reflect"
	"slices"
	"testing"
	"unsafe"

	"modernc.org/libc"
	lib "modernc.org/sqlite/lib"
	driver "zombiezen.com/go/sqlite"

	"sluice/internal/backend/sqlite"
	"sluice/internal/document"
)

// TestPlansAreKept: a statement that is run with other values is not planned anew.
func TestPlansAreKept(t *testing.T) {
	store, db := openDocuments(t)
	docs := documentPage(50)
	if err := store.Upsert(t.Context(), docs); err != nil {
		t.Fatal(err)
	}
	var keys []document.Key
	for i := range docs {
		keys = append(keys, docs[i].Key)
	}
	found, err := store.Find(t.Context(), keys, false)
	if err != nil || len(found) != len(docs) {
		t.Fatalf("%d of %d documents are found: %v", len(found), len(docs), err)
	}
	statements := 0
	for range connections {
		err = db.Read(t.Context(), func(c *driver.Conn) error {
			inside := reflect.ValueOf(c).Elem()
			tls := (*libc.TLS)(unsafe.Pointer(inside.FieldByName("tls").Pointer()))
			for query, stmt := range inside.FieldByName("stmts").Seq2() {
				statements++
				again := lib.Xsqlite3_stmt_status(tls, uintptr(stmt.Elem().FieldByName("stmt").Uint()), lib.SQLITE_STMTSTATUS_REPREPARE, 0)
				// Once is because of tables that were made meanwhile.
				if again > 1 {
					t.Errorf("planned %d times anew: %s", again, query)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if statements == 0 {
		t.Error("no connection remembers a statement: are they looked for where they are?")
	}
}

// TestNothingStaysBound: who binds fewer parameters than the one before finds the
// others null.
func TestNothingStaysBound(t *testing.T) {
	db := openIn(t, t.TempDir())
	var got []string
	err := db.Write(t.Context(), func(c *driver.Conn) error {
		for _, args := range [][]any{{"a", "b"}, {"c"}, {"d", "e"}, {}} {
			read := func(r *driver.Stmt) { got = append(got, r.ColumnText(0)) }
			if err := sqlite.Exec(c, "SELECT ifnull(?, '-') || ifnull(?, '-')", read, args...); err != nil {
				return err
			}
		}
		return nil
	})
	if want := []string{"ab", "c-", "de", "--"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("got %v, %v, want %v", got, err, want)
	}
}

// TestAWidenedTableIsAnAlteredOne: columns stand in the definition of the table of a
// new file where they stand if they are added to one that holds something.
func TestAWidenedTableIsAnAlteredOne(t *testing.T) {
	var own []document.Column
	for i, typ := range []document.Type{document.TypeInteger, document.TypeText, document.TypeInteger} {
		own = append(own, document.Column{Name: fmt.Sprint("more_", i), Type: typ, From: document.FromOwn, Nullable: true})
	}
	definition := func(filled bool) []string {
		db := openIn(t, t.TempDir())
		if filled {
			one := document.Document{Key: document.Key{Account: 1, Kind: "thing", Name: "one"}}
			if err := openKinds(t, db, things()).Upsert(t.Context(), []document.Document{one}); err != nil {
				t.Fatal(err)
			}
		}
		openKinds(t, db, things(own...))
		var texts []string
		for _, row := range anyRows(t, db, "SELECT name, coalesce(sql, '') FROM sqlite_schema WHERE tbl_name = 'document' ORDER BY name") {
			texts = append(texts, fmt.Sprint(row...))
		}
		return texts
	}
	widened, altered := definition(false), definition(true)
	if !slices.Equal(widened, altered) || len(widened) < 7 {
		t.Errorf("a new file has\n%q\nand one that held something\n%q", widened, altered)
	}
}
