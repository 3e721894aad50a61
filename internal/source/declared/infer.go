package declared

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/tidwall/gjson"

	"sluice/internal/document"
)

// Columns are inferred once, from the records of one page, and are fixed from then on:
// a probe proposes them as lines of the file.

const (
	// mostInferred is how many columns are inferred, and mostLooked how many records are
	// looked at.
	mostInferred = 24
	mostLooked   = 100
)

// inferring is what the records of a page show of one place.
type inferring struct {
	path  string
	types map[document.Type]int
	order int
}

// infer are the columns that records would have. What is not of one type in all of them
// is a text; what only some of them have comes last.
func (s *Stream) infer(records []gjson.Result) []column {
	seen := map[string]*inferring{}
	for _, r := range records[:min(len(records), mostLooked)] {
		look(r, "", seen)
	}
	for _, own := range append([]string{s.version, s.title}, s.key...) {
		for path := range strings.SplitSeq(own, "|") {
			delete(seen, path)
		}
	}
	all := make([]*inferring, 0, len(seen))
	for _, one := range seen {
		if one.met() > 0 {
			all = append(all, one)
		}
	}
	slices.SortFunc(all, func(a, b *inferring) int { return cmp.Or(cmp.Compare(b.met(), a.met()), cmp.Compare(a.order, b.order)) })
	var columns []column
	for _, one := range all {
		name := columnName(one.path)
		taken := slices.ContainsFunc(columns, func(c column) bool { return c.name == name })
		if name == "" || taken || len(columns) == mostInferred {
			continue
		}
		columns = append(columns, column{name: name, at: one.path, typ: one.typ()})
	}
	return columns
}

func (i *inferring) met() (n int) {
	for _, m := range i.types {
		n += m
	}
	return n
}

func (i *inferring) typ() document.Type {
	if len(i.types) == 1 {
		for typ := range i.types {
			return typ
		}
	}
	return document.TypeText
}

// look notes what a record has, and what the objects in it have.
func look(v gjson.Result, path string, seen map[string]*inferring) {
	v.ForEach(func(key, one gjson.Result) bool {
		at := strings.TrimPrefix(path+"."+key.String(), ".")
		if strings.Contains(key.String(), ".") || checkPath(at) != "" || strings.ContainsAny(at, " :,#'\"*|@&!%`") {
			return true
		}
		known := seen[at]
		if known == nil {
			known = &inferring{path: at, types: map[document.Type]int{}, order: len(seen)}
			seen[at] = known
		}
		switch {
		case one.IsObject() && path == "":
			look(one, at, seen)
		case one.IsObject(), one.Type == gjson.Null:
		default:
			if typ := typeOf(one); typ != "" {
				known.types[typ]++
			}
		}
		return true
	})
}

// typeOf is the type of a column that would hold a value, "" if none would.
func typeOf(v gjson.Result) document.Type {
	switch {
	case v.IsArray():
		plain := true
		v.ForEach(func(_, one gjson.Result) bool {
			plain = !one.IsObject() && !one.IsArray()
			return plain
		})
		if !plain {
			return ""
		}
		return document.TypeList
	case v.IsBool():
		return document.TypeBoolean
	case v.Type == gjson.Number && !strings.ContainsAny(v.Raw, ".eE") && len(v.Raw) < 19:
		return document.TypeInteger
	case v.Type == gjson.String && len(v.Str) >= len("2006-01-02T15:04") && timeForm(v) == "iso":
		return document.TypeInstant
	}
	return document.TypeText
}

// columnName is what a column of a place is called: in small letters, with underscores.
// It is "" if there is no such name.
func columnName(path string) string {
	var name strings.Builder
	before := '_'
	for _, r := range path {
		switch {
		case r == '.' || r == '-':
			r = '_'
		case unicode.IsUpper(r) && before != '_' && !unicode.IsUpper(before):
			name.WriteByte('_')
		}
		name.WriteRune(unicode.ToLower(r))
		before = r
	}
	text := name.String()
	if contains(ownColumns, text) {
		text = "its_" + text
	}
	if !columnNames.MatchString(text) {
		return ""
	}
	return text
}

// columnLines are columns as a file has them.
func columnLines(columns []column) []string {
	if len(columns) == 0 {
		return nil
	}
	lines := []string{"columns:"}
	for _, c := range columns {
		if c.typ == document.TypeText {
			lines = append(lines, fmt.Sprintf("  %s: %s", c.name, c.at))
			continue
		}
		lines = append(lines, fmt.Sprintf("  %s: {at: %s, type: %s}", c.name, c.at, c.typ))
	}
	return lines
}
