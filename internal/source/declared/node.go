package declared

import (
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// node is a place in a file that was compared with the schema. What was found
// wrong is reported once; asking it for something else than it is gives zero.
type node struct {
	yaml *yaml.Node
	path string
	file *loader
}

func (n node) is() bool { return n.yaml != nil }

func (n node) line() int {
	if n.yaml == nil {
		return 1
	}
	return n.yaml.Line
}

func (n node) wrong(remedy, format string, args ...any) {
	if n.file.noted == nil {
		n.file.misshapen = append(n.file.misshapen, n.path)
	} else if n.file.follows(n.path) {
		return
	}
	n.file.mistakes.add(n.line(), n.path, remedy, format, args...)
}

// get is what stands under a key.
func (n node) get(name string) node {
	if n.yaml == nil || n.yaml.Kind != yaml.MappingNode {
		return node{file: n.file, path: n.path + "." + name}
	}
	for i := 0; i+1 < len(n.yaml.Content); i += 2 {
		if n.yaml.Content[i].Value == name {
			return node{resolve(n.yaml.Content[i+1]), strings.TrimPrefix(n.path+"."+name, "."), n.file}
		}
	}
	return node{file: n.file, path: n.path + "." + name}
}

// each calls fn for every key of a map, in the order of the file.
func (n node) each(fn func(name string, value node)) {
	if n.yaml == nil || n.yaml.Kind != yaml.MappingNode {
		return
	}
	for i := 0; i+1 < len(n.yaml.Content); i += 2 {
		name := n.yaml.Content[i].Value
		fn(name, node{resolve(n.yaml.Content[i+1]), strings.TrimPrefix(n.path+"."+name, "."), n.file})
	}
}

// items are the members of a list; of anything else it is itself the only one.
func (n node) items() []node {
	switch {
	case n.yaml == nil:
		return nil
	case n.yaml.Kind != yaml.SequenceNode:
		return []node{n}
	}
	var all []node
	for i, one := range n.yaml.Content {
		all = append(all, node{resolve(one), n.path + "[" + strconv.Itoa(i) + "]", n.file})
	}
	return all
}

func (n node) scalar() bool { return n.yaml != nil && n.yaml.Kind == yaml.ScalarNode }

func (n node) text() string {
	if !n.scalar() {
		return ""
	}
	return n.yaml.Value
}

func (n node) int() int {
	v, _ := strconv.Atoi(n.text())
	return v
}

func (n node) duration() time.Duration {
	d, _ := parseDuration(n.text())
	return d
}

// parseDuration reads one that may be of days.
func parseDuration(text string) (time.Duration, error) {
	if days, of := strings.CutSuffix(text, "d"); of {
		n, err := strconv.ParseUint(days, 10, 16)
		return time.Duration(n) * 24 * time.Hour, err
	}
	return time.ParseDuration(text)
}

func (n node) ints() []int {
	var all []int
	for _, one := range n.items() {
		all = append(all, one.int())
	}
	return all
}

// resolve follows an alias. Anchors that contain themselves cannot be written.
func resolve(n *yaml.Node) *yaml.Node {
	for n != nil && n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	return n
}

// compare holds a place against what may stand there.
func (n node) compare(f *form, depth int) {
	if depth > 20 {
		n.wrong("write it flat", "it is nested too deep")
		return
	}
	switch f.shape {
	case shapeEither:
		n.compareEither(f, depth)
	case shapeObject:
		n.compareObject(f, depth)
	case shapeMap:
		if n.yaml.Kind != yaml.MappingNode {
			n.wrong("give "+f.String(), "it is %s", n.kind())
			return
		}
		n.twice()
		n.each(func(_ string, value node) { value.compare(f.of, depth+1) })
	case shapeList:
		if n.yaml.Kind != yaml.SequenceNode {
			n.wrong("give "+f.String()+", such as [a, b]", "it is %s", n.kind())
			return
		}
		for _, one := range n.items() {
			one.compare(f.of, depth+1)
		}
	default:
		n.compareScalar(f)
	}
}

func (n node) compareObject(f *form, depth int) {
	if n.yaml.Kind != yaml.MappingNode {
		n.wrong("give "+f.String(), "it is %s", n.kind())
		return
	}
	n.twice()
	n.each(func(name string, value node) {
		k := f.key(name)
		if k == nil {
			value.path = n.path
			value.wrong(meant(name, f.names()), "there is no key %q here", name)
			n.file.misshapen = append(n.file.misshapen, strings.TrimPrefix(n.path+"."+name, "."))
			return
		}
		value.compare(k.form, depth+1)
	})
	for _, k := range f.keys {
		if k.required && !n.get(k.name).is() {
			n.wrong("add "+k.name+": "+k.doc, "the key %q is missing", k.name)
			n.file.misshapen = append(n.file.misshapen, strings.TrimPrefix(n.path+"."+k.name, "."))
		}
	}
}

// twice reports a key that stands there twice: the second would be ignored.
func (n node) twice() {
	seen := map[string]bool{}
	n.each(func(name string, value node) {
		if seen[name] {
			value.wrong("remove one of them", "the key stands there twice")
		}
		seen[name] = true
	})
}

// compareEither picks the form that is written the same way.
func (n node) compareEither(f *form, depth int) {
	var picked *form
	for _, one := range f.either {
		switch n.yaml.Kind {
		case yaml.MappingNode:
			if one.shape == shapeObject || one.shape == shapeMap {
				picked = one
			}
		case yaml.SequenceNode:
			if one.shape == shapeList {
				picked = one
			}
		default:
			if one.shape != shapeObject && one.shape != shapeMap && one.shape != shapeList && one.shape != shapeEither {
				picked = one
			}
		}
		if one.shape == shapeEither && n.yaml.Kind != yaml.SequenceNode {
			picked = one
		}
	}
	if picked == nil {
		n.wrong("give "+f.String(), "it is %s", n.kind())
		return
	}
	n.compare(picked, depth+1)
}

func (n node) compareScalar(f *form) {
	if n.yaml.Kind == yaml.MappingNode && f.shape == shapeTemplate {
		n.wrong("write a text that begins with a brace in quotes", "it is an object")
		return
	}
	if n.yaml.Kind != yaml.ScalarNode || n.yaml.Tag == "!!null" {
		n.wrong("give "+f.String(), "it is %s", n.kind())
		return
	}
	value := n.yaml.Value
	switch {
	case len(f.words) > 0:
		if !contains(f.words, value) {
			n.wrong(meant(value, f.words), "it cannot be %q", value)
		}
	case f.shape == shapeInteger:
		if _, err := strconv.Atoi(value); err != nil {
			n.wrong("give "+f.String(), "%q is not a whole number", value)
		}
	case f.shape == shapeBoolean:
		if n.yaml.Tag != "!!bool" {
			n.wrong("give "+f.String(), "%q is not a boolean", value)
		}
	case f.shape == shapeDuration:
		if d, err := parseDuration(value); err != nil || d < 0 {
			n.wrong("give "+f.String(), "%q is not a duration", value)
		}
	case value == "" && f.shape != shapeScalar:
		n.wrong("give "+f.String(), "it is empty")
	}
}

func contains(all []string, one string) bool {
	for _, a := range all {
		if a == one {
			return true
		}
	}
	return false
}

func (n node) kind() string {
	switch {
	case n.yaml == nil || n.yaml.Tag == "!!null":
		return "empty"
	case n.yaml.Kind == yaml.MappingNode:
		return "an object"
	case n.yaml.Kind == yaml.SequenceNode:
		return "a list"
	}
	return strconv.Quote(n.yaml.Value)
}
