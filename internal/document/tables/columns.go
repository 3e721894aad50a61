package tables

import (
	"time"

	"sluice/internal/document"
	"sluice/internal/domain"
)

// The bits of the flags column. The fourth was set for what is gone until that had
// columns of its own.
const (
	flagFork = 1 << iota
	flagPrivate
	flagExternal
	_
	flagTruncated
	flagMeasured
)

// Flags is the column that holds what is true or not of every document.
func Flags(f *document.Fields) (bits int64) {
	set := func(bit int64, on bool) {
		if on {
			bits |= bit
		}
	}
	set(flagFork, f.Fork)
	set(flagPrivate, f.Private)
	set(flagExternal, f.External)
	set(flagTruncated, f.Truncated)
	set(flagMeasured, f.Measured)
	return bits
}

// SetFlags reads that column.
func SetFlags(f *document.Fields, bits int64) {
	f.Fork, f.Private, f.External = bits&flagFork != 0, bits&flagPrivate != 0, bits&flagExternal != 0
	f.Truncated, f.Measured = bits&flagTruncated != 0, bits&flagMeasured != 0
}

// Mark is an absence as it lies in three columns.
func Mark(why string, since, last int64) document.Mark {
	if why == "" {
		return document.Mark{}
	}
	return document.Mark{Why: document.Reason(why), Since: instant(since), Last: instant(last)}
}

func instant(micros int64) time.Time {
	if micros == 0 {
		return time.Time{}
	}
	return time.UnixMicro(micros).UTC()
}

func micros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

// Own are the columns of the table document that hold values of the sources' own
// (document.FromOwn), in their order. Each is called after what is declared, with
// own_ in front, and is null where there is no value.
type Own []document.Column

// OwnOf lists those of kinds, which it checks.
func OwnOf(kinds document.Kinds) (Own, error) {
	return kinds.Own(), kinds.Check()
}

// Name is what the i-th column is called.
func (o Own) Name(i int) string { return "own_" + o[i].Name }

// Names are what they are called.
func (o Own) Names() []string {
	names := make([]string, len(o))
	for i := range o {
		names[i] = o.Name(i)
	}
	return names
}

// After is a list of columns with these at the end, each with something in front:
// "a, b, d.own_c".
func (o Own) After(list, prefix string) string {
	for i := range o {
		list += ", " + prefix + o.Name(i)
	}
	return list
}

// For are those that a query asks for: those of other kinds are null in all that it
// finds.
func (o Own) For(kinds document.Kinds, q document.Query) Own {
	if q.WithoutOwn {
		return nil
	}
	return o.Of(kinds, q.Kind)
}

// Of are those of one kind, or all of them if it is "".
func (o Own) Of(kinds document.Kinds, kind document.Kind) Own {
	var of Own
	for i := range o {
		if kinds.Owns(kind, o[i].Name) {
			of = append(of, o[i])
		}
	}
	return of
}

// IsText says whether the i-th column holds texts, lists as JSON among them;
// otherwise it holds numbers: booleans as 0 and 1, instants as microseconds since
// 1970.
func (o Own) IsText(i int) bool {
	return o[i].Type == document.TypeText || o[i].Type == document.TypeList
}

// Value is what the i-th column holds of a document: a text or a number, as IsText
// says, unless it is null.
func (o Own) Value(i int, d *document.Document) (text string, number int64, null bool) {
	v, there := d.Own[o[i].Name]
	if !there || v.Null {
		return "", 0, true
	}
	switch o[i].Type {
	case document.TypeText, document.TypeList:
		return v.Text, 0, false
	case document.TypeBoolean:
		if v.Boolean {
			number = 1
		}
	case document.TypeInstant:
		number = v.Instant.UnixMicro()
	case document.TypeInteger:
		number = v.Integer
	}
	return "", number, false
}

// Read is the inverse of Value, for what is not null.
func (o Own) Read(i int, d *document.Document, text string, number int64) {
	var v document.Value
	switch o[i].Type {
	case document.TypeText, document.TypeList:
		v.Text = text
	case document.TypeBoolean:
		v.Boolean = number != 0
	case document.TypeInstant:
		v.Instant = time.UnixMicro(number).UTC()
	case document.TypeInteger:
		v.Integer = number
	}
	d.Set(o[i].Name, v)
}

// Missing are those that a table does not have; has says of the columns that it has
// whether they hold texts. It is an error if one of them holds something else than
// is declared.
func (o Own) Missing(has map[string]bool) (missing Own, err error) {
	for i := range o {
		text, there := has[o.Name(i)]
		switch {
		case !there:
			missing = append(missing, o[i])
		case text != o.IsText(i):
			return nil, domain.Errorf(domain.CodeConflict,
				"the column %s cannot be of the type %s: what is stored under that name, of this or of another table, is of another type; give it another name",
				o[i].Name, o[i].Type)
		}
	}
	return missing, nil
}
