package backfill_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"sluice/internal/backend/sqlite"
	"sluice/internal/document"
	"sluice/internal/document/backfill"
)

const thing document.Kind = "thing"

// kinds are of things with a colour, or without before that was declared.
func kinds(columns ...document.Column) document.Kinds {
	return document.Kinds{{Kind: thing, Source: "test", Plural: "things", Columns: columns, Read: func(raw []byte, f *document.Fields) {
		f.Set("colour", document.Text(string(raw)))
	}}}
}

var colour = document.Column{Name: "colour", Type: document.TypeText, From: document.FromOwn, Nullable: true}

func stored(n int) []document.Document {
	docs := make([]document.Document, n)
	for i := range docs {
		docs[i] = document.Document{Key: document.Key{Account: 1, Kind: thing, Name: fmt.Sprintf("%05d", i)}, Version: time.Unix(int64(i+1), 0), Raw: fmt.Appendf(nil, "c%d", i)}
	}
	return docs
}

// failing fails to fill in after so many times.
type failing struct {
	*sqlite.Documents
	left, fills int
}

var errKilled = errors.New("killed")

func (f *failing) Fill(ctx context.Context, docs []document.Document) error {
	if f.left--; f.left < 0 {
		return errKilled
	}
	f.fills++
	return f.Documents.Fill(ctx, docs)
}

func open(t *testing.T, docs []document.Document) (*failing, document.Fillings) {
	t.Helper()
	db, err := sqlite.Open(t.Context(), sqlite.Options{Dir: t.TempDir(), Holder: "a test"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	before, err := sqlite.NewDocuments(t.Context(), db, kinds())
	if err != nil {
		t.Fatal(err)
	}
	if err := before.Upsert(t.Context(), docs); err != nil {
		t.Fatal(err)
	}
	after, err := sqlite.NewDocuments(t.Context(), db, kinds(colour))
	if err != nil {
		t.Fatal(err)
	}
	return &failing{Documents: after, left: 1 << 30}, sqlite.NewFillings(db)
}

func check(t *testing.T, store document.Reader, want map[string]string) {
	t.Helper()
	err := store.Scan(t.Context(), document.Query{WithRaw: true}, func(d *document.Document) error {
		colour, special := want[d.Name]
		if !special {
			colour = string(d.Raw)
		}
		if got := d.Own["colour"].Text; got != colour {
			t.Errorf("%s has %q, want %q", d.Name, got, colour)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestItGoesOnWhereItWas kills it after each step, again and again: every document
// is seen to once, and when all are it asks for nothing any more.
func TestItGoesOnWhereItWas(t *testing.T) {
	const n = 1_050
	docs := stored(n)
	docs[7].Truncated = true
	store, fillings := open(t, docs)
	newer := docs[3]
	newer.Version, newer.Raw = newer.Version.Add(time.Hour), []byte("newer")
	newer.Set("colour", document.Text("its own"))
	if err := store.Upsert(t.Context(), []document.Document{newer}); err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	fill := backfill.Backfill{Store: store, Fillings: fillings, Kinds: kinds(colour), Log: slog.New(slog.NewTextHandler(&log, nil))}
	deaths := 0
	for store.left = 1; ; store.left = 1 {
		err := fill.Walk(t.Context())
		if err == nil {
			break
		}
		if deaths++; !errors.Is(err, errKilled) || deaths > 10 {
			t.Fatalf("death %d: %v", deaths, err)
		}
	}
	check(t, store, map[string]string{docs[7].Name: "", newer.Name: "its own"})
	if at, err := fillings.Filling(t.Context(), kinds(colour).Signature()); err != nil || !at.Done || at.Seen != n || at.Filled != n-2 {
		t.Errorf("it is at %+v (%v)", at, err)
	}
	if deaths != 5 || store.fills != 6 {
		t.Errorf("%d steps and %d deaths, want 6 and 5", store.fills, deaths)
	}
	if !strings.Contains(log.String(), "columns that are new are filled in") || !strings.Contains(log.String(), "filled=1048") {
		t.Errorf("the log says %s", log.String())
	}
	fill.Store = nil // nothing is asked of it
	if err := fill.Walk(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestAnotherColumnBeginsAnew: what is declared decides, and not that it was done.
func TestAnotherColumnBeginsAnew(t *testing.T) {
	one, two := kinds(colour), kinds(colour, document.Column{Name: "size", Type: document.TypeInteger, From: document.FromOwn, Nullable: true})
	if one.Signature() == two.Signature() || one.Signature() != kinds(colour).Signature() {
		t.Errorf("signatures are %q and %q", one.Signature(), two.Signature())
	}
}
