package documenttest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"sluice/internal/document"
	"sluice/internal/domain"
	"sluice/internal/testkit"
)

// ListFactory opens stores that list what they hold.
type ListFactory struct {
	// Open returns an empty store of the kinds.
	Open func(t *testing.T, kinds document.Kinds) ListStore
	// Few says that a call takes long: fewer examples are tried.
	Few bool
	// Authors says that pages of what an author has made are full, except for the last,
	// as long as that is not very much.
	Authors bool
}

// ListStore is a store that lists what it holds.
type ListStore interface {
	document.Store
	document.Lister
}

// RunLists checks a document.Lister.
func RunLists(t *testing.T, f ListFactory) {
	for name, check := range map[string]func(*listing){
		"Examples": listExamples, "Random": listRandom, "LooksAreBounded": listBounded, "Refused": listRefused, "Payloads": listPayloads,
		"EverythingOfSparseFilters": listSparse, "LongNames": listLongNames, "ManyAccounts": listManyAccounts, "Authors": listAuthors,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			kinds := listKinds()
			x := &listing{fixture: &fixture{TB: t}, store: f.Open(t, kinds), model: NewMemory(kinds), authors: f.Authors, every: testkit.Effort(4, 1)}
			if f.Few {
				x.every = 9
			}
			// Another run tries others.
			x.tried = int(testkit.Seed(t) % uint64(x.every))
			check(x)
		})
	}
}

// listing is a store beside the model.
type listing struct {
	*fixture
	store ListStore
	model *Memory
	// authors is ListFactory.Authors.
	authors bool
	// every says that one example in so many is tried.
	every, tried int
}

// skips says that an example is left out.
func (x *listing) skips() bool {
	x.tried++
	return x.tried%x.every != 0
}

// listKinds are kinds of which issues have labels.
func listKinds() document.Kinds {
	kinds := kindsWithOwn()
	for i := range kinds {
		if kinds[i].Kind == KindIssue {
			kinds[i].Labels = "tags"
		}
	}
	return kinds
}

func (x *listing) put(docs ...document.Document) {
	x.Helper()
	x.ok(x.store.Upsert(x.Context(), docs))
	x.ok(x.model.Upsert(x.Context(), docs))
}

func (x *listing) gone(absences ...document.Absence) {
	x.Helper()
	x.ok(x.store.MarkDeleted(x.Context(), absences))
	x.ok(x.model.MarkDeleted(x.Context(), absences))
}

// maxPages ends a list that does not end.
const maxPages = 10_000

// all are the documents of all pages.
func (x *listing) all(l document.Lister, s document.Selection) (docs []document.Document, pages int) {
	x.Helper()
	for pages = 1; pages < maxPages; pages++ {
		page, err := l.List(x.Context(), s)
		if err != nil {
			x.Fatalf("%+v: %v", s, err)
		}
		if len(page.Documents) > s.Limit {
			x.Fatalf("%+v: a page has %d documents", s, len(page.Documents))
		}
		docs = append(docs, page.Documents...)
		if page.Next == nil {
			return docs, pages
		}
		if s.After != nil && s.Compare(*page.Next, *s.After) <= 0 {
			x.Fatalf("%+v: the next page begins at %+v, which is not further", s, *page.Next)
		}
		s.After = page.Next
	}
	x.Fatalf("%+v does not end", s)
	return nil, 0
}

// same compares a list of the store with that of the model, and returns how many
// documents they have.
func (x *listing) same(s document.Selection) int {
	x.Helper()
	got, _ := x.all(x.store, s)
	want, _ := x.all(x.model, s)
	if !slices.Equal(keysOf(got), keysOf(want)) {
		x.Errorf("%+v (deleted %v): got %v, want %v", s, wanted(s.Deleted), keysOf(got), keysOf(want))
		return 0
	}
	for i := range got {
		if problem := difference(got[i], want[i]); problem != "" {
			x.Errorf("%+v: place %d: %s", s, i, problem)
		}
	}
	return len(got)
}

func wanted(b *bool) string {
	if b == nil {
		return "or not"
	}
	return fmt.Sprint(*b)
}

func keysOf(docs []document.Document) []document.Key {
	keys := make([]document.Key, len(docs))
	for i := range docs {
		keys[i] = docs[i].Key
	}
	return keys
}

// sorted are every order of a selection.
func sorted(s document.Selection) (all []document.Selection) {
	for _, by := range []document.Sort{"", document.SortName, document.SortCreated, document.SortUpdated} {
		for _, descending := range []bool{false, true} {
			s.Sort, s.Descending = by, descending
			all = append(all, s)
		}
	}
	return all
}

func listExamples(x *listing) {
	author := []string{"ann", "Ann", "ANNE", "bob", ""}
	for i := range 40 {
		d := issue(int64(1+i%3), fmt.Sprintf("n%02d", i), i)
		d.Repository, d.Author, d.State = int64(10+i%4), author[i%len(author)], []string{"open", "closed"}[i%2]
		d.CreatedAt, d.UpdatedAt = instant(i%7), instant(100+i%11)
		if i%9 == 0 {
			d.UpdatedAt = time.Time{}
		}
		d.Set("tags", document.List([][]string{{}, {"bug"}, {"bug", `say "hi"`}, {"bu", "g"}}[i%4]...))
		commit := d
		commit.Kind, commit.Own, commit.UpdatedAt = KindCommit, nil, time.Time{}
		event := commit
		event.Kind = KindEvent
		x.put(d, commit, event)
	}
	x.gone(
		document.Absence{Account: 1, Repository: 10, Why: document.GoneDeleted, Since: instant(2000)},
		document.Absence{Account: 2, Repository: 11, Kind: KindIssue, NotSeenSince: instant(1500), Why: document.GoneTransferred, Since: instant(2000)},
	)
	yes, no := true, false
	listed := 0
	for _, s := range []document.Selection{
		{}, {Account: 2}, {Account: 9}, {Repository: 11}, {Author: "aNN"}, {Author: "nobody"}, {State: "open"}, {State: "OPEN"},
		{Label: "bug"}, {Label: `say "hi"`}, {Label: "g"}, {Label: "none"},
		{CreatedFrom: instant(3)}, {CreatedUntil: instant(3)}, {CreatedFrom: instant(2), CreatedUntil: instant(4)},
		{UpdatedFrom: instant(103)}, {UpdatedUntil: instant(103)}, {UpdatedFrom: instant(103), UpdatedUntil: instant(104)},
		{Deleted: &yes}, {Deleted: &no}, {Deleted: &yes, Account: 1}, {Deleted: &yes, Account: 2, State: "open"},
		{Repository: 11, State: "closed"}, {Account: 1, State: "open"}, {Label: "bug", State: "closed"}, {Author: "ann", CreatedFrom: instant(1), CreatedUntil: instant(6)},
	} {
		for _, kind := range []document.Kind{KindIssue, KindCommit, KindEvent, "nothing"} {
			for _, s := range sorted(s) {
				s.Kind, s.Limit = kind, 7
				if !x.skips() {
					listed += x.same(s)
				}
			}
		}
	}
	if listed == 0 {
		x.Error("nothing was ever listed: the test proves nothing")
	}
}

// listRandom compares random selections of a world that changes at random.
func listRandom(x *listing) {
	n := testkit.Seed(x)
	dice := rand.New(rand.NewPCG(n, 0))
	listed := 0
	for range 12 {
		for range 4 {
			docs := make([]document.Document, 0, 10)
			for range 1 + dice.IntN(10) {
				docs = append(docs, randomListed(dice))
			}
			x.put(docs...)
		}
		a := document.Absence{Account: 1 + dice.Int64N(3), Repository: 10 + dice.Int64N(3), Why: document.GoneDeleted, Since: instant(1 + dice.IntN(60))}
		if dice.IntN(3) > 0 {
			a.Kind, a.NotSeenSince = KindIssue, instant(1+dice.IntN(60))
		}
		x.gone(a)
		for range 12 {
			if s := randomSelection(dice); !x.skips() {
				listed += x.same(s)
			}
		}
	}
	if listed == 0 {
		x.Error("nothing was ever listed: the test proves nothing")
	}
}

func randomListed(dice *rand.Rand) document.Document {
	kinds := []document.Kind{KindIssue, KindIssue, KindCommit, KindEvent}
	d := issue(1+dice.Int64N(3), fmt.Sprintf("n%d", dice.IntN(40)), 1+dice.IntN(20))
	d.Kind, d.SeenAt = kinds[dice.IntN(len(kinds))], instant(1+dice.IntN(60))
	d.Repository, d.CreatedAt, d.UpdatedAt = 10+dice.Int64N(3), minute(dice.IntN(8)), minute(dice.IntN(8))
	d.Author, d.State = []string{"", "ann", "Ann", "bob"}[dice.IntN(4)], []string{"", "open", "closed"}[dice.IntN(3)]
	if d.Kind == KindIssue && dice.IntN(3) > 0 {
		d.Set("tags", document.List([][]string{{}, {"a"}, {"a", "b"}, {"ab"}}[dice.IntN(4)]...))
	}
	return d
}

func randomSelection(dice *rand.Rand) document.Selection {
	s := document.Selection{
		Kind: []document.Kind{KindIssue, KindIssue, KindCommit, KindEvent}[dice.IntN(4)], Limit: 1 + dice.IntN(12),
		Sort:       []document.Sort{document.SortName, document.SortCreated, document.SortUpdated}[dice.IntN(3)],
		Descending: dice.IntN(2) == 0, WithRaw: dice.IntN(2) == 0,
	}
	maybe := func(set func()) {
		if dice.IntN(5) == 0 {
			set()
		}
	}
	maybe(func() { s.Account = 1 + dice.Int64N(3) })
	maybe(func() { s.Repository = 10 + dice.Int64N(3) })
	maybe(func() { s.Author = []string{"ANN", "bob"}[dice.IntN(2)] })
	maybe(func() { s.State = []string{"open", "closed"}[dice.IntN(2)] })
	maybe(func() { s.Label = []string{"a", "b"}[dice.IntN(2)] })
	maybe(func() { s.CreatedFrom = minute(1 + dice.IntN(8)) })
	maybe(func() { s.CreatedUntil = minute(1 + dice.IntN(8)) })
	maybe(func() { s.UpdatedFrom = minute(1 + dice.IntN(8)) })
	maybe(func() { s.UpdatedUntil = minute(1 + dice.IntN(8)) })
	maybe(func() { deleted := dice.IntN(2) == 0; s.Deleted = &deleted })
	return s
}

func listRefused(x *listing) {
	for _, s := range []document.Selection{{Limit: 1}, {Kind: KindIssue}, {Kind: KindIssue, Limit: -1}, {Kind: KindIssue, Limit: 1, Sort: "size"}} {
		if _, err := x.store.List(x.Context(), s); domain.CodeOf(err) != domain.CodeInvalid {
			x.Errorf("%+v: %v, want code invalid", s, err)
		}
	}
	ctx, cancel := context.WithCancel(x.Context())
	cancel()
	if _, err := x.store.List(ctx, document.Selection{Kind: KindIssue, Limit: 1}); err == nil {
		x.Error("a list with a canceled context succeeded")
	}
}

func listPayloads(x *listing) {
	for i := range 20 {
		x.put(issue(int64(1+i%2), fmt.Sprint(i), i))
	}
	for _, raw := range []bool{false, true} {
		if n := x.same(document.Selection{Kind: KindIssue, Limit: 6, WithRaw: raw, Sort: document.SortCreated}); n != 20 {
			x.Errorf("%d documents, want 20", n)
		}
	}
}
