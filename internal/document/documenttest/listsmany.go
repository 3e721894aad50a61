package documenttest

import (
	"fmt"
	"strings"
	"time"

	"sluice/internal/document"
)

// fillLists stores many issues, of which a few are rare in some way.
func (x *listing) fillLists(n int) {
	x.Helper()
	var docs []document.Document
	for i := range n {
		d := issue(int64(1+i%2), fmt.Sprintf("n%05d", i), i)
		d.Repository, d.Author, d.State = int64(10+i%5), "ann", "open"
		d.CreatedAt, d.UpdatedAt = instant(i/3), instant(100_000-i)
		if i%1000 == 500 {
			d.Author, d.State, d.Repository = "rare", "rare", 99
			d.Set("tags", document.List("rare"))
		}
		if docs = append(docs, d); len(docs) == 500 || i == n-1 {
			x.put(docs...)
			docs = nil
		}
	}
	x.gone(document.Absence{Account: 1, Repository: 99, Why: document.GoneDeleted, Since: instant(2000)})
}

// many is more than a page may look at.
const many = 2100

// listBounded: a page in which nothing is found ends all the same, and those that
// follow it find what there is.
func listBounded(x *listing) {
	x.fillLists(many)
	for _, s := range sorted(document.Selection{Kind: KindIssue, Limit: 100, State: "nowhere"}) {
		if x.skips() {
			continue
		}
		if docs, pages := x.all(x.store, s); len(docs) != 0 || pages > many/100 {
			x.Errorf("%+v: %d documents on %d pages, want none on a few", s, len(docs), pages)
		}
	}
	for _, s := range sorted(document.Selection{Kind: KindIssue, Limit: 700}) {
		if x.skips() {
			continue
		}
		if n := x.same(s); n != many {
			x.Errorf("%+v: %d documents, want %d", s, n, many)
		}
	}
}

// listSparse finds all of what few documents have.
func listSparse(x *listing) {
	x.fillLists(many)
	yes := true
	for _, sparse := range []document.Selection{
		{Repository: 99}, {Author: "RARE"}, {State: "rare"}, {Label: "rare"}, {Deleted: &yes}, {Deleted: &yes, Account: 1}, {Repository: 99, State: "rare"},
		{CreatedFrom: instant(166), CreatedUntil: instant(167)}, {UpdatedFrom: instant(100_000 - 501), UpdatedUntil: instant(100_000 - 499)},
	} {
		sparse.Kind, sparse.Limit = KindIssue, 2
		for _, s := range sorted(sparse) {
			if x.skips() {
				continue
			}
			if n := x.same(s); n < 2 {
				x.Errorf("%+v: %d documents", s, n)
			}
		}
	}
}

// listAuthors: what somebody has made is found wherever it lies, in either case, also
// under names of any length.
func listAuthors(x *listing) {
	x.fillLists(many)
	long := strings.Repeat("Long", 100)
	for i, author := range []string{long + "a", long + "b", "İstanbul", "Zoë-" + strings.Repeat("ë", 120), "x"} {
		d := issue(1, fmt.Sprintf("by%d", i), i)
		d.Author, d.UpdatedAt = author, d.CreatedAt.Add(time.Hour)
		x.put(d, issue(2, fmt.Sprintf("nobody%d", i), i))
	}
	for author, want := range map[string]int{
		"RARE": many / 1000, strings.ToUpper(long) + "A": 1, long: 0, long + "b": 1, "İstanbul": 1, "ZOë-" + strings.Repeat("ë", 120): 1, "X": 1, "nobody": 0,
	} {
		for _, s := range sorted(document.Selection{Kind: KindIssue, Author: author, Limit: 2}) {
			if x.skips() {
				continue
			}
			if n := x.same(s); n != want {
				x.Errorf("%+v: %d documents, want %d", s, n, want)
			}
			if _, pages := x.all(x.store, s); x.authors && pages > (want+2)/2 {
				x.Errorf("%+v: %d documents on %d pages of %d", s, want, pages, s.Limit)
			}
		}
	}
	for _, s := range sorted(document.Selection{Kind: KindIssue, Author: "ANN", Account: 2, Repository: 11, Limit: 700}) {
		if !x.skips() && x.same(s) == 0 {
			x.Errorf("%+v: nothing", s)
		}
	}
}

// listLongNames are names that no index holds as they are, and may come in an order
// of their own.
func listLongNames(x *listing) {
	for i := range 5 {
		d := issue(1, strings.Repeat("x", 1500)+fmt.Sprint(i), i)
		d.UpdatedAt = d.CreatedAt.Add(time.Hour)
		x.put(d, issue(1, fmt.Sprint("short", i), 10+i))
	}
	for _, s := range sorted(document.Selection{Kind: KindIssue, Limit: 2}) {
		want, _ := x.all(x.model, s)
		met := map[document.Key]bool{}
		for range maxPages {
			page, err := x.store.List(x.Context(), s)
			x.ok(err)
			for _, key := range keysOf(page.Documents) {
				met[key] = true
			}
			if s.After = page.Next; s.After == nil || len(met) > len(want) {
				break
			}
		}
		for _, key := range keysOf(want) {
			if !met[key] {
				x.Errorf("%+v of %.20s… is not listed by %q", key.Account, key.Name, s.Sort)
			}
		}
	}
}

// listManyAccounts lists by name what hundreds of accounts have a little of.
func listManyAccounts(x *listing) {
	const accounts = 150
	var docs []document.Document
	for i := range accounts {
		d := issue(int64(3*i+1), "one", i)
		if i%4 == 0 {
			d.Kind = KindCommit
		}
		docs = append(docs, d)
	}
	x.put(docs...)
	for _, s := range sorted(document.Selection{Limit: 25}) {
		for _, s.Kind = range []document.Kind{KindIssue, KindCommit} {
			x.same(s)
		}
	}
}
