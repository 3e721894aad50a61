package tables

import (
	"context"
	"math"
	"slices"
	"time"

	"sluice/internal/document"
)

// What a page of a list looks at, however long that takes: entries of an index, of a
// set of documents that is sorted in memory, repositories of which everything is gone,
// and accounts. A page that is not full by then goes on for lookTime, with moreLooks
// entries at a time.
const (
	maxLooks    = 600
	moreLooks   = 300
	maxSet      = 1000
	maxHomes    = 20
	maxAccounts = 40
	lookTime    = 8 * time.Millisecond
)

// Entry is a document as an index has it.
type Entry struct {
	Account int64
	Name    string
	// At is the instant of the sort, in microseconds; 0 if there is none.
	At int64
	// Selected says that all of the selection holds.
	Selected bool
}

func (e *Entry) cursor() document.Cursor {
	return document.Cursor{At: instant(e.At), Account: e.Account, Name: e.Name}
}

// ListRows are what a store does itself of a list, in its own SQL.
type ListRows struct {
	// Entries runs a statement and calls each for what it finds: an account, a name, an
	// instant, and 1 or 0.
	Entries func(ctx context.Context, q *SQL, each func(Entry)) error
	// Numbers runs a statement that finds rows of two numbers.
	Numbers func(ctx context.Context, q *SQL, each func(a, b int64)) error
	// Authors says that there is IndexAuthor. Whatever is stored goes to another place of
	// that index, which costs an embedded database nearly as much as all others together.
	Authors bool
	// Find is document.Finder.
	Find func(ctx context.Context, keys []document.Key, withRaw bool) ([]document.Document, error)
}

// Lister implements document.Lister on tables. It first finds the keys of a page:
//
//   - Something that few documents have (a repository, an author, a range of time,
//     being gone) is read whole from its index, and sorted.
//   - Otherwise it goes along the index of the order, and looks at so many entries, and
//     then for so long, for those that have the rest.
//
// Then it reads the documents.
type Lister struct {
	kinds document.Kinds
	rows  ListRows
	now   func() time.Time
}

// NewLister returns one of the declared kinds.
func NewLister(kinds document.Kinds, rows ListRows) Lister { return Lister{kinds, rows, time.Now} }

// List implements document.Lister.
func (l *Lister) List(ctx context.Context, s document.Selection) (page document.Page, err error) {
	if err := s.Check(); err != nil {
		return page, err
	}
	if s.Sort == "" {
		s.Sort = document.SortName
	}
	entries, next, small, err := l.set(ctx, &s)
	if err == nil && !small {
		entries, next, err = l.walk(ctx, &s)
	}
	if err != nil {
		return page, err
	}
	page.Next = next
	page.Documents, err = l.read(ctx, &s, entries)
	return page, err
}

// read reads the documents of entries, in their order. What has changed meanwhile is
// looked at again.
func (l *Lister) read(ctx context.Context, s *document.Selection, entries []Entry) ([]document.Document, error) {
	if len(entries) == 0 {
		return nil, nil
	}
	keys := make([]document.Key, len(entries))
	places := make(map[document.Key]int, len(entries))
	for i, e := range entries {
		keys[i] = document.Key{Account: e.Account, Kind: s.Kind, Name: e.Name}
		places[keys[i]] = i
	}
	found, err := l.rows.Find(ctx, keys, s.WithRaw)
	if err != nil {
		return nil, err
	}
	found = slices.DeleteFunc(found, func(d document.Document) bool {
		return !s.Selects(l.kinds, &d) || document.CursorOf(&d, s.Sort) != entries[places[d.Key]].cursor()
	})
	slices.SortFunc(found, func(a, b document.Document) int { return places[a.Key] - places[b.Key] })
	return found, nil
}

// ordered is the path in the order of a selection. Without an account the names of a
// kind lie apart: it is then the path of no account.
func (l *Lister) ordered(s *document.Selection) path {
	switch {
	case s.Sort == document.SortCreated && s.Repository != 0:
		return path{index: IndexRepository, repository: s.Repository, by: columnCreated}
	case s.Sort == document.SortCreated && s.Account != 0:
		return path{index: IndexAccountCreated, account: s.Account, by: columnCreated}
	case s.Sort == document.SortCreated && s.Author != "" && l.rows.Authors:
		return path{index: IndexAuthor, author: s.Author, by: columnCreated}
	case s.Sort == document.SortCreated:
		return path{index: IndexCreated, by: columnCreated}
	case s.Sort == document.SortUpdated && s.Account != 0:
		return path{index: IndexAccountUpdated, account: s.Account, by: columnUpdated}
	case s.Sort == document.SortUpdated:
		return path{index: IndexUpdated, by: columnUpdated}
	}
	return path{account: s.Account}
}

// walk goes along the index of the order.
func (l *Lister) walk(ctx context.Context, s *document.Selection) ([]Entry, *document.Cursor, error) {
	w := walking{list: l, s: s, looks: maxLooks, until: l.now().Add(lookTime), after: s.After}
	p := l.ordered(s)
	if p.by != "" || p.account != 0 {
		_, err := w.along(ctx, p)
		return w.found, w.next, err
	}
	err := w.throughAccounts(ctx)
	return w.found, w.next, err
}

// walking is a walk: what it has found, how many entries it may still look at, until
// when it may have more, and where it is.
type walking struct {
	list  *Lister
	s     *document.Selection
	looks int
	until time.Time
	after *document.Cursor
	found []Entry
	next  *document.Cursor
}

// inTime says whether it may go on although it has looked at much.
func (w *walking) inTime() bool { return w.list.now().Before(w.until) }

// mayLook says whether it may look at further entries.
func (w *walking) mayLook() bool {
	if w.looks <= 0 && w.inTime() {
		w.looks = moreLooks
	}
	return w.looks > 0
}

// along looks at the entries of a path until the page is full, nothing is left of it
// (which ended says), or enough was looked at.
func (w *walking) along(ctx context.Context, p path) (ended bool, err error) {
	filtered := len(p.rest(w.s, w.list.kinds).Parts) > 0
	batch := w.s.Limit + 1 - len(w.found)
	if filtered {
		batch *= 3
	}
	for {
		batch = min(batch, w.looks)
		seen := 0
		var last Entry
		err := w.list.rows.Entries(ctx, p.entries(w.s, w.list.kinds, w.after, batch), func(e Entry) {
			seen++
			if e.Selected && len(w.found) < w.s.Limit+1 {
				w.found = append(w.found, e)
			}
			last = e
		})
		if err != nil {
			return false, err
		}
		w.looks -= seen
		switch {
		case len(w.found) > w.s.Limit:
			w.found = w.found[:w.s.Limit]
			last = w.found[w.s.Limit-1]
			at := last.cursor()
			w.next = &at
			return false, nil
		case seen < batch:
			return true, nil
		}
		at := last.cursor()
		if w.after = &at; !w.mayLook() {
			w.next = &at
			return false, nil
		}
		batch *= 4
	}
}

// throughAccounts goes along the key of one account after the other.
func (w *walking) throughAccounts(ctx context.Context) error {
	for {
		more, err := w.someAccounts(ctx)
		if err != nil || !more || !w.inTime() {
			return err
		}
		w.after = w.next
	}
}

// someAccounts does that for some accounts; more says that there may be others, and
// that the page has room for what they have.
func (w *walking) someAccounts(ctx context.Context) (more bool, err error) {
	at, inside := int64(0), w.after != nil
	if w.s.Descending {
		at = math.MaxInt64
	}
	if inside {
		at = w.after.Account
	}
	from := at
	for range maxAccounts {
		account, there, err := w.account(ctx, at)
		if err != nil || !there {
			w.next = nil
			return false, err
		}
		if !inside || account != from {
			w.after = nil
		}
		w.next = nil
		ended, err := w.along(ctx, path{account: account})
		if err != nil || !ended {
			return false, err
		}
		// What is behind this account is next.
		at, w.next = account+1, &document.Cursor{Account: account + 1}
		if w.s.Descending {
			at, w.next.Account = account-1, account
		}
		if len(w.found) == w.s.Limit || !w.mayLook() {
			return false, nil
		}
	}
	return true, nil
}

// account is the first that has documents, from one on. It is asked for by itself: not
// every server finds one after the other along an index in one statement.
func (w *walking) account(ctx context.Context, from int64) (account int64, there bool, err error) {
	direction, beyond := "", ">"
	if w.s.Descending {
		direction, beyond = " DESC", "<"
	}
	var q SQL
	q.write("SELECT d.account_id, 0 FROM document d WHERE d.account_id " + beyond + "= ").value(from)
	q.write(" ORDER BY d.account_id" + direction + " LIMIT 1")
	err = w.list.rows.Numbers(ctx, &q, func(id, _ int64) { account, there = id, true })
	return account, there, err
}

// set reads what few documents have whole, if the selection asks for something like
// that and it is not in the order that is asked for.
func (l *Lister) set(ctx context.Context, s *document.Selection) (entries []Entry, next *document.Cursor, small bool, err error) {
	all := *s
	all.Descending = false
	for _, of := range l.sets(&all) {
		paths, err := of(ctx)
		if err != nil {
			return nil, nil, false, err
		}
		found, small, err := l.whole(ctx, &all, paths)
		if err != nil {
			return nil, nil, false, err
		}
		if small {
			entries, next := cut(s, found)
			return entries, next, true, nil
		}
	}
	return nil, nil, false, nil
}

// sets are what may be few: each is the paths to all of it, or none if it is much.
func (l *Lister) sets(s *document.Selection) (sets []func(context.Context) ([]path, error)) {
	add := func(p path) {
		sets = append(sets, func(context.Context) ([]path, error) { return []path{p}, nil })
	}
	by := l.ordered(s)
	if s.Deleted != nil && *s.Deleted {
		sets = append(sets, func(ctx context.Context) ([]path, error) { return l.gone(ctx, s) })
	}
	if s.Repository != 0 && by.repository == 0 {
		add(path{index: IndexRepository, repository: s.Repository, by: columnCreated})
	}
	if s.Author != "" && by.author == "" && l.rows.Authors {
		add(path{index: IndexAuthor, author: s.Author, by: columnCreated})
	}
	if !s.UpdatedFrom.IsZero() && by.by != columnUpdated {
		add(l.ordered(&document.Selection{Sort: document.SortUpdated, Account: s.Account}))
	}
	if (!s.CreatedFrom.IsZero() || !s.CreatedUntil.IsZero()) && by.by != columnCreated {
		add(l.ordered(&document.Selection{Sort: document.SortCreated, Account: s.Account}))
	}
	return sets
}

// gone are the paths to all documents that are gone: by themselves, and with their
// repositories.
func (l *Lister) gone(ctx context.Context, s *document.Selection) ([]path, error) {
	paths := []path{{index: IndexGone, account: s.Account}}
	if l.kinds.Independent(s.Kind) {
		return paths, nil
	}
	var q SQL
	q.write("SELECT account_id, repository FROM repository_presence WHERE gone_why <> '' AND seen_at <= gone_last")
	if s.Account != 0 {
		q.and("account_id =", s.Account)
	}
	q.write(" LIMIT ").value(int64(maxHomes + 1))
	err := l.rows.Numbers(ctx, &q, func(_, repository int64) {
		paths = append(paths, path{index: IndexRepository, repository: repository, by: columnCreated})
	})
	if len(paths) > maxHomes+1 {
		return nil, err
	}
	return paths, err
}

// whole reads what paths have, unless it is much. How much it is the indexes tell
// without the documents.
func (l *Lister) whole(ctx context.Context, s *document.Selection, paths []path) (found []Entry, small bool, err error) {
	if len(paths) == 0 {
		return nil, false, nil
	}
	left := int64(maxSet)
	for _, p := range paths {
		err := l.rows.Numbers(ctx, p.count(s, left+1), func(n, _ int64) { left -= n })
		if err != nil || left < 0 {
			return nil, false, err
		}
	}
	met, more := map[Entry]bool{}, 2*maxSet // there may be more by now
	for _, p := range paths {
		err := l.rows.Entries(ctx, p.entries(s, l.kinds, nil, more), func(e Entry) {
			more--
			if e.Selected && !met[e] {
				met[e] = true
				found = append(found, e)
			}
		})
		if err != nil || more <= 0 {
			return nil, false, err
		}
	}
	return found, true, nil
}

// cut is the page of a set.
func cut(s *document.Selection, found []Entry) ([]Entry, *document.Cursor) {
	if s.After != nil {
		found = slices.DeleteFunc(found, func(e Entry) bool { return s.Compare(e.cursor(), *s.After) <= 0 })
	}
	slices.SortFunc(found, func(a, b Entry) int { return s.Compare(a.cursor(), b.cursor()) })
	if len(found) <= s.Limit {
		return found, nil
	}
	next := found[s.Limit-1].cursor()
	return found[:s.Limit], &next
}
