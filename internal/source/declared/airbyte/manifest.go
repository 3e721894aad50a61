package airbyte

import (
	"maps"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// mostRefs is how many references are followed from one place: more is a circle.
const mostRefs = 32

// node is a place of a manifest. References are followed when a place is looked at, so
// a circle of them costs nothing until somebody goes round it.
type node struct {
	doc  *document
	yaml *yaml.Node
	// params are the $parameters that hold here: components give theirs to what is in them.
	params map[string]node
	refs   int
}

type document struct {
	root *yaml.Node
	// broken are the lines of references that lead nowhere or round in a circle.
	broken map[int]string
}

// at makes a place of a node of YAML: references and aliases are followed, parameters
// gathered.
func (n node) at(y *yaml.Node) node {
	for y != nil && y.Kind == yaml.AliasNode {
		y = y.Alias
	}
	if y == nil {
		return node{doc: n.doc}
	}
	to := node{doc: n.doc, yaml: y, params: n.params, refs: n.refs}
	if y.Kind == yaml.ScalarNode && strings.HasPrefix(y.Value, "#/") {
		return to.follow(y)
	}
	if own := to.own("$parameters"); own != nil && own.Kind == yaml.MappingNode {
		to.params = maps.Clone(to.params)
		if to.params == nil {
			to.params = map[string]node{}
		}
		for i := 0; i+1 < len(own.Content); i += 2 {
			to.params[own.Content[i].Value] = node{doc: n.doc, yaml: own.Content[i+1], refs: n.refs}
		}
	}
	return to
}

// follow goes where a reference leads, with the parameters of the place that refers.
func (n node) follow(ref *yaml.Node) node {
	if n.refs++; n.refs > mostRefs {
		n.doc.broken[ref.Line] = "the reference " + shorten(ref.Value) + " leads round in a circle"
		return node{doc: n.doc}
	}
	to := node{doc: n.doc, yaml: n.doc.root, params: n.params, refs: n.refs}
	for piece := range strings.SplitSeq(strings.TrimPrefix(ref.Value, "#/"), "/") {
		if to = to.step(piece); !to.is() {
			n.doc.broken[ref.Line] = "the reference " + shorten(ref.Value) + " leads nowhere"
			return to
		}
	}
	return to
}

func (n node) step(piece string) node {
	if i, err := strconv.Atoi(piece); err == nil && n.yaml.Kind == yaml.SequenceNode {
		if i < 0 || i >= len(n.yaml.Content) {
			return node{doc: n.doc}
		}
		return n.at(n.yaml.Content[i])
	}
	return n.member(piece)
}

func (n node) is() bool { return n.yaml != nil && n.yaml.Tag != "!!null" }

func (n node) line() int {
	if n.yaml == nil {
		return 1
	}
	return n.yaml.Line
}

// own is what stands under a key of the place itself.
func (n node) own(name string) *yaml.Node {
	if n.yaml == nil || n.yaml.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(n.yaml.Content); i += 2 {
		if n.yaml.Content[i].Value == name {
			return n.yaml.Content[i+1]
		}
	}
	return nil
}

// base is what the place adds to, if it refers to something.
func (n node) base() node {
	if ref := n.own("$ref"); ref != nil && ref.Kind == yaml.ScalarNode {
		return n.follow(ref)
	}
	return node{doc: n.doc}
}

// member is what stands under a key, of the place itself or of what it refers to.
func (n node) member(name string) node {
	if y := n.own(name); y != nil {
		return n.at(y)
	}
	if base := n.base(); base.is() {
		return base.member(name)
	}
	return node{doc: n.doc}
}

// get is a field of a component: a parameter of its name stands for one that is left
// out.
func (n node) get(name string) node {
	if v := n.member(name); v.is() {
		return v
	}
	if !n.is() || n.yaml.Kind != yaml.MappingNode {
		return node{doc: n.doc}
	}
	if v, ok := n.params[name]; ok {
		v.params = n.params
		return v
	}
	return node{doc: n.doc}
}

// dig follows several keys.
func (n node) dig(names ...string) node {
	for _, name := range names {
		n = n.member(name)
	}
	return n
}

// each calls fn for every key of a map, those of what it refers to first.
func (n node) each(fn func(name string, value node)) {
	for _, name := range n.names(nil) {
		fn(name, n.member(name))
	}
}

func (n node) names(seen map[string]bool) []string {
	if !n.is() || n.yaml.Kind != yaml.MappingNode {
		return nil
	}
	if seen == nil {
		seen = map[string]bool{"$parameters": true, "$ref": true}
	}
	all := n.base().names(seen)
	for i := 0; i+1 < len(n.yaml.Content); i += 2 {
		if name := n.yaml.Content[i].Value; !seen[name] {
			seen[name] = true
			all = append(all, name)
		}
	}
	return all
}

// items are the members of a list; of anything else that is there it is itself the
// only one.
func (n node) items() []node {
	if !n.is() {
		return nil
	}
	if n.yaml.Kind != yaml.SequenceNode {
		return []node{n}
	}
	all := make([]node, len(n.yaml.Content))
	for i, y := range n.yaml.Content {
		all[i] = n.at(y)
	}
	return all
}

func (n node) list() bool { return n.is() && n.yaml.Kind == yaml.SequenceNode }

func (n node) mapping() bool { return n.is() && n.yaml.Kind == yaml.MappingNode }

func (n node) scalar() bool { return n.is() && n.yaml.Kind == yaml.ScalarNode }

func (n node) text() string {
	if !n.scalar() {
		return ""
	}
	return n.yaml.Value
}

// bare says whether it is a number or a boolean, not a text.
func (n node) bare() bool {
	return n.scalar() && (n.yaml.Tag == "!!int" || n.yaml.Tag == "!!float" || n.yaml.Tag == "!!bool")
}

// kind is the type of a component.
func (n node) kind() string { return n.member("type").text() }

func shorten(text string) string {
	if len(text) > 80 {
		return strings.ToValidUTF8(text[:80], "") + "…"
	}
	return text
}
