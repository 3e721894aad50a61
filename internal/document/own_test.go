package document_test

import (
	"strings"
	"testing"
	"time"

	"sluice/internal/document"
	"sluice/internal/domain"
)

func ownColumn(name string, typ document.Type) document.Column {
	return document.Column{Name: name, Type: typ, From: document.FromOwn, Nullable: true}
}

func TestOwnValuesAreShown(t *testing.T) {
	d := document.Document{Key: document.Key{Account: 1, Kind: "thing", Name: "9"}}
	at := time.Date(2026, 3, 1, 12, 0, 0, 1234567, time.UTC)
	d.Set("mood", document.Text("t\xff"))
	d.Set("votes", document.Integer(3))
	d.Set("pinned", document.Boolean(true))
	d.Set("locked_at", document.Instant(at))
	for name, want := range map[string]document.Value{
		"mood": {Text: "t\uFFFD"}, "votes": {Integer: 3}, "pinned": {Boolean: true}, "locked_at": {Instant: at.Truncate(time.Microsecond)},
		"weight": {Null: true},
	} {
		c := ownColumn(name, document.TypeText)
		if got, err := c.Value(&d, &document.Place{}); err != nil || got != want {
			t.Errorf("%s: got %+v, %v, want %+v", name, got, err, want)
		}
	}
	for _, name := range []string{"mood", "votes", "pinned", "locked_at"} {
		d.Set(name, document.Value{Null: true})
	}
	if d.Set("locked_at", document.Instant(time.Time{})); len(d.Own) != 0 {
		t.Errorf("what is null is there: %v", d.Own)
	}
}

func TestOwnColumnsAreChecked(t *testing.T) {
	kinds := func(columns ...document.Column) document.Kinds {
		return document.Kinds{
			{Kind: "tree", Source: "forge", Plural: "trees", Columns: []document.Column{ownColumn("size", document.TypeInteger), column(document.TypeText, document.FromName)}},
			{Kind: "leaf", Source: "forge", Plural: "leaves", Columns: columns},
		}
	}
	good := kinds(ownColumn("hue", document.TypeText), ownColumn("size", document.TypeInteger))
	if err := good.Check(); err != nil {
		t.Error(err)
	}
	if own := good.Own(); len(own) != 2 || own[0].Name != "hue" || own[1].Name != "size" {
		t.Errorf("got %+v", own)
	}
	full := ownColumn("full", document.TypeText)
	full.Nullable = false
	for says, c := range map[string]document.Column{
		"another name": ownColumn("size", document.TypeText), "nullable": full, "small letters": ownColumn("a; DROP TABLE document", document.TypeText),
		"has no type": ownColumn("odd", "colour"),
	} {
		if err := kinds(c).Check(); domain.CodeOf(err) != domain.CodeInvalid || !strings.Contains(err.Error(), says) {
			t.Errorf("got %v, want %q", err, says)
		}
	}
	leaf := document.Document{Key: document.Key{Account: 1, Kind: "leaf", Name: "1"}}
	leaf.Set("hue", document.Text("red"))
	if err := good.CheckDocuments([]document.Document{leaf}); err != nil {
		t.Error(err)
	}
	leaf.Set("shape", document.Text("oval"))
	if err := good.CheckDocuments([]document.Document{leaf}); domain.CodeOf(err) != domain.CodeInvalid || !strings.Contains(err.Error(), `"shape"`) {
		t.Errorf("got %v", err)
	}
}
