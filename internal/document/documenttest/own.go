package documenttest

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"sluice/internal/document"
	"sluice/internal/domain"
)

var ownCases = []testCase{
	{"OwnValues", ownValues},
	{"OwnValuesFollowTheNewest", ownValuesFollow},
	{"OwnTextsOfAnyKind", ownTexts},
	{"OwnValuesLeftOut", ownValuesLeftOut},
	{"ScanBehindAKey", scanBehind},
	{"FilledIn", filledIn},
	{"UndeclaredValuesAreRefused", undeclaredValues},
}

// own declares a column of a value that is the kind's own.
func own(name string, t document.Type) document.Column {
	return document.Column{Name: name, Type: t, From: document.FromOwn, Nullable: true, Doc: "a value of the suite's"}
}

// ownColumns are one of every type.
func ownColumns() []document.Column {
	return []document.Column{
		own("mood", document.TypeText), own("votes", document.TypeInteger), own("pinned", document.TypeBoolean), own("locked_at", document.TypeInstant),
		own("tags", document.TypeList),
	}
}

func withOwn(name string, version int, values map[string]document.Value) document.Document {
	d := issue(1, name, version)
	for column, v := range values {
		d.Set(column, v)
	}
	return d
}

// ownValues of every type come back, by themselves and together, in columns too;
// what has none has none.
func ownValues(x *fixture) {
	for i, values := range []map[string]document.Value{
		{},
		{"mood": document.Text("'; DROP TABLE document; -- 한국어 🚰")},
		{"votes": document.Integer(-1 << 40)},
		{"votes": document.Integer(0)},
		{"pinned": document.Boolean(true)},
		{"pinned": document.Boolean(false)},
		{"locked_at": document.Instant(instant(3))},
		{"locked_at": document.Instant(time.Unix(0, 0))},
		{"tags": document.List()},
		{"tags": document.List("bug", `"; DROP TABLE document; -- \ 한국어 🚰 <b>&`, "", "bug")},
		{"tags": document.List("NUL \x00", "bad \xff bytes")},
		{"mood": document.Text("ok"), "tags": document.List("one"), "votes": document.Integer(7), "pinned": document.Boolean(true), "locked_at": document.Instant(instant(4))},
	} {
		d := withOwn(fmt.Sprintf("own-%d", i), 1, values)
		x.upsert(d)
		x.expect(d)
		x.shows(d.Key, values)
	}
	commit := issue(1, "own-0", 1)
	commit.Kind = KindCommit
	x.upsert(commit)
	x.expect(commit)
}

// shows checks what the columns show of a document that is scanned.
func (x *fixture) shows(key document.Key, want map[string]document.Value) {
	x.Helper()
	for _, d := range x.scan(document.Query{Account: key.Account, Kind: key.Kind}) {
		if d.Name != key.Name {
			continue
		}
		for _, c := range ownColumns() {
			wanted, there := want[c.Name]
			wanted.Null = !there
			if got, err := c.Value(&d, &document.Place{}); err != nil || got != wanted {
				x.Errorf("the column %s of %s shows %+v (%v), want %+v", c.Name, d.Name, got, err, wanted)
			}
		}
		return
	}
	x.Errorf("%+v is not found", key)
}

// ownTexts: every store gives back the same of a text, whatever is in it and however
// long it is.
func ownTexts(x *fixture) {
	for i, text := range []string{
		"NUL \x00 in the middle", "\x00", "bad \xff\xfe bytes", "\xed\xa0\x80 half a pair", "line\r\nbreak\ttab \x01\x1b", "  spaces  ", `{"a":"\\u0000"}`,
		strings.Repeat("x", 70_000), strings.Repeat("한", 400_000), string(noise(1 << 20)),
	} {
		d := withOwn(fmt.Sprintf("text-%d", i), 1, map[string]document.Value{"mood": document.Text(text), "tags": document.List(text, "short")})
		x.upsert(d)
		x.expect(d)
		got := d.Own["mood"].Text
		if !utf8.ValidString(got) || strings.ContainsRune(got, 0) {
			x.Errorf("%.20q is not a text that databases hold", got)
		}
	}
}

// ownValuesLeftOut: who does not need them does not get them, and the payload comes
// all the same.
func ownValuesLeftOut(x *fixture) {
	d := withOwn("one", 1, map[string]document.Value{"mood": document.Text("long"), "tags": document.List("a")})
	x.upsert(d)
	bare := d
	bare.Own = nil
	for _, q := range []document.Query{{Account: 1}, {Account: 1, Kind: KindIssue}, {}} {
		q.WithRaw = true
		q.WithoutOwn = true
		if got := x.scan(q); len(got) != 1 || difference(got[0], bare) != "" {
			x.Errorf("%+v found %+v, want one without values of its own", q, got)
		}
		q.WithoutOwn = false
		if got := x.scan(q); len(got) != 1 || difference(got[0], d) != "" {
			x.Errorf("%+v found %+v, want one with values of its own", q, got)
		}
	}
}

// scanBehind begins scans in the middle: at what is there, and at what is not.
func scanBehind(x *fixture) {
	var docs []document.Document
	for account := range int64(2) {
		for _, name := range []string{"a", "b", "c"} {
			commit := issue(account+1, name, 1)
			commit.Kind = KindCommit
			docs = append(docs, commit, issue(account+1, name, 1))
		}
	}
	x.upsert(docs...)
	all := x.scan(document.Query{})
	if len(all) != len(docs) {
		x.Fatalf("%d documents, want %d", len(all), len(docs))
	}
	for i := range all {
		for _, raw := range []bool{true, false} {
			got := x.scan(document.Query{After: all[i].Key, WithRaw: raw})
			if fmt.Sprint(names(got)) != fmt.Sprint(names(all[i+1:])) {
				x.Errorf("behind %+v are %v, want %v", all[i].Key, names(got), names(all[i+1:]))
			}
		}
	}
	if got := x.scan(document.Query{Account: 1, Kind: KindIssue, After: document.Key{Account: 1, Kind: KindIssue, Name: "aa"}}); fmt.Sprint(names(got)) != "[b c]" {
		x.Errorf("behind a name that is not there are %v", names(got))
	}
}

// ownValuesFollow: they are those of the newest copy, whatever comes when.
func ownValuesFollow(x *fixture) {
	first := withOwn("one", 1, map[string]document.Value{"mood": document.Text("first"), "votes": document.Integer(1)})
	second := withOwn("one", 2, map[string]document.Value{"mood": document.Text("second"), "pinned": document.Boolean(true)})
	x.upsert(first)
	x.upsert(second)
	x.expect(second)
	x.upsert(first)
	x.expect(second)
	none := issue(1, "one", 3)
	x.upsert(none)
	x.expect(none)
	third := withOwn("one", 3, map[string]document.Value{"votes": document.Integer(3)})
	x.upsert(second, third, first)
	x.expect(third)
}

func undeclaredValues(x *fixture) {
	for _, d := range []document.Document{withOwn("one", 1, map[string]document.Value{"weight": document.Integer(1)}), {
		Key: document.Key{Account: 1, Kind: KindPull, Name: "one"}, Fields: document.Fields{Own: document.Values{"mood": document.Text("fine")}},
	}} {
		if err := x.Upsert(x.Context(), []document.Document{issue(1, "two", 1), d}); domain.CodeOf(err) != domain.CodeInvalid {
			x.Errorf("%s with %v: %v, want code invalid", d.Kind, d.Own, err)
		}
	}
	x.absent(issue(1, "two", 1).Key)
}

// declaredLater opens a database of which something is stored with columns that
// were declared since, by several processes at once.
func declaredLater(t *testing.T, f Factory) {
	t.Parallel()
	open := f.Open(t)
	store := func(kinds document.Kinds) *fixture {
		t.Helper()
		s, err := open(kinds)
		if err != nil {
			t.Fatalf("open: %v", err)
		}
		return &fixture{TB: t, Store: s}
	}
	before := withOwn("before", 1, map[string]document.Value{"mood": document.Text("kept")})
	earlier := store(kindsWithOwn())
	earlier.upsert(before)

	// Databases may be used again: nobody has had these columns before.
	text, number := fmt.Sprintf("text_%d", rand.Uint64()), fmt.Sprintf("number_%d", rand.Uint64())
	kinds := kindsWithOwn(own(text, document.TypeText), own(number, document.TypeInteger))
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			s, err := open(kinds)
			if err != nil {
				t.Errorf("open: %v", err)
				return
			}
			x := &fixture{TB: t, Store: s}
			d := withOwn(fmt.Sprint(i), 1, map[string]document.Value{"votes": document.Integer(5), text: document.Text("later"), number: document.Integer(int64(i))})
			if err := x.Upsert(t.Context(), []document.Document{d}); err != nil {
				t.Errorf("upsert: %v", err)
			}
		})
	}
	all.Wait()
	x := store(kinds)
	x.expect(before)
	for i := range 4 {
		x.expect(withOwn(fmt.Sprint(i), 1, map[string]document.Value{"votes": document.Integer(5), text: document.Text("later"), number: document.Integer(int64(i))}))
	}
	again := withOwn("before", 2, map[string]document.Value{text: document.Text("now")})
	x.upsert(again)
	x.expect(again)
	// Whoever does not know of them goes on.
	earlier.upsert(withOwn("after", 1, map[string]document.Value{"mood": document.Text("old")}))
	x.expect(withOwn("after", 1, map[string]document.Value{"mood": document.Text("old")}))
}

// declaredOtherwise: a column does not become another's.
func declaredOtherwise(t *testing.T, f Factory) {
	t.Parallel()
	kinds := kindsWithOwn()
	for i := range kinds {
		if kinds[i].Kind == KindPull {
			kinds[i].Columns = append(kinds[i].Columns, own("mood", document.TypeInteger))
		}
	}
	if _, err := f.Open(t)(kinds); domain.CodeOf(err) != domain.CodeInvalid {
		t.Errorf("one name, two types: %v, want code invalid", err)
	}
}
