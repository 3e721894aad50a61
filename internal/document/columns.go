package document

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"sluice/internal/domain"
)

// Column is one column of a kind's table. Exports have it in every format.
type Column struct {
	Name string
	Type Type
	// Unit is what a number counts, "" where that needs no word.
	Unit string
	// Doc says in one line what it is.
	Doc string
	// From is which stored value it shows.
	From Origin
	// Nullable says that it is null where there is no value. Other columns have
	// the zero of their type then.
	Nullable bool
	// Repeats says that few values stand in many rows; formats that can keep each
	// of them once.
	Repeats bool
	// Searched says that a search for words looks into it. It is a text.
	Searched bool
}

// HasLogin says whether it holds logins, which are the same in any case.
func (c *Column) HasLogin() bool {
	return c.From == FromAccount || c.From == FromAuthor || c.From == FromClosedBy
}

// Type is what a column holds.
type Type string

// The types.
const (
	TypeText    Type = "text"
	TypeInteger Type = "integer"
	TypeBoolean Type = "boolean"
	// TypeInstant is a time in UTC, to the microsecond.
	TypeInstant Type = "instant"
	// TypeList is a list of texts, in their order, as only a value of the source's
	// own can be.
	TypeList Type = "list"
)

// Origin is a stored value that a column can show: what a store keeps of every
// document, of whatever kind, or a value of the source's own (FromOwn).
type Origin string

// The origins of what every document has.
const (
	// FromName is the document's name within account and kind; as an integer,
	// the database id that it is.
	FromName Origin = "name"
	// FromNameEnd is what follows the colon in a name.
	FromNameEnd Origin = "name_end"
	// FromAccount and FromSource are the account's login and its source.
	FromAccount Origin = "account"
	FromSource  Origin = "source"
	// FromContainer is the id of the repository that it belongs to, and
	// FromContainerTitle the title of that, if it is collected.
	FromContainer      Origin = "repository"
	FromContainerTitle Origin = "repository_title"
	FromNumber         Origin = "number"
	FromState          Origin = "state"
	// FromVisibleState is the state, unless the upstream withholds the thing:
	// nobody can tell then, and it is called blocked.
	FromVisibleState Origin = "visible_state"
	FromTitle        Origin = "title"
	FromAuthor       Origin = "author"
	FromLanguage     Origin = "language"
	FromStars        Origin = "stars"
	// FromAdditions and FromDeletions are there once they are measured.
	FromAdditions Origin = "additions"
	FromDeletions Origin = "deletions"
	FromCreatedAt Origin = "created_at"
	FromUpdatedAt Origin = "updated_at"
	FromClosedAt  Origin = "closed_at"
	FromMergedAt  Origin = "merged_at"
	FromClosedBy  Origin = "closed_by"
	FromFork      Origin = "fork"
	FromPrivate   Origin = "private"
	FromExternal  Origin = "external"
	FromDeleted   Origin = "deleted"
	FromGoneSince Origin = "gone_since"
	FromGoneWhy   Origin = "gone_why"
	FromTruncated Origin = "truncated"
)

// Place is where a document was found.
type Place struct {
	Account domain.Account
	// Titles are those of the account's repositories.
	Titles map[int64]string
}

// Value is what a column holds in one row: the field of the column's type,
// unless it is null.
type Value struct {
	Null bool
	// Text is a text, or a list of texts as JSON (see List).
	Text    string
	Integer int64
	Boolean bool
	Instant time.Time
}

// Value reads the column's value of a document.
func (c *Column) Value(d *Document, at *Place) (v Value, err error) {
	if c.From == FromOwn {
		return c.ownValue(d), nil
	}
	none := false
	switch c.Type {
	case TypeText:
		v.Text, err = c.text(d, at)
		none = v.Text == ""
	case TypeInteger:
		v.Integer, none, err = c.integer(d)
	case TypeBoolean:
		v.Boolean = c.boolean(d)
	case TypeInstant:
		v.Instant = c.instant(d)
		none = v.Instant.IsZero()
	case TypeList:
		return v, c.odd()
	}
	v.Null = c.Nullable && none
	return v, err
}

func (c *Column) text(d *Document, at *Place) (string, error) {
	switch c.From {
	case FromName:
		return d.Name, nil
	case FromNameEnd:
		_, end, ok := strings.Cut(d.Name, ":")
		if !ok {
			return "", oddName(d)
		}
		return end, nil
	case FromAccount:
		return at.Account.Login, nil
	case FromSource:
		return at.Account.Source, nil
	case FromContainerTitle:
		return valid(at.Titles[d.Repository]), nil
	case FromVisibleState:
		if d.GoneWhy == GoneBlocked {
			return string(GoneBlocked), nil
		}
		return valid(d.State), nil
	case FromState:
		return valid(d.State), nil
	case FromTitle:
		return valid(d.Title), nil
	case FromAuthor:
		return valid(d.Author), nil
	case FromLanguage:
		return valid(d.Language), nil
	case FromClosedBy:
		return valid(d.ClosedBy), nil
	case FromGoneWhy:
		return valid(string(d.GoneWhy)), nil
	}
	return "", c.odd()
}

// integer also reports whether there is no value.
func (c *Column) integer(d *Document) (n int64, none bool, err error) {
	switch c.From {
	case FromName:
		if n, err = strconv.ParseInt(d.Name, 10, 64); err != nil {
			err = oddName(d)
		}
		return n, false, err
	case FromContainer:
		return d.Repository, d.Repository == 0, nil
	case FromNumber:
		return d.Number, false, nil
	case FromStars:
		return d.Stars, false, nil
	case FromAdditions:
		return d.Additions, !d.Measured, nil
	case FromDeletions:
		return d.Deletions, !d.Measured, nil
	}
	return 0, true, c.odd()
}

func (c *Column) boolean(d *Document) bool {
	switch c.From {
	case FromFork:
		return d.Fork
	case FromPrivate:
		return d.Private
	case FromExternal:
		return d.External
	case FromDeleted:
		return d.Deleted
	case FromTruncated:
		return d.Truncated
	}
	return false
}

// instant is as exact as every format has it.
func (c *Column) instant(d *Document) (t time.Time) {
	switch c.From {
	case FromCreatedAt:
		t = d.CreatedAt
	case FromUpdatedAt:
		t = d.UpdatedAt
	case FromClosedAt:
		t = d.ClosedAt
	case FromMergedAt:
		t = d.MergedAt
	case FromGoneSince:
		t = d.GoneSince
	}
	if t.IsZero() {
		return time.Time{}
	}
	return t.UTC().Truncate(time.Microsecond)
}

// odd says that a column shows what its type cannot hold.
func (c *Column) odd() error {
	return domain.Errorf(domain.CodeInvalid, "the column %s shows %q, which is not of the type %s", c.Name, c.From, c.Type)
}

func oddName(d *Document) error {
	return domain.Errorf(domain.CodeCorrupt, "the stored %s %q of account %d has an invalid name", d.Kind, d.Name, d.Account)
}

// valid keeps what is not UTF-8 out of formats that promise it.
func valid(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

// origins are those that a type can hold.
func (t Type) origins() []Origin {
	switch t {
	case TypeText:
		return []Origin{FromName, FromNameEnd, FromAccount, FromSource, FromContainerTitle, FromState, FromVisibleState, FromTitle,
			FromAuthor, FromLanguage, FromClosedBy, FromGoneWhy}
	case TypeInteger:
		return []Origin{FromName, FromContainer, FromNumber, FromStars, FromAdditions, FromDeletions}
	case TypeBoolean:
		return []Origin{FromFork, FromPrivate, FromExternal, FromDeleted, FromTruncated}
	case TypeInstant:
		return []Origin{FromCreatedAt, FromUpdatedAt, FromClosedAt, FromMergedAt, FromGoneSince}
	case TypeList:
	}
	return nil
}

func checkColumns(columns []Column) error {
	for i := range columns {
		c := &columns[i]
		if c.From == FromOwn {
			if err := c.checkOwn(); err != nil {
				return err
			}
		} else if !slices.Contains(c.Type.origins(), c.From) {
			return c.odd()
		}
		if c.Searched && c.Type != TypeText {
			return domain.Errorf(domain.CodeInvalid, "the column %s is searched and is no text", c.Name)
		}
		if c.Name == "" || slices.IndexFunc(columns, func(o Column) bool { return o.Name == c.Name }) != i {
			return domain.Errorf(domain.CodeInvalid, "the column %q has no name of its own", c.Name)
		}
	}
	return nil
}
