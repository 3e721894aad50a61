// Package wordindextest is what every index of words must pass.
package wordindextest

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"sluice/internal/document"
	"sluice/internal/document/documenttest"
	"sluice/internal/document/wordindex"
	"sluice/internal/document/words"
	"sluice/internal/domain"
)

// Kinds are those of the suite that are searched.
func Kinds() document.Kinds {
	kinds := documenttest.Kinds()
	for i := range kinds {
		if kinds[i].Kind == documenttest.KindIssue || kinds[i].Kind == documenttest.KindPull {
			kinds[i].Columns = []document.Column{
				{Name: "title", Type: document.TypeText, From: document.FromTitle, Searched: true, Doc: "its title"},
				{Name: "body", Type: document.TypeText, From: document.FromOwn, Nullable: true, Searched: true, Doc: "its text"},
				{Name: "state", Type: document.TypeText, From: document.FromState, Doc: "its state"},
			}
		}
	}
	return kinds
}

// Run runs every case. Open returns an empty index that nothing else uses.
func Run(t *testing.T, open func(t *testing.T) wordindex.Index) {
	for _, c := range []struct {
		name  string
		check func(*fixture)
	}{
		{"Queries", queries}, {"NewestFirstInPages", pages}, {"Filters", filters}, {"Changes", changes}, {"Purged", purged},
		{"MadeAnew", madeAnew}, {"OneStepIsTakenOnce", takenOnce}, {"SameSecond", sameSecond}, {"GoesOnWhereItWas", goesOn},
		{"DropsInSteps", drops}, {"ManyWords", manyWords}, {"Canceled", canceled},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.check(newFixture(t, open(t)))
		})
	}
	t.Run("Random", func(t *testing.T) { t.Parallel(); random(t, open) })
}

// fixture is an index, the documents it is of, and the words the cases are written in.
type fixture struct {
	testing.TB
	docs  *documenttest.Memory
	index wordindex.Index
	f     *wordindex.Follower
}

func newFixture(tb testing.TB, index wordindex.Index) *fixture {
	docs := documenttest.NewMemory(Kinds())
	return &fixture{tb, docs, index, &wordindex.Follower{Index: index, Feed: docs, Documents: docs, Kinds: Kinds(), Log: slog.New(slog.DiscardHandler)}}
}

func (x *fixture) ok(err error) {
	x.Helper()
	if err != nil {
		x.Fatalf("unexpected error: %v", err)
	}
}

// catchUp steps until there is nothing to do.
func (x *fixture) catchUp() {
	x.Helper()
	for range 10_000 {
		idle, err := x.f.Step(x.Context())
		x.ok(err)
		if idle {
			return
		}
	}
	x.Fatal("the follower is never idle")
}

var began = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// doc is an issue that was updated at a minute.
func doc(account int64, name string, minute int, title, body string) document.Document {
	at := began.Add(time.Duration(minute) * time.Minute)
	d := document.Document{
		Key:     document.Key{Account: account, Kind: documenttest.KindIssue, Name: name},
		Version: at, SeenAt: at, Fields: document.Fields{Title: title, Repository: 7, CreatedAt: began, UpdatedAt: at},
	}
	if body != "" {
		d.Set("body", document.Text(body))
	}
	return d
}

func (x *fixture) upsert(docs ...document.Document) {
	x.Helper()
	x.ok(x.docs.Upsert(x.Context(), docs))
}

// search reads all pages of an answer.
func (x *fixture) search(r wordindex.Request) (names []string) {
	x.Helper()
	s := wordindex.Searcher{Index: x.index, Feed: x.docs, Documents: x.docs, Kinds: Kinds()}
	if r.Limit == 0 {
		r.Limit = 3
	}
	for range 1000 {
		a, err := s.Search(x.Context(), r)
		x.ok(err)
		if len(a.Results) > r.Limit {
			x.Fatalf("%d results, want up to %d", len(a.Results), r.Limit)
		}
		for _, result := range a.Results {
			names = append(names, result.Document.Name)
		}
		if a.Next == 0 {
			return names
		}
		r.Before = a.Next
	}
	x.Fatal("an answer without an end")
	return nil
}

func (x *fixture) finds(query string, names ...string) {
	x.Helper()
	if got := x.search(wordindex.Request{Query: query}); !slices.Equal(got, names) {
		x.Errorf("%s finds %v, want %v", query, got, names)
	}
}

func queries(x *fixture) {
	x.upsert(
		doc(1, "one", 1, "Fix crash in the parser", "It crashed: the naïve état was wrong"),
		doc(1, "two", 2, "Add a parser of 全文検索エンジン", ""),
		doc(1, "three", 3, "the IN of is a", "stop words are words: the what of it"),
		doc(1, "four", 4, "x y", "snake_case_name Straße 检索 検x 索引"),
		doc(1, "five", 5, "C++", "'quoted' \"double\" AND OR NOT NEAR(a b) %_ \\ ; DROP TABLE word_entry"),
		doc(1, "six", 6, "...", "!!!"),
	)
	x.catchUp()
	x.finds("parser", "two", "one")
	x.finds("PARSER crash", "one")
	x.finds("crash*", "one")
	x.finds("pars* -crash", "two")
	x.finds("pars* wor*")
	x.finds("parser -fix", "two")
	x.finds(`parser -"crash in"`, "two")
	x.finds("parser -cra*", "two")
	x.finds(`"fix crash"`, "one")
	x.finds(`"crash fix"`)
	x.finds("naive etat", "one")
	x.finds("the", "three", "one")
	x.finds("of", "three", "two")
	x.finds("x", "four")
	x.finds("a", "five", "three", "two")
	x.finds("検索", "two")
	x.finds("検", "four", "two")
	x.finds("索引", "four")
	x.finds("全文検索", "two")
	x.finds("snake_case", "four")
	x.finds("case_snake")
	x.finds("strasse", "four")
	x.finds("c", "five")
	x.finds("and or not near", "five")
	x.finds("drop word_entry", "five")
	x.finds("nothing")
	x.finds("crash -parser")
	for _, odd := range []string{`x%`, `x'`, "x;", "x\x00", "x\\", "(x)", "x:y", "^x", "{x}", "+x"} {
		if got := x.search(wordindex.Request{Query: odd}); len(got) > 1 {
			x.Errorf("%q finds %v", odd, got)
		}
	}
}

func pages(x *fixture) {
	var docs []document.Document
	var want []string
	for i := range 25 {
		name := fmt.Sprintf("n%02d", i)
		docs = append(docs, doc(1, name, i, "common word", ""))
		want = append([]string{name}, want...)
	}
	rand.Shuffle(len(docs), func(i, k int) { docs[i], docs[k] = docs[k], docs[i] })
	x.upsert(docs...)
	x.catchUp()
	for _, limit := range []int{1, 4, 5, 24, 25, 26, wordindex.MaxLimit} {
		for _, query := range []string{"common", "com*", `"common word"`} {
			if got := x.search(wordindex.Request{Query: query, Limit: limit}); !slices.Equal(got, want) {
				x.Errorf("%s in pages of %d: %v, want %v", query, limit, got, want)
			}
		}
	}
	s := wordindex.Searcher{Index: x.index, Feed: x.docs, Documents: x.docs, Kinds: Kinds()}
	for _, r := range []wordindex.Request{
		{Query: "x"}, {Query: "x", Limit: wordindex.MaxLimit + 1}, {Query: "", Limit: 1}, {Query: "x", Limit: 1, Kinds: []document.Kind{documenttest.KindEvent}},
	} {
		if _, err := s.Search(x.Context(), r); domain.CodeOf(err) != domain.CodeInvalid {
			x.Errorf("%+v: error %v, want code invalid", r, err)
		}
	}
}

func filters(x *fixture) {
	pull := doc(1, "pull", 4, "word", "")
	pull.Kind = documenttest.KindPull
	gone := doc(1, "gone", 5, "word", "")
	gone.Repository = 8
	x.upsert(doc(1, "one", 1, "word", ""), doc(2, "two", 2, "word", ""), pull, gone)
	x.ok(x.docs.MarkDeleted(x.Context(), []document.Absence{{Account: 1, Repository: 8, Why: document.GoneDeleted, Since: began.Add(time.Hour)}}))
	x.catchUp()
	yes, no := true, false
	for _, c := range []struct {
		r    wordindex.Request
		want []string
	}{
		{wordindex.Request{}, []string{"gone", "pull", "two", "one"}},
		{wordindex.Request{Account: 1}, []string{"gone", "pull", "one"}},
		{wordindex.Request{Account: 3}, nil},
		{wordindex.Request{Kinds: []document.Kind{documenttest.KindPull}}, []string{"pull"}},
		{wordindex.Request{Kinds: []document.Kind{documenttest.KindPull, documenttest.KindIssue}, Account: 2}, []string{"two"}},
		{wordindex.Request{Deleted: &yes}, []string{"gone"}},
		{wordindex.Request{Deleted: &no, Account: 1}, []string{"pull", "one"}},
	} {
		for _, query := range []string{"word", "wor*", "word -other"} {
			c.r.Query = query
			if got := x.search(c.r); !slices.Equal(got, c.want) {
				x.Errorf("%+v finds %v, want %v", c.r, got, c.want)
			}
		}
	}
}

func changes(x *fixture) {
	x.upsert(doc(1, "one", 1, "old words", "body"), doc(1, "two", 2, "words", ""))
	x.catchUp()
	x.finds("words", "two", "one")
	x.upsert(doc(1, "one", 3, "new words", ""))
	// What the index has not read yet is not shown as it was.
	x.finds("old")
	x.catchUp()
	x.finds("words", "one", "two")
	x.finds("new", "one")
	x.finds("old")
	x.finds("body")
	x.upsert(doc(1, "one", 4, "--", ""))
	x.catchUp()
	x.finds("words", "two")
	for word, want := range map[string]int{"words": 1, "new": 0, wordindex.AccountFacet(1): 1} {
		hits, err := x.index.Search(x.Context(), wordindex.Lookup{Need: words.Need{Has: []string{word}}, Limit: 10})
		x.ok(err)
		if len(hits) != want {
			x.Errorf("%q is in %d entries, want %d", word, len(hits), want)
		}
	}
}

func purged(x *fixture) {
	x.upsert(doc(1, "one", 1, "word", ""), doc(2, "two", 2, "word", ""))
	x.catchUp()
	_, err := x.docs.Purge(x.Context(), 1, 100)
	x.ok(err)
	x.finds("word", "two")
	x.upsert(doc(1, "again", 3, "word", ""), doc(2, "two", 4, "word", ""))
	x.catchUp()
	x.finds("word", "two", "again")
	hits, err := x.index.Search(x.Context(), wordindex.Lookup{Need: words.Need{Has: []string{"word"}}, Limit: 10})
	x.ok(err)
	if len(hits) != 2 {
		x.Errorf("entries %v are left, want two", hits)
	}
}

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
	for i := range 20_000 {
		fmt.Fprintf(&body, "w%d %s ", i, strings.Repeat("é", 1+i%90))
	}
	x.upsert(doc(1, strings.Repeat("long name ", 100), 1, "many", body.String()))
	x.catchUp()
	x.finds("w19999 w0 many", strings.Repeat("long name ", 100))
	x.upsert(doc(1, strings.Repeat("long name ", 100), 2, "few", ""))
	x.catchUp()
	x.finds("w19999")
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
