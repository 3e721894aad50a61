package relational_test

import (
	"bytes"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"sluice/internal/backend/relational"
	"sluice/internal/document"
	"sluice/internal/document/documenttest"
	"sluice/internal/domain"
)

func documentPage(n int) []document.Document {
	docs := make([]document.Document, n)
	for i := range docs {
		docs[i].Key = document.Key{Account: 1, Kind: documenttest.KindCommit, Name: fmt.Sprint(i)}
		docs[i].Raw = fmt.Appendf(nil, `{"sha":"%040d","author":{"login":"octocat","type":"User"},"message":"%s"}`, i, strings.Repeat("fix ", 20))
	}
	return docs
}

func upsertDocuments(t *testing.T, store *relational.Documents, docs []document.Document) {
	t.Helper()
	if err := store.Upsert(t.Context(), docs); err != nil {
		t.Fatalf("upsert: %v", err)
	}
}

// wantStored checks the payloads of documents.
func wantStored(t *testing.T, store *relational.Documents, docs []document.Document) {
	t.Helper()
	for _, d := range docs {
		got, ok, err := store.Get(t.Context(), d.Key)
		if err != nil || !ok || !bytes.Equal(got.Raw, d.Raw) {
			t.Errorf("%s: %t, %v, payload of %d bytes", d.Name, ok, err, len(got.Raw))
		}
	}
}

// countChunks counts the chunks and their bytes.
func countChunks(t *testing.T, db *relational.DB) (n, stored int) {
	t.Helper()
	err := db.Query(t.Context(), func(r *sql.Rows) error { return r.Scan(&n, &stored) }, "SELECT COUNT(*), COALESCE(SUM(LENGTH(data)), 0) FROM chunk")
	if err != nil {
		t.Fatalf("count: %v", err)
	}
	return n, stored
}

// TestNeighboursAreCompressedTogether is why payloads are stored in chunks.
func TestNeighboursAreCompressedTogether(t *testing.T) {
	t.Parallel()
	eachServer(t, testNeighboursAreCompressedTogether)
}

func testNeighboursAreCompressedTogether(t *testing.T, on server) {
	store, db := openDocuments(t, on)
	docs := documentPage(100)
	plain := 0
	for _, d := range docs {
		plain += len(d.Raw)
	}
	upsertDocuments(t, store, docs)
	if n, stored := countChunks(t, db); n != 1 || stored*5 > plain {
		t.Errorf("%d bytes became %d in %d chunks, want a fifth of it in one", plain, stored, n)
	}
}

// TestDamagedPayload: a payload that cannot be trusted is an error that says
// so, never a document with half a body.
func TestDamagedPayload(t *testing.T) {
	t.Parallel()
	eachServer(t, testDamagedPayload)
}

func testDamagedPayload(t *testing.T, on server) {
	for name, damage := range map[string]string{
		"cut off":   "UPDATE chunk SET data = SUBSTR(data, 1, LENGTH(data) - 9)",
		"garbage":   "UPDATE chunk SET data = X'" + strings.Repeat("C7", 200) + "'",
		"too short": "UPDATE document SET chunk_start = 1000000",
		"missing":   "DELETE FROM chunk",
	} {
		t.Run(name, func(t *testing.T) {
			store, db := openDocuments(t, on)
			docs := documentPage(3)
			upsertDocuments(t, store, docs)
			if _, err := db.Exec(t.Context(), damage); err != nil {
				t.Fatalf("damage: %v", err)
			}
			if _, _, err := store.Get(t.Context(), docs[0].Key); domain.CodeOf(err) != domain.CodeCorrupt {
				t.Errorf("get: %v, want code corrupt", err)
			}
			err := store.Scan(t.Context(), document.Query{WithRaw: true}, func(*document.Document) error { return nil })
			if domain.CodeOf(err) != domain.CodeCorrupt {
				t.Errorf("scan: %v, want code corrupt", err)
			}
			if err := store.Scan(t.Context(), document.Query{}, func(*document.Document) error { return nil }); err != nil {
				t.Errorf("a scan that needs no payload: %v", err)
			}
		})
	}
}

// TestPackedRowsCanBeWrittenAgain: a transaction that is undone is repeated.
func TestPackedRowsCanBeWrittenAgain(t *testing.T) {
	t.Parallel()
	eachServer(t, testPackedRowsCanBeWrittenAgain)
}

func testPackedRowsCanBeWrittenAgain(t *testing.T, on server) {
	store, db := openDocuments(t, on)
	docs := documentPage(10)
	rows, err := store.Pack(t.Context(), docs)
	if err != nil {
		t.Fatalf("pack: %v", err)
	}
	err = db.Tx(t.Context(), func(tx *relational.Tx) error {
		if err := store.Write(t.Context(), tx, []*relational.PackedDocuments{rows}, nil); err != nil {
			return err
		}
		return domain.Errorf(domain.CodeConflict, "undone")
	})
	if domain.CodeOf(err) != domain.CodeConflict {
		t.Fatalf("got %v", err)
	}
	if _, found, err := store.Get(t.Context(), docs[0].Key); found || err != nil {
		t.Fatalf("an undone document is there (%v)", err)
	}
	if err := db.Tx(t.Context(), func(tx *relational.Tx) error {
		return store.Write(t.Context(), tx, []*relational.PackedDocuments{rows}, nil)
	}); err != nil {
		t.Fatalf("second time: %v", err)
	}
	wantStored(t, store, docs)
}

// TestReplacedPayloadsAreRemoved lets every document of a page be replaced, and
// one of another: only the first page's chunk has no reader left.
func TestReplacedPayloadsAreRemoved(t *testing.T) {
	t.Parallel()
	eachServer(t, testReplacedPayloadsAreRemoved)
}

func testReplacedPayloadsAreRemoved(t *testing.T, on server) {
	store, db := openDocuments(t, on)
	compact := func(received int64, want int) {
		t.Helper()
		if err := db.Tx(t.Context(), func(tx *relational.Tx) error { return store.Compact(t.Context(), tx, 1, received) }); err != nil {
			t.Fatalf("compact: %v", err)
		}
		if n, _ := countChunks(t, db); n != want {
			t.Errorf("%d chunks are left, want %d", n, want)
		}
	}
	old := documentPage(10)
	upsertDocuments(t, store, old[:5])
	upsertDocuments(t, store, old[5:])
	for i := range old[:6] {
		old[i].Title = "changed"
	}
	upsertDocuments(t, store, old[:6])
	upsertDocuments(t, store, old) // nothing new: no chunk
	compact(0, 3)
	compact(6, 2)
	wantStored(t, store, old)
}

// TestAccountsDoNotShareChunks: what one account replaces must not take away
// another's payloads.
func TestAccountsDoNotShareChunks(t *testing.T) {
	t.Parallel()
	eachServer(t, testAccountsDoNotShareChunks)
}

func testAccountsDoNotShareChunks(t *testing.T, on server) {
	store, db := openDocuments(t, on)
	docs := documentPage(4)
	docs[1].Account, docs[3].Account = 2, 2
	upsertDocuments(t, store, docs)
	docs[0].Title, docs[2].Title = "changed", "changed"
	upsertDocuments(t, store, []document.Document{docs[0], docs[2]})
	if err := db.Tx(t.Context(), func(tx *relational.Tx) error { return store.Compact(t.Context(), tx, 1, 100) }); err != nil {
		t.Fatalf("compact: %v", err)
	}
	wantStored(t, store, docs)
}

// TestCompactSparesWhatIsBeingWritten: a chunk that is not committed yet is no
// chunk without readers.
func TestCompactSparesWhatIsBeingWritten(t *testing.T) {
	t.Parallel()
	eachServer(t, testCompactSparesWhatIsBeingWritten)
}

func testCompactSparesWhatIsBeingWritten(t *testing.T, on server) {
	store, db := openDocuments(t, on)
	docs := documentPage(3)
	rows, err := store.Pack(t.Context(), docs)
	if err != nil {
		t.Fatalf("pack: %v", err)
	}
	err = db.Tx(t.Context(), func(writer *relational.Tx) error {
		if err := store.Write(t.Context(), writer, []*relational.PackedDocuments{rows}, nil); err != nil {
			return err
		}
		return db.Tx(t.Context(), func(tx *relational.Tx) error { return store.Compact(t.Context(), tx, 1, 100) })
	})
	if err != nil {
		t.Fatalf("write: %v", err)
	}
	wantStored(t, store, docs)
}

// TestPayloadsOfAnySize: one that does not fit into a statement is sent in
// parts, one that does not fit into a packet is refused.
func TestPayloadsOfAnySize(t *testing.T) {
	t.Parallel()
	someServer(t, testPayloadsOfAnySize)
}

func testPayloadsOfAnySize(t *testing.T, on server) {
	store, db := openDocuments(t, on)
	noise := func(n int) []byte {
		b := make([]byte, n)
		_, _ = rand.NewChaCha8([32]byte{7, byte(n)}).Read(b) // it never fails
		return b
	}
	docs := documentPage(3)
	docs[1].Raw = noise(db.MaxPacket() - 20_000)
	// A machine that is busy with others may take so long to write such a statement
	// that the server gives the transaction up: then it is tried again, as always.
	tried := 0
	for err := store.Upsert(t.Context(), docs); err != nil; err = store.Upsert(t.Context(), docs) {
		if tried++; domain.CodeOf(err) != domain.CodeUnavailable || tried == 5 {
			t.Fatalf("upsert, tried %d times: %v", tried, err)
		}
	}
	wantStored(t, store, docs)
	docs[2].Raw = noise(db.MaxPacket())
	err := store.Upsert(t.Context(), docs)
	if domain.CodeOf(err) != domain.CodeInvalid || !strings.Contains(err.Error(), "max_allowed_packet") || !strings.Contains(err.Error(), `"2"`) {
		t.Errorf("a payload that is too large: %v, want code invalid and the way out", err)
	}
}

// TestScanOfLongNames pages through names that are longer than the key, and
// that differ in what the key leaves out.
func TestScanOfLongNames(t *testing.T) {
	t.Parallel()
	eachServer(t, testScanOfLongNames)
}

func testScanOfLongNames(t *testing.T, on server) {
	store, _ := openDocuments(t, on)
	const n = 300
	long := strings.Repeat("n", 3000)
	var docs []document.Document
	for i := range n {
		docs = append(docs, document.Document{Key: document.Key{Account: 1, Kind: document.Kind(long), Name: fmt.Sprintf("%s%d", long, i)}})
	}
	upsertDocuments(t, store, docs)
	for _, q := range []document.Query{{WithRaw: true}, {Account: 1, WithRaw: true}, {Account: 1, Kind: document.Kind(long), WithRaw: true}} {
		seen := map[document.Key]bool{}
		if err := store.Scan(t.Context(), q, func(d *document.Document) error { seen[d.Key] = true; return nil }); err != nil {
			t.Fatalf("scan: %v", err)
		}
		for _, d := range docs {
			if !seen[d.Key] {
				t.Fatalf("%d of %d documents were seen", len(seen), n)
			}
		}
	}
}
