package sqlite_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	driver "zombiezen.com/go/sqlite"

	"sluice/internal/backend/sqlite"
	"sluice/internal/document"
	"sluice/internal/document/documenttest"
	"sluice/internal/domain"
)

func openDocuments(t *testing.T) (*sqlite.Documents, *sqlite.DB) {
	t.Helper()
	db := openIn(t, t.TempDir())
	store, err := sqlite.NewDocuments(t.Context(), db, documenttest.Kinds())
	if err != nil {
		t.Fatalf("new: %v", err)
	}
	return store, db
}

func TestDocumentsConformance(t *testing.T) {
	suites.after(t)
	documenttest.Run(t, documenttest.Factory{Open: func(t *testing.T) func(document.Kinds) (document.Store, error) {
		db := openIn(t, t.TempDir())
		return func(kinds document.Kinds) (document.Store, error) { return sqlite.NewDocuments(t.Context(), db, kinds) }
	}})
}

func TestFeedConformance(t *testing.T) {
	suites.after(t)
	documenttest.RunFeed(t, documenttest.Factory{Open: func(t *testing.T) func(document.Kinds) (document.Store, error) {
		db := openIn(t, t.TempDir())
		return func(kinds document.Kinds) (document.Store, error) { return sqlite.NewDocuments(t.Context(), db, kinds) }
	}})
}

func TestFillingsConformance(t *testing.T) {
	suites.after(t)
	documenttest.RunFillings(t, sqlite.NewFillings(openIn(t, t.TempDir())))
}

func documentPage(n int) []document.Document {
	docs := make([]document.Document, n)
	for i := range docs {
		docs[i].Key = document.Key{Account: 1, Kind: documenttest.KindCommit, Name: fmt.Sprint(i)}
		docs[i].Raw = fmt.Appendf(nil, `{"sha":"%040d","author":{"login":"octocat","type":"User"},"message":"%s"}`, i, strings.Repeat("fix ", 20))
	}
	return docs
}

// TestNeighboursAreCompressedTogether is why payloads are stored in chunks.
func TestNeighboursAreCompressedTogether(t *testing.T) {
	store, db := openDocuments(t)
	docs := documentPage(100)
	plain := 0
	for _, d := range docs {
		plain += len(d.Raw)
	}
	if err := store.Upsert(t.Context(), docs); err != nil {
		t.Fatalf("upsert: %v", err)
	}
	var chunks, stored int
	err := db.Read(t.Context(), func(c *driver.Conn) error {
		return sqlite.Exec(c, "SELECT count(*), sum(length(data)) FROM chunk", func(r *driver.Stmt) {
			chunks, stored = r.ColumnInt(0), r.ColumnInt(1)
		})
	})
	if err != nil || chunks != 1 || stored*5 > plain {
		t.Errorf("%d bytes became %d in %d chunks (%v), want a fifth of it in one", plain, stored, chunks, err)
	}
}

// TestDamagedPayload: a payload that cannot be trusted is an error that says
// so, never a document with half a body.
func TestDamagedPayload(t *testing.T) {
	for name, damage := range map[string]string{
		"cut off":   "UPDATE chunk SET data = substr(data, 1, length(data) - 9)",
		"garbage":   "UPDATE chunk SET data = randomblob(200)",
		"too short": "UPDATE document SET chunk_start = 1000000",
	} {
		t.Run(name, func(t *testing.T) {
			store, db := openDocuments(t)
			docs := documentPage(3)
			if err := store.Upsert(t.Context(), docs); err != nil {
				t.Fatalf("upsert: %v", err)
			}
			err := db.Write(t.Context(), func(c *driver.Conn) error { return sqlite.Exec(c, damage, nil) })
			if err != nil {
				t.Fatalf("damage: %v", err)
			}
			if _, _, err := store.Get(t.Context(), docs[0].Key); domain.CodeOf(err) != domain.CodeCorrupt {
				t.Errorf("get: %v, want code corrupt", err)
			}
			err = store.Scan(t.Context(), document.Query{WithRaw: true}, func(*document.Document) error { return nil })
			if domain.CodeOf(err) != domain.CodeCorrupt {
				t.Errorf("scan: %v, want code corrupt", err)
			}
			if err := store.Scan(t.Context(), document.Query{}, func(*document.Document) error { return nil }); err != nil {
				t.Errorf("a scan that needs no payload: %v", err)
			}
		})
	}
}

// TestPackedWriteCanRunAgain: a group that is rolled back is applied once more.
func TestPackedWriteCanRunAgain(t *testing.T) {
	store, db := openDocuments(t)
	docs := documentPage(10)
	packed, err := store.Pack(t.Context(), docs)
	if err != nil {
		t.Fatalf("pack: %v", err)
	}
	write := func(c *driver.Conn) error {
		return store.Write(t.Context(), c, []*sqlite.PackedDocuments{packed}, nil)
	}
	undone := domain.Errorf(domain.CodeConflict, "undone")
	err = db.Write(t.Context(), func(c *driver.Conn) error {
		if err := write(c); err != nil {
			return err
		}
		return undone
	})
	if domain.CodeOf(err) != domain.CodeConflict {
		t.Fatalf("got %v", err)
	}
	if _, found, err := store.Get(t.Context(), docs[0].Key); found || err != nil {
		t.Fatalf("an undone document is there (%v)", err)
	}
	if err := db.Write(t.Context(), write); err != nil {
		t.Fatalf("second time: %v", err)
	}
	got, found, err := store.Get(t.Context(), docs[7].Key)
	if err != nil || !found || !bytes.Equal(got.Raw, docs[7].Raw) {
		t.Errorf("got %q, %v, %v", got.Raw, found, err)
	}
}

// TestReplacedPayloadsAreRemoved lets every document of a page be replaced, and
// one of another: only the first page's chunk has no reader left.
func TestReplacedPayloadsAreRemoved(t *testing.T) {
	store, db := openDocuments(t)
	write := func(docs []document.Document) {
		t.Helper()
		if err := store.Upsert(t.Context(), docs); err != nil {
			t.Fatalf("upsert: %v", err)
		}
	}
	chunks := func() (n int) {
		t.Helper()
		err := db.Read(t.Context(), func(c *driver.Conn) error {
			return sqlite.Exec(c, "SELECT count(*) FROM chunk", func(r *driver.Stmt) { n = r.ColumnInt(0) })
		})
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	compact := func(received int64) {
		t.Helper()
		if err := db.Write(t.Context(), func(c *driver.Conn) error { return store.Compact(t.Context(), c, 1, received) }); err != nil {
			t.Fatalf("compact: %v", err)
		}
	}
	old := documentPage(10)
	write(old[:5])
	write(old[5:])
	for i := range old[:6] {
		old[i].Title = "changed"
	}
	write(old[:6])
	write(old) // nothing new: no chunk
	compact(0)
	if n := chunks(); n != 3 {
		t.Errorf("%d chunks after a run that brought nothing, want 3", n)
	}
	compact(6)
	if n := chunks(); n != 2 {
		t.Errorf("%d chunks are left, want 2", n)
	}
	for _, d := range old {
		got, ok, err := store.Get(t.Context(), d.Key)
		if err != nil || !ok || !bytes.Equal(got.Raw, d.Raw) {
			t.Errorf("%s: %t, %v, payload %q", d.Name, ok, err, got.Raw)
		}
	}
}

// TestCompactLeavesOtherAccounts: a batch may hold documents of several.
func TestCompactLeavesOtherAccounts(t *testing.T) {
	store, db := openDocuments(t)
	both := documentPage(2)
	both[1].Account = 2
	if err := store.Upsert(t.Context(), both); err != nil {
		t.Fatal(err)
	}
	both[0].Title = "changed"
	if err := store.Upsert(t.Context(), both[:1]); err != nil {
		t.Fatal(err)
	}
	if err := db.Write(t.Context(), func(c *driver.Conn) error { return store.Compact(t.Context(), c, 1, 100) }); err != nil {
		t.Fatal(err)
	}
	got, ok, err := store.Get(t.Context(), both[1].Key)
	if err != nil || !ok || !bytes.Equal(got.Raw, both[1].Raw) {
		t.Errorf("the other account's document: %t, %v, payload %q", ok, err, got.Raw)
	}
}
