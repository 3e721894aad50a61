package github

import (
	"github.com/tidwall/gjson"

	"sluice/internal/document"
)

// smallValue is the size up to which a value counts as metadata.
const smallValue = 1 << 10

// fit makes a document's payload no larger than allowed. It gives up the
// patches of files first, then the files, then every other large value; what
// the document says in its fields stays, except for texts of its own that alone are
// too large. A payload that lost something is marked.
func (s *Source) fit(doc *document.Document) {
	if len(doc.Raw) <= s.opt.MaxPayload {
		return
	}
	doc.Truncated = true
	for column, v := range doc.Own {
		if len(v.Text) > s.opt.MaxPayload {
			delete(doc.Own, column)
		}
	}
	whole := view(doc.Raw)
	keeps := []func(key string, v gjson.Result) []byte{
		func(key string, v gjson.Result) []byte {
			if key == "files" && v.IsArray() {
				return withoutPatches(v)
			}
			return []byte(v.Raw)
		},
		func(key string, v gjson.Result) []byte {
			if key == "files" {
				return nil
			}
			return []byte(v.Raw)
		},
		func(_ string, v gjson.Result) []byte {
			if len(v.Raw) > smallValue {
				return nil
			}
			return []byte(v.Raw)
		},
	}
	for _, keep := range keeps {
		doc.Raw = rebuild(whole, keep)
		if len(doc.Raw) <= s.opt.MaxPayload {
			return
		}
	}
	doc.Raw = []byte(`{}`)
}

// rebuild copies an object member by member, leaving out what keep does not
// return.
func rebuild(object gjson.Result, keep func(key string, v gjson.Result) []byte) []byte {
	out := []byte{'{'}
	object.ForEach(func(k, v gjson.Result) bool {
		kept := keep(k.Str, v)
		if kept == nil {
			return true
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(out, k.Raw...)
		out = append(out, ':')
		out = append(out, kept...)
		return true
	})
	return append(out, '}')
}

func withoutPatches(files gjson.Result) []byte {
	out := []byte{'['}
	files.ForEach(func(_, file gjson.Result) bool {
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(out, rebuild(file, func(key string, v gjson.Result) []byte {
			if key == "patch" {
				return nil
			}
			return []byte(v.Raw)
		})...)
		return true
	})
	return append(out, ']')
}
