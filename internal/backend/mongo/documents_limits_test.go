package mongo_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"sluice/internal/document"
	"sluice/internal/domain"
	"sluice/internal/testkit"
)

// noise does not compress.
func noise(n int) []byte {
	dice, b := rand.NewChaCha8([32]byte{}), make([]byte, n)
	_, _ = dice.Read(b)
	return b
}

// TestDocumentsTooLargeADocument: it is refused before anything is stored, with words
// that say which it is.
func TestDocumentsTooLargeADocument(t *testing.T) {
	store := openDocuments(t, testkit.Mongo(t))
	small, large := pull("small", 1), pull("huge", 1)
	large.Raw = noise(17 << 20)
	err := store.Upsert(t.Context(), []document.Document{small, large})
	if domain.CodeOf(err) != domain.CodeInvalid || !strings.Contains(err.Error(), `pull "huge" of account 7`) {
		t.Errorf("got %v, want code invalid and the document's name", err)
	}
	if n, err := store.Count(t.Context(), 7); err != nil || len(n) != 0 {
		t.Errorf("%v (%v) are stored, want nothing", n, err)
	}
	// What compresses well may be larger than that.
	large.Raw = bytes.Repeat([]byte(`{"a":1}`), 3<<20)
	if err := store.Upsert(t.Context(), []document.Document{large}); err != nil {
		t.Fatalf("a payload of %d bytes that compresses well: %v", len(large.Raw), err)
	}
	got, found, err := store.Get(t.Context(), large.Key)
	if err != nil || !found || !bytes.Equal(got.Raw, large.Raw) {
		t.Errorf("%d bytes came back (%t, %v), want %d", len(got.Raw), found, err, len(large.Raw))
	}
}

// TestDocumentsPagesAreBounded scans payloads that make several calls to write and
// several pages to read, though they are few.
func TestDocumentsPagesAreBounded(t *testing.T) {
	t.Parallel()
	const documents = 6
	store := openDocuments(t, testkit.Mongo(t))
	var page []document.Document
	for i := range documents {
		d := pull(fmt.Sprint(i), 1)
		d.Raw = noise(3<<20 + i)
		page = append(page, d)
	}
	if err := store.Upsert(t.Context(), page); err != nil {
		t.Fatalf("upsert: %v", err)
	}
	next := 0
	err := store.Scan(t.Context(), document.Query{WithRaw: true}, func(d *document.Document) error {
		if d.Name != fmt.Sprint(next) || !bytes.Equal(d.Raw, page[next].Raw) {
			t.Errorf("place %d has document %s with %d bytes", next, d.Name, len(d.Raw))
		}
		next++
		return nil
	})
	if err != nil || next != documents {
		t.Errorf("scanned %d documents (%v), want %d", next, err, documents)
	}
}

// TestDocumentsDamagedPayload: it is an error that says so, never half a body.
func TestDocumentsDamagedPayload(t *testing.T) {
	url := testkit.Mongo(t)
	store, doc := openDocuments(t, url), pull("1", 1)
	if err := store.Upsert(t.Context(), []document.Document{doc}); err != nil {
		t.Fatalf("upsert: %v", err)
	}
	_, err := collection(t, url, "documents").UpdateMany(t.Context(), bson.D{},
		bson.D{{Key: "$set", Value: bson.D{{Key: "payload", Value: []byte("no frame")}}}})
	if err != nil {
		t.Fatalf("damage: %v", err)
	}
	if _, _, err := store.Get(t.Context(), doc.Key); domain.CodeOf(err) != domain.CodeCorrupt {
		t.Errorf("get: %v, want code corrupt", err)
	}
	count := func(*document.Document) error { return nil }
	if err := store.Scan(t.Context(), document.Query{WithRaw: true}, count); domain.CodeOf(err) != domain.CodeCorrupt {
		t.Errorf("scan: %v, want code corrupt", err)
	}
	if err := store.Scan(t.Context(), document.Query{}, count); err != nil {
		t.Errorf("a scan that needs no payload: %v", err)
	}
}

func TestDocumentsAwkwardText(t *testing.T) {
	store, doc := openDocuments(t, testkit.Mongo(t)), pull("1", 1)
	doc.Title = "half \xff\xfe a letter"
	if err := store.Upsert(t.Context(), []document.Document{doc}); err != nil {
		t.Fatalf("upsert: %v", err)
	}
	got, _, err := store.Get(t.Context(), doc.Key)
	if err != nil || got.Title != "half \uFFFD a letter" {
		t.Errorf("got %q, %v", got.Title, err)
	}
	doc.Name = "\xff"
	if err := store.Upsert(t.Context(), []document.Document{doc}); domain.CodeOf(err) != domain.CodeInvalid {
		t.Errorf("a name that is not UTF-8: %v, want code invalid", err)
	}
}
