package documenttest

import (
	"testing"

	"sluice/internal/document"
	"sluice/internal/domain"
)

// filledIn: what lacks values gets them, if it is what they are of. Nothing else
// changes, and nothing that is there.
func filledIn(x *fixture) {
	store, ok := x.Store.(document.Filler)
	if !ok {
		x.Fatalf("%T cannot fill in", x.Store)
	}
	fill := func(docs ...document.Document) {
		x.Helper()
		x.ok(store.Fill(x.Context(), docs))
	}
	bare, some, newer := issue(1, "bare", 1), withOwn("some", 1, map[string]document.Value{"mood": document.Text("kept")}), issue(1, "newer", 2)
	x.upsert(bare, some, newer)
	values := map[string]document.Value{
		"mood": document.Text("filled in"), "votes": document.Integer(0), "pinned": document.Boolean(false),
		"locked_at": document.Instant(instant(5)), "tags": document.List("a", "b"),
	}
	only := func(name string, version int) document.Document {
		d := withOwn(name, version, values)
		d.Raw, d.SeenAt, d.Title = nil, instant(0), ""
		return d
	}
	for range 2 {
		fill(only("bare", 1), only("some", 1), only("newer", 1), only("gone", 1))
		x.expect(withOwn("bare", 1, values))
		kept := withOwn("some", 1, values)
		kept.Set("mood", document.Text("kept"))
		x.expect(kept)
		x.expect(newer)
		x.absent(only("gone", 1).Key)
	}
	fill(withOwn("newer", 2, map[string]document.Value{"votes": document.Integer(7)}))
	x.expect(withOwn("newer", 2, map[string]document.Value{"votes": document.Integer(7)}))
	// What comes from the upstream afterwards counts, whatever was filled in.
	x.upsert(issue(1, "bare", 1))
	x.expect(issue(1, "bare", 1))
	fill()
	if err := store.Fill(x.Context(), []document.Document{withOwn("bare", 1, map[string]document.Value{"weight": document.Integer(1)})}); domain.CodeOf(err) != domain.CodeInvalid {
		x.Errorf("an undeclared value: %v, want code invalid", err)
	}
}

// RunFillings checks what remembers how far documents are filled in. Nothing else
// may use the database.
func RunFillings(t *testing.T, store document.Fillings) {
	t.Helper()
	ctx := t.Context()
	check := func(signature string, want document.Filling) {
		t.Helper()
		if got, err := store.Filling(ctx, signature); err != nil || got != want {
			t.Errorf("%s is at %+v (%v), want %+v", signature, got, err, want)
		}
	}
	save := func(signature string, f document.Filling) {
		t.Helper()
		if err := store.SaveFilling(ctx, signature, f); err != nil {
			t.Fatal(err)
		}
	}
	key := document.Key{Account: 1 << 40, Kind: KindCommit, Name: "9:'\"한국어"}
	check("one", document.Filling{})
	save("one", document.Filling{After: key, Seen: 200, Filled: 7})
	check("one", document.Filling{After: key, Seen: 200, Filled: 7})
	save("one", document.Filling{After: key, Seen: 400, Filled: 8, Done: true})
	save("one", document.Filling{After: key, Seen: 200, Filled: 7})
	check("one", document.Filling{After: key, Seen: 400, Filled: 8, Done: true})
	check("two", document.Filling{})
}
