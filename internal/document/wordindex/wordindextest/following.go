package wordindextest

import (
	"context"
	"fmt"
	"reflect"
	"strings"

	"sluice/internal/document"
	"sluice/internal/document/documenttest"
	"sluice/internal/document/wordindex"
	"sluice/internal/document/words"
	"sluice/internal/domain"
	"sluice/internal/testkit"
)

// madeAnew: whoever has missed changes, or has an index of other columns, begins anew.
func madeAnew(x *fixture) {
	x.upsert(doc(1, "one", 1, "word", "text"), doc(2, "two", 2, "word", "text"))
	x.catchUp()
	_, err := x.docs.Purge(x.Context(), 1, 100)
	x.ok(err)
	x.upsert(doc(2, "three", 3, "word", ""))
	_, err = x.docs.TrimChanges(x.Context(), began.AddDate(1, 0, 0), 100)
	x.ok(err)
	x.catchUp()
	x.finds("word", "three", "two")
	hits, err := x.index.Search(x.Context(), wordindex.Lookup{Need: words.Need{Has: []string{"text"}}, Limit: 10})
	x.ok(err)
	if len(hits) != 1 {
		x.Errorf("entries %v are left, want one", hits)
	}
	x.f.Kinds = documenttest.Kinds()
	x.catchUp()
	x.finds("word")
	x.f.Kinds = Kinds()
	x.catchUp()
	x.finds("word", "three", "two")
}

// takenOnce: of two who follow, one takes a step, and the other does nothing.
func takenOnce(x *fixture) {
	x.upsert(doc(1, "one", 1, "word", ""))
	x.catchUp()
	at, err := x.index.Progress(x.Context())
	x.ok(err)
	if at.Phase != wordindex.Following || at.Position != 1 || at.Feed != "memory" {
		x.Errorf("progress %+v", at)
	}
	other := at
	other.Position = 0
	is := at
	is.Position = 9
	d := doc(1, "late", 2, "late", "")
	e, _, err := wordindex.NewEntry(Kinds(), &d)
	x.ok(err)
	batch := wordindex.Batch{Was: other, Is: is, Put: []wordindex.Entry{e}, Remove: []document.Key{{Account: 1, Kind: documenttest.KindIssue, Name: "one"}}}
	if err := x.index.Apply(x.Context(), batch); domain.CodeOf(err) != domain.CodeConflict {
		x.Fatalf("a step from elsewhere: error %v, want code conflict", err)
	}
	now, err := x.index.Progress(x.Context())
	x.ok(err)
	if now != at {
		x.Errorf("progress %+v after a step that was refused, want %+v", now, at)
	}
	x.finds("word", "one")
	hits, err := x.index.Search(x.Context(), wordindex.Lookup{Need: words.Need{Has: []string{"late"}}, Limit: 10})
	x.ok(err)
	if len(hits) != 0 {
		x.Errorf("a step that was refused has left %v", hits)
	}
}

// sameSecond: entries that want one id get several.
func sameSecond(x *fixture) {
	at, err := x.index.Progress(x.Context())
	x.ok(err)
	id := int64(1_772_366_400)<<29 | (1<<29 - 2)
	for i := range 3 {
		var batch wordindex.Batch
		for k := range 4 {
			key := document.Key{Account: 1, Kind: documenttest.KindIssue, Name: fmt.Sprintf("%d-%d", i, k)}
			batch.Put = append(batch.Put, wordindex.Entry{ID: id, Key: key, Words: []string{"same"}})
		}
		batch.Was, batch.Is = at, wordindex.Progress{Phase: wordindex.Following, Position: int64(i + 1)}
		x.ok(x.index.Apply(x.Context(), batch))
		at = batch.Is
	}
	hits, err := x.index.Search(x.Context(), wordindex.Lookup{Need: words.Need{Has: []string{"same"}}, Limit: 100})
	x.ok(err)
	ids, keys := map[int64]bool{}, map[document.Key]bool{}
	for _, hit := range hits {
		ids[hit.ID], keys[hit.Key] = true, true
		if hit.ID>>29 != id>>29 {
			x.Errorf("an entry of another second: %d", hit.ID)
		}
	}
	if len(ids) != 12 || len(keys) != 12 {
		x.Errorf("%d ids of %d documents, want 12 of each", len(ids), len(keys))
	}
}

// goesOn: who stops while it is filled goes on where it was.
func goesOn(x *fixture) {
	var docs []document.Document
	for i := range 450 {
		docs = append(docs, doc(1, fmt.Sprintf("n%03d", i), i, fmt.Sprintf("word w%d", i), ""))
	}
	x.upsert(docs...)
	failing := &failing{Index: x.index, left: 4}
	x.f.Index = failing
	for failing.left > 0 {
		if _, err := x.f.Step(x.Context()); err != nil {
			break
		}
	}
	at, err := x.index.Progress(x.Context())
	x.ok(err)
	if at.Phase != wordindex.Filling || at.Seen == 0 || at.Seen == 450 {
		x.Fatalf("progress %+v, want some of 450", at)
	}
	bounds, err := x.docs.Bounds(x.Context())
	x.ok(err)
	if b := at.Behind(bounds); !b.Building {
		x.Errorf("behind %+v while it is filled", b)
	}
	// What changes meanwhile is read afterwards.
	x.upsert(doc(1, "n000", 1000, "changed", ""))
	x.f.Index = x.index
	x.catchUp()
	x.finds("changed", "n000")
	x.finds("w449", "n449")
	x.finds("w0")
	if got := x.search(wordindex.Request{Query: "word", Limit: 100}); len(got) != 449 {
		x.Errorf("%d documents, want 449", len(got))
	}
}

// failing lets some steps be taken.
type failing struct {
	wordindex.Index
	left int
}

func (f *failing) Apply(ctx context.Context, b wordindex.Batch) error {
	if f.left--; f.left <= 0 {
		return domain.Errorf(domain.CodeUnavailable, "the test has had enough")
	}
	return f.Index.Apply(ctx, b)
}

func drops(x *fixture) {
	for i := range 12 {
		x.upsert(doc(int64(1+i%2), fmt.Sprintf("n%d", i), i, "word", ""))
	}
	x.catchUp()
	steps := 0
	for more := true; more; steps++ {
		var err error
		more, err = x.index.Drop(x.Context(), 1, 2)
		x.ok(err)
		if steps > 100 {
			x.Fatal("more is left, again and again")
		}
	}
	if steps < 3 {
		x.Errorf("six entries are removed in %d steps of two", steps)
	}
	x.finds("word", "n11", "n9", "n7", "n5", "n3", "n1")
}

func manyWords(x *fixture) {
	var body strings.Builder
	n := testkit.Effort(4_000, 20_000)
	for i := range n {
		fmt.Fprintf(&body, "w%d %s ", i, strings.Repeat("é", 1+i%90))
	}
	x.upsert(doc(1, strings.Repeat("long name ", 100), 1, "many", body.String()))
	x.catchUp()
	last := fmt.Sprintf("w%d", n-1)
	x.finds(last+" w0 many", strings.Repeat("long name ", 100))
	x.upsert(doc(1, strings.Repeat("long name ", 100), 2, "few", ""))
	x.catchUp()
	x.finds(last)
	x.finds("few", strings.Repeat("long name ", 100))
}

func canceled(x *fixture) {
	ctx, cancel := context.WithCancel(x.Context())
	cancel()
	if _, err := x.index.Search(ctx, wordindex.Lookup{Need: words.Need{Has: []string{"word"}}, Limit: 1}); err == nil && !isMemory(x.index) {
		x.Error("a search with a canceled context does not fail")
	}
}

func isMemory(i wordindex.Index) bool { return reflect.TypeOf(i) == reflect.TypeFor[*Memory]() }
