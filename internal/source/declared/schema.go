package declared

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// shape is what a value of the file is.
type shape uint8

const (
	shapeText shape = iota + 1
	shapeInteger
	shapeBoolean
	shapeDuration
	shapeScalar
	// shapeTemplate is a text with expressions in braces, shapeCondition one
	// expression without.
	shapeTemplate
	shapeCondition
	shapePath
	shapeList
	// shapeObject has keys that are declared, shapeMap keys that the file names.
	shapeObject
	shapeMap
	// shapeEither is one of several, told apart by how it is written.
	shapeEither
)

// form is what may stand at one place of a file.
type form struct {
	shape shape
	// keys are those of an object; of is what a list or a map holds; either are the
	// forms that one may have.
	keys   []key
	of     *form
	either []*form
	// words are the only texts that may stand there, if there are any.
	words []string
}

// key is one that an object may have.
type key struct {
	name     string
	doc      string
	form     *form
	required bool
}

func text(words ...string) *form { return &form{shape: shapeText, words: words} }

func simple(s shape) *form { return &form{shape: s} }

func listOf(f *form) *form { return &form{shape: shapeList, of: f} }

func mapOf(f *form) *form { return &form{shape: shapeMap, of: f} }

func object(keys ...key) *form { return &form{shape: shapeObject, keys: keys} }

func either(forms ...*form) *form { return &form{shape: shapeEither, either: forms} }

func opt(name string, f *form, doc string) key { return key{name: name, form: f, doc: doc} }

func must(name string, f *form, doc string) key {
	return key{name: name, form: f, doc: doc, required: true}
}

func (f *form) names() []string {
	var names []string
	for _, k := range f.keys {
		names = append(names, k.name)
	}
	return names
}

func (f *form) key(name string) *key {
	for i := range f.keys {
		if f.keys[i].name == name {
			return &f.keys[i]
		}
	}
	return nil
}

// String says what is to be written, for messages.
func (f *form) String() string {
	if len(f.words) > 0 {
		return "one of " + strings.Join(f.words, ", ")
	}
	switch f.shape {
	case shapeText:
		return "a text"
	case shapeInteger:
		return "a whole number"
	case shapeBoolean:
		return "true or false"
	case shapeDuration:
		return "a duration such as 90s, 5m, 168h or 30d"
	case shapeScalar:
		return "a text, a number or a boolean"
	case shapeTemplate:
		return "a text, with expressions in {…}"
	case shapeCondition:
		return "an expression"
	case shapePath:
		return "a path such as data.items"
	case shapeList:
		return "a list of " + strings.TrimPrefix(strings.TrimPrefix(f.of.String(), "a "), "an ")
	case shapeObject:
		return "keys: " + strings.Join(f.names(), ", ")
	case shapeMap:
		return "names, each with " + f.of.String()
	}
	var all []string
	for _, one := range f.either {
		all = append(all, one.String())
	}
	return strings.Join(all, "; or ")
}

// KeyDoc is a key of the format, for the reference.
type KeyDoc struct {
	// Path is where it stands; NAME stands for names that the file gives.
	Path, Form, Doc string
	Required        bool
}

// Reference lists every key of the format, in the order in which they are declared.
func Reference() []KeyDoc {
	var all []KeyDoc
	var walk func(path string, f *form)
	walk = func(path string, f *form) {
		switch f.shape {
		case shapeObject:
			for _, k := range f.keys {
				at := strings.TrimPrefix(path+"."+k.name, ".")
				all = append(all, KeyDoc{Path: at, Form: brief(k.form), Doc: k.doc, Required: k.required})
				if k.name == "first" || k.name == "changes" || k.name == "sweep" {
					// They are asked for like the stream itself: only what more they have is told.
					walk(at, object(k.form.keys[len(requestKeys()):]...))
					continue
				}
				walk(at, k.form)
			}
		case shapeMap:
			walk(path+".NAME", f.of)
		case shapeList:
			walk(path+"[]", f.of)
		case shapeEither:
			for _, one := range f.either {
				walk(path, one)
			}
		default:
		}
	}
	walk("", schema())
	return all
}

// brief is a form without the keys that follow anyway.
func brief(f *form) string {
	switch f.shape {
	case shapeObject:
		return "keys"
	case shapeMap:
		return "names, each with " + brief(f.of)
	case shapeList:
		return "a list of " + brief(f.of)
	case shapeEither:
		var all []string
		for _, one := range f.either {
			all = append(all, brief(one))
		}
		return strings.Join(all, ", or ")
	default:
		return f.String()
	}
}

// JSONSchema is the format as editors understand it.
func JSONSchema() map[string]any {
	s := schema().json()
	s["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	s["title"] = "A source of Sluice"
	return s
}

func (f *form) json() map[string]any {
	switch f.shape {
	case shapeInteger:
		return map[string]any{"type": "integer"}
	case shapeBoolean:
		return map[string]any{"type": "boolean"}
	case shapeScalar:
		return map[string]any{"type": []string{"string", "number", "boolean"}}
	case shapeList:
		return map[string]any{"type": "array", "items": f.of.json()}
	case shapeMap:
		return map[string]any{"type": "object", "additionalProperties": f.of.json()}
	case shapeEither:
		var all []any
		for _, one := range f.either {
			all = append(all, one.json())
		}
		return map[string]any{"anyOf": all}
	case shapeObject:
		properties, required := map[string]any{}, []string{}
		for _, k := range f.keys {
			one := maps.Clone(k.form.json())
			one["description"] = k.doc
			properties[k.name] = one
			if k.required {
				required = append(required, k.name)
			}
		}
		slices.SortFunc(required, cmp.Compare[string])
		return map[string]any{"type": "object", "properties": properties, "required": required, "additionalProperties": false}
	default:
	}
	if len(f.words) > 0 {
		return map[string]any{"enum": f.words}
	}
	return map[string]any{"type": []string{"string", "number", "boolean"}}
}
