package document

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"sluice/internal/domain"
)

// Sort is what a list of documents is ordered by. Whatever it is, accounts and
// names decide between equals, so that a list has one order and can be continued
// from any of its documents. Descending turns all of it round. Names of a thousand
// bytes and more come in an order of the store's.
type Sort string

// The orders. What has no instant of creation is listed as if that were zero; what
// has none of an update is not in a list that is sorted by it.
const (
	SortName    Sort = "name"
	SortCreated Sort = "created"
	SortUpdated Sort = "updated"
)

var sorts = []Sort{SortName, SortCreated, SortUpdated}

// Selection is what is asked of a list of documents of one kind. Zero fields do
// not restrict, unless it is said otherwise.
type Selection struct {
	// Kind is needed.
	Kind       Kind
	Account    int64
	Repository int64
	// Author is a login; the letters A to Z in it are the same in either case.
	Author string
	State  string
	// Label is one of the values of the kind's column of labels (see
	// Declaration.Labels).
	Label string
	// The first of each pair is inclusive and the second exclusive.
	CreatedFrom, CreatedUntil time.Time
	UpdatedFrom, UpdatedUntil time.Time
	// Deleted restricts it to what is gone, or to what is not.
	Deleted *bool

	Sort       Sort // SortName if it is ""
	Descending bool
	// After is where the page before ended (Page.Next); nil begins.
	After *Cursor
	// Limit is how many documents to list at most, and is needed.
	Limit   int
	WithRaw bool
}

// Cursor is a place in a list: that of a document which was listed last, or was
// only looked at.
type Cursor struct {
	// At is the instant that the list is sorted by; zero when it is sorted by name.
	At      time.Time
	Account int64
	Name    string
}

// CursorOf is the place of a document in a list of that order.
func CursorOf(d *Document, by Sort) Cursor {
	c := Cursor{Account: d.Account, Name: d.Name}
	switch by {
	case SortCreated:
		c.At = d.CreatedAt
	case SortUpdated:
		c.At = d.UpdatedAt
	}
	return c
}

// Check refuses a selection that no store can answer. The error is of code invalid.
func (s *Selection) Check() error {
	switch {
	case s.Kind == "":
		return domain.Errorf(domain.CodeInvalid, "a list of documents needs a kind")
	case s.Limit <= 0:
		return domain.Errorf(domain.CodeInvalid, "a list of documents needs a limit; got %d", s.Limit)
	case s.Sort != "" && !slices.Contains(sorts, s.Sort):
		return domain.Errorf(domain.CodeInvalid, "documents can be sorted by %q; got %q", sorts, s.Sort)
	}
	return nil
}

// Selects says whether a document, which is of the kind, has what is asked for. Its
// place does not matter.
func (s *Selection) Selects(kinds Kinds, d *Document) bool {
	switch {
	case s.Account != 0 && d.Account != s.Account,
		s.Repository != 0 && d.Repository != s.Repository,
		s.Author != "" && asciiLower(d.Author) != asciiLower(s.Author),
		s.State != "" && d.State != s.State,
		s.Deleted != nil && d.Deleted != *s.Deleted,
		s.Sort == SortUpdated && d.UpdatedAt.IsZero(),
		s.Label != "" && !kinds.labelled(d, s.Label):
		return false
	}
	return between(d.CreatedAt, s.CreatedFrom, s.CreatedUntil) && between(d.UpdatedAt, s.UpdatedFrom, s.UpdatedUntil)
}

func between(t, from, until time.Time) bool {
	return !t.Before(from) && (until.IsZero() || t.Before(until))
}

func asciiLower(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'A' && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, s)
}

// LabelsOf is the column that holds the labels of a kind; "" if it has none.
func (k Kinds) LabelsOf(kind Kind) string {
	if d := k.Of(kind); d != nil {
		return d.Labels
	}
	return ""
}

func (k Kinds) labelled(d *Document, label string) bool {
	column := k.LabelsOf(d.Kind)
	v, there := d.Own[column]
	if column == "" || !there {
		return false
	}
	members, err := v.Members()
	return err == nil && slices.Contains(members, label)
}

// Compare orders two places of a list.
func (s *Selection) Compare(a, b Cursor) int {
	c := cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Account, b.Account), cmp.Compare(a.Name, b.Name))
	if s.Descending {
		return -c
	}
	return c
}

// Page is a part of a list.
type Page struct {
	Documents []Document
	// Next is where the following page begins; nil if there is none.
	Next *Cursor
}

// Lister lists documents, a page at a time.
type Lister interface {
	// List returns what a selection asks for, in its order. It looks at so many
	// documents and no more, whatever is asked: a page may hold fewer than the limit,
	// or none, and only one without Next is the last. Pages that follow each other
	// show every document once that was there all the time and kept its place.
	List(ctx context.Context, s Selection) (Page, error)
}
