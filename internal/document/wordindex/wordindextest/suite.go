// Package wordindextest is what every index of words must pass.
package wordindextest

import (
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
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
