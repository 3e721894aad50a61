package document_test

import (
	"strings"
	"testing"
	"time"

	"sluice/internal/document"
	"sluice/internal/domain"
)

func column(typ document.Type, from document.Origin) document.Column {
	return document.Column{Name: string(from), Type: typ, From: from, Nullable: true}
}

// TestEveryOriginIsRead sets one field at a time and finds it in its column alone.
func TestEveryOriginIsRead(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 1234, time.UTC)
	at := &document.Place{Account: domain.Account{Login: "ann", Source: "forge"}, Titles: map[int64]string{7: "ann/seven"}}
	d := document.Document{Key: document.Key{Account: 1, Kind: "thing", Name: "9:abc"}}
	d.Fields = document.Fields{
		Repository: 7, Number: 8, State: "open", Title: "t\xff", Author: "a", Language: "l", Stars: 3, Additions: 4, Deletions: 5, Measured: true,
		CreatedAt: now, UpdatedAt: now.Add(1 * time.Hour), ClosedAt: now.Add(2 * time.Hour), MergedAt: now.Add(3 * time.Hour), ClosedBy: "c",
		Fork: true, Private: true, External: true, Deleted: true, GoneSince: now.Add(4 * time.Hour), GoneWhy: document.GoneDeleted, Truncated: true,
	}
	hour := func(n int) time.Time { return now.Truncate(time.Microsecond).Add(time.Duration(n) * time.Hour) }
	for from, want := range map[document.Origin]any{
		document.FromName: "9:abc", document.FromNameEnd: "abc", document.FromAccount: "ann", document.FromSource: "forge",
		document.FromContainer: int64(7), document.FromContainerTitle: "ann/seven", document.FromNumber: int64(8),
		document.FromState: "open", document.FromVisibleState: "open", document.FromTitle: "t\uFFFD", document.FromAuthor: "a",
		document.FromLanguage: "l", document.FromStars: int64(3), document.FromAdditions: int64(4), document.FromDeletions: int64(5),
		document.FromCreatedAt: hour(0), document.FromUpdatedAt: hour(1), document.FromClosedAt: hour(2), document.FromMergedAt: hour(3),
		document.FromGoneSince: hour(4), document.FromClosedBy: "c", document.FromGoneWhy: "deleted",
		document.FromFork: true, document.FromPrivate: true, document.FromExternal: true, document.FromDeleted: true, document.FromTruncated: true,
	} {
		var c document.Column
		var got func(document.Value) any
		switch want.(type) {
		case string:
			c, got = column(document.TypeText, from), func(v document.Value) any { return v.Text }
		case int64:
			c, got = column(document.TypeInteger, from), func(v document.Value) any { return v.Integer }
		case bool:
			c, got = column(document.TypeBoolean, from), func(v document.Value) any { return v.Boolean }
		case time.Time:
			c, got = column(document.TypeInstant, from), func(v document.Value) any { return v.Instant }
		}
		if v, err := c.Value(&d, at); err != nil || v.Null || got(v) != want {
			t.Errorf("%s: got %+v, %v, want %v", from, v, err, want)
		}
		blank := document.Document{Key: d.Key}
		named := strings.HasPrefix(string(from), "name") || from == document.FromAccount || from == document.FromSource
		always := c.Type == document.TypeBoolean || from == document.FromNumber || from == document.FromStars
		if v, err := c.Value(&blank, at); err != nil || v.Null == (named || always) {
			t.Errorf("%s of nothing: got %+v, %v", from, v, err)
		}
	}
}

func TestValuesThatCannotBe(t *testing.T) {
	d := document.Document{Key: document.Key{Account: 1, Kind: "thing", Name: "x"}}
	d.GoneWhy = document.GoneBlocked
	at := &document.Place{}
	for name, c := range map[string]document.Column{"number": column(document.TypeInteger, document.FromName), "end": column(document.TypeText, document.FromNameEnd)} {
		if _, err := c.Value(&d, at); domain.CodeOf(err) != domain.CodeCorrupt {
			t.Errorf("%s: got %v", name, err)
		}
	}
	c := column(document.TypeText, document.FromVisibleState)
	if v, err := c.Value(&d, at); err != nil || v.Text != "blocked" {
		t.Errorf("what is withheld is called %+v, %v", v, err)
	}
}

func TestDeclarationsAreChecked(t *testing.T) {
	good := document.Declaration{Kind: "thing", Source: "forge", Plural: "things", Columns: []document.Column{column(document.TypeText, document.FromName)}}
	if err := (document.Kinds{good}).Check(); err != nil {
		t.Error(err)
	}
	for says, change := range map[string]func(d *document.Declaration){
		"needs a name":   func(d *document.Declaration) { d.Kind = "" },
		"a plural":       func(d *document.Declaration) { d.Plural = "" },
		"declared twice": func(d *document.Declaration) { d.Kind = "other" },
		"not of the type": func(d *document.Declaration) {
			d.Kind, d.Plural, d.Columns = "o", "os", []document.Column{column(document.TypeBoolean, document.FromName)}
		},
		"name of its own": func(d *document.Declaration) {
			d.Kind, d.Plural, d.Columns = "o", "os", append(d.Columns, d.Columns[0])
		},
	} {
		bad := good
		change(&bad)
		if err := (document.Kinds{good, bad}).Check(); domain.CodeOf(err) != domain.CodeInvalid || !strings.Contains(err.Error(), says) {
			t.Errorf("got %v, want %q", err, says)
		}
	}
}

// TestKindsOfASource are listed with containers first, and found by their names.
func TestKindsOfASource(t *testing.T) {
	shown := []document.Column{column(document.TypeText, document.FromName)}
	kinds := document.Kinds{
		{Kind: "leaf", Source: "a", Plural: "leaves", Columns: shown}, {Kind: "tree", Source: "a", Plural: "trees", Container: true},
		{Kind: "stone", Source: "b", Plural: "stones", Independent: true, Columns: shown},
	}
	of := kinds.OfSource("a")
	if len(of) != 2 || of[0].Kind != "tree" || of[1].Kind != "leaf" {
		t.Errorf("got %+v", of)
	}
	if got := strings.Join(kinds.Tables(), " "); got != "leaves stones" {
		t.Errorf("tables: %s", got)
	}
	if kinds.Table("trees") != nil || kinds.Table("leaves").Kind != "leaf" || kinds.Of("stone").Source != "b" || kinds.Of("x") != nil {
		t.Error("kinds are not found by their names")
	}
}
