package document

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"time"

	"sluice/internal/domain"
)

// A source may declare columns for values that are its own (FromOwn): beyond the
// fields that a store keeps of every document. It sets them by the columns' names,
// and that is all there is to do: stores make room for what is declared when they
// are opened, and tables show it.

// FromOwn is the value that the source has set under the column's name. Such a
// column is nullable, as what was stored before it was declared has no value in it,
// and columns of one name have one type, whatever their kinds.
const FromOwn Origin = "own"

// Values are a document's own values, by the names of their columns. What is null
// is not among them.
type Values map[string]Value

// Text is a text as a value; "" is null. What no text of a database can hold is
// replaced, so that every store gives back the same: bytes that are not UTF-8, and
// NUL.
func Text(s string) Value { return Value{Text: storable(s), Null: s == ""} }

func storable(s string) string {
	if strings.IndexByte(s, 0) >= 0 {
		s = strings.ReplaceAll(s, "\x00", "\uFFFD")
	}
	return valid(s)
}

// List is a list of texts as a value, in their order; one without members is a
// value too, and not null.
func List(members ...string) Value {
	for i, m := range members {
		if storable(m) != m {
			members = slices.Clone(members)
			for k := i; k < len(members); k++ {
				members[k] = storable(members[k])
			}
			break
		}
	}
	if len(members) == 0 {
		return Value{Text: "[]"}
	}
	var text strings.Builder
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	// A list of texts always encodes.
	_ = enc.Encode(members)
	return Value{Text: strings.TrimSuffix(text.String(), "\n")}
}

// Members are the texts of a list.
func (v *Value) Members() (members []string, err error) {
	if v.Null {
		return nil, nil
	}
	if err := json.Unmarshal([]byte(v.Text), &members); err != nil {
		return nil, domain.Errorf(domain.CodeCorrupt, "a stored list cannot be read: %w", err)
	}
	return members, nil
}

// Integer is a number as a value.
func Integer(n int64) Value { return Value{Integer: n} }

// Boolean is a yes or no as a value.
func Boolean(b bool) Value { return Value{Boolean: b} }

// Instant is a time as a value, to the microsecond; the zero time is null.
func Instant(t time.Time) Value {
	if t.IsZero() {
		return Value{Null: true}
	}
	return Value{Instant: t.UTC().Truncate(time.Microsecond)}
}

// Set sets a value of the document's own.
func (f *Fields) Set(column string, v Value) {
	if v.Null {
		delete(f.Own, column)
		return
	}
	if f.Own == nil {
		f.Own = Values{}
	}
	f.Own[column] = v
}

// ownValue is what the column shows of a document's own values: null if it is not
// among them.
func (c *Column) ownValue(d *Document) Value {
	v, there := d.Own[c.Name]
	if !there {
		return Value{Null: true}
	}
	v.Text = valid(v.Text)
	return v
}

// ownNames are names that can stand in any store, unquoted and with something in
// front.
var ownNames = regexp.MustCompile(`^[a-z][a-z0-9_]{0,47}$`)

func (c *Column) checkOwn() error {
	switch {
	case !slices.Contains([]Type{TypeText, TypeInteger, TypeBoolean, TypeInstant, TypeList}, c.Type):
		return domain.Errorf(domain.CodeInvalid, "the column %s has no type", c.Name)
	case !c.Nullable:
		return domain.Errorf(domain.CodeInvalid, "the column %s must be nullable: documents that were stored before it was declared have no value in it", c.Name)
	case !ownNames.MatchString(c.Name):
		return domain.Errorf(domain.CodeInvalid, "the column %q needs a name of at most 48 small letters, digits and underscores", c.Name)
	}
	return nil
}

// Own lists the columns of values that are the sources' own, each name once, in
// the order of their names: what a store of all these kinds has room for.
func (k Kinds) Own() []Column {
	var own []Column
	for i := range k {
		for _, c := range k[i].Columns {
			if c.From == FromOwn && !slices.ContainsFunc(own, func(o Column) bool { return o.Name == c.Name }) {
				own = append(own, c)
			}
		}
	}
	slices.SortFunc(own, func(a, b Column) int { return strings.Compare(a.Name, b.Name) })
	return own
}

// Owns says whether a kind has a column of its own of that name. Of the kind "",
// which stands for all of them, it is true of every name.
func (k Kinds) Owns(kind Kind, name string) bool {
	if kind == "" {
		return true
	}
	d := k.Of(kind)
	return d != nil && d.owns(name)
}

// checkOwn refuses columns of one name and different types.
func (k Kinds) checkOwn() error {
	types := map[string]Type{}
	for i := range k {
		for _, c := range k[i].Columns {
			if c.From != FromOwn {
				continue
			}
			if other, met := types[c.Name]; met && other != c.Type {
				return domain.Errorf(domain.CodeInvalid,
					"the column %s of the kind %s is of the type %s, and %s in another kind: give it another name", c.Name, k[i].Kind, c.Type, other)
			}
			types[c.Name] = c.Type
		}
	}
	return nil
}

// CheckDocuments refuses documents that no store can keep: without a whole key, or
// with values of their own that nobody has declared.
func (k Kinds) CheckDocuments(docs []Document) error {
	for i := range docs {
		d := &docs[i]
		if err := d.Check(); err != nil {
			return err
		}
		if len(d.Own) == 0 {
			continue
		}
		declared := k.Of(d.Kind)
		for name := range d.Own {
			if declared == nil || !declared.owns(name) {
				return domain.Errorf(domain.CodeInvalid, "the %s %q has a value %q, which no column of its kind declares (From: FromOwn)", d.Kind, d.Name, name)
			}
		}
	}
	return nil
}

// owns is asked for every value of every document.
func (d *Declaration) owns(name string) bool {
	for i := range d.Columns {
		if c := &d.Columns[i]; c.From == FromOwn && c.Name == name {
			return true
		}
	}
	return false
}

// Check refuses a key that is not whole, with code invalid.
func (k Key) Check() error {
	if k.Account == 0 || k.Kind == "" || k.Name == "" {
		return domain.Errorf(domain.CodeInvalid, "a document needs an account, a kind and a name; got %+v", k)
	}
	return nil
}
