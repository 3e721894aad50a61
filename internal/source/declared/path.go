package declared

import (
	"fmt"
	"strings"

	"github.com/tidwall/gjson"

	"sluice/internal/ration"
)

// A path names a place in an answer by the names that lead there, with dots between
// them: data.items. A number is a member of a list, * is every member of a list or an
// object. The empty path, or ".", is the answer itself.

// checkPath says what is wrong with a path, "" if nothing is.
func checkPath(path string) string {
	if path == "" || path == "." {
		return ""
	}
	for _, piece := range strings.Split(path, ".") {
		if piece == "" {
			return fmt.Sprintf("%q has a dot too many", path)
		}
		if strings.ContainsAny(piece, "[]{}$") {
			return fmt.Sprintf("%q is not a path; write data.items.0 rather than $.data.items[0]", path)
		}
	}
	return ""
}

// at is what stands at a path; it does not exist where nothing does.
func at(v gjson.Result, path string) gjson.Result {
	if path == "" || path == "." {
		return v
	}
	for piece := range strings.SplitSeq(path, ".") {
		if v = member(v, piece); !v.Exists() {
			return v
		}
	}
	return v
}

// member is one of an object's or a list's. Names are taken as they are: what other
// languages of paths read into them is not meant.
func member(v gjson.Result, name string) gjson.Result {
	var found gjson.Result
	switch {
	case v.IsArray() && strings.HasPrefix(name, "@"):
		// Of elements of XML, the first that has it.
		v.ForEach(func(_, one gjson.Result) bool {
			found = member(one, name)
			return !found.Exists()
		})
	case v.IsArray():
		i := 0
		v.ForEach(func(_, one gjson.Result) bool {
			if fmt.Sprint(i) == name {
				found = one
			}
			i++
			return !found.Exists()
		})
	case v.IsObject():
		v.ForEach(func(key, one gjson.Result) bool {
			if key.String() == name {
				found = one
			}
			return !found.Exists()
		})
	}
	return found
}

// every calls fn for each value at a path with or without *. It says whether the
// path leads anywhere at all.
func every(v gjson.Result, path string, fn func(gjson.Result)) bool {
	if path == "" || path == "." {
		if v.Exists() {
			fn(v)
		}
		return v.Exists()
	}
	piece, rest, _ := strings.Cut(path, ".")
	if piece != "*" {
		return every(member(v, piece), rest, fn)
	}
	if !v.IsArray() && !v.IsObject() {
		return false
	}
	met := true
	v.ForEach(func(_, one gjson.Result) bool {
		met = every(one, rest, fn) && met
		return true
	})
	return met
}

// textAt is the text at a path, "" if there is none.
func textAt(v gjson.Result, path string) string {
	found := at(v, path)
	switch found.Type {
	case gjson.String:
		return found.String()
	case gjson.Number:
		// As it is written: large ids are no floats.
		return found.Raw
	case gjson.True, gjson.False:
		return found.Raw
	default:
		// An element of XML that has attributes.
		if text := member(found, textMember); text.Type == gjson.String {
			return text.String()
		}
		return ""
	}
}

// keyAt is the text at the first of several paths that has any.
func keyAt(v gjson.Result, paths string) string {
	for path := range strings.SplitSeq(paths, "|") {
		if text := textAt(v, path); text != "" {
			return text
		}
	}
	return ""
}

// small is a value as expressions see it: what is long is left out, so that no
// expression can make much of it.
func small(v gjson.Result) any {
	left := mostSeen
	return shrink(v, &left, 0)
}

// mostSeen is how many characters of one record an expression sees, mostField how
// many of one text in it.
const (
	mostSeen  = 64 << 10
	mostField = 16 << 10
)

func shrink(v gjson.Result, left *int, depth int) any {
	switch {
	case *left <= 0 || depth > 20:
		return nil
	case v.IsObject():
		all := map[string]any{}
		v.ForEach(func(key, one gjson.Result) bool {
			*left -= len(key.Raw)
			all[key.String()] = shrink(one, left, depth+1)
			return *left > 0
		})
		return all
	case v.IsArray():
		all := []any{}
		v.ForEach(func(_, one gjson.Result) bool {
			*left--
			all = append(all, shrink(one, left, depth+1))
			return *left > 0
		})
		return all
	}
	if len(v.Raw) > mostField {
		return nil
	}
	*left -= len(v.Raw)
	return bareValue(v)
}

// bareValue is a value without members. A whole number stays one.
func bareValue(v gjson.Result) any {
	switch v.Type {
	case gjson.String:
		return v.String()
	case gjson.True, gjson.False:
		return v.Bool()
	case gjson.Number:
		if !strings.ContainsAny(v.Raw, ".eE") && len(v.Raw) < 19 {
			return int(v.Int())
		}
		return v.Float()
	default:
		return nil
	}
}

var guess = ration.GuessInstant

func shorten(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}
