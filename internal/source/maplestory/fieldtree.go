package maplestory

import (
	"slices"
	"strings"

	"sluice/internal/domain"
)

// volatileField is the member of every answer that is no part of its value.
const volatileField = "date"

// node is a place in the tree of fields. Without children everything below is
// kept, except what stands in without.
type node struct {
	children []*child
	// table finds a child by the length and the ends of its name.
	table   [tableSize][]*child
	without string
}

type child struct {
	name string
	node *node
}

const tableSize = 64

func slotOf[S ~string | ~[]byte](name S) int {
	n := len(name)
	if n == 0 {
		return 0
	}
	return (n*31 + int(name[0])*7 + int(name[n-1])) % tableSize
}

// everything is the place below which all is kept.
var everything = &node{}

// find says what is kept of a member: nil if nothing.
func (n *node) find(name []byte) *node {
	if len(n.children) == 0 {
		if n.without != "" && string(name) == n.without {
			return nil
		}
		return everything
	}
	for _, c := range n.table[slotOf(name)] {
		if c.name == string(name) {
			return c.node
		}
	}
	return nil
}

// compileFields makes a tree for each part.
func compileFields(fields []string) (map[string]*node, error) {
	roots := map[string]*node{}
	// Shorter paths first, so that what keeps all of an object is known before
	// what keeps some of it.
	fields = slices.Clone(fields)
	slices.SortStableFunc(fields, func(a, b string) int { return strings.Count(a, ".") - strings.Count(b, ".") })
	for _, field := range fields {
		part, path, found := strings.Cut(field, ":")
		names := strings.Split(path, ".")
		switch {
		case !found || !slices.Contains(Parts(), part):
			return nil, domain.Errorf(domain.CodeInvalid, "maplestory: the field %q begins with no known part; write part:name.name", field)
		case slices.Contains(names, ""):
			return nil, domain.Errorf(domain.CodeInvalid, "maplestory: the field %q has an empty name; write part:name.name", field)
		case names[0] == volatileField:
			return nil, domain.Errorf(domain.CodeInvalid, "maplestory: the field %q changes with every answer and cannot be kept; leave it out", field)
		}
		if roots[part] == nil {
			roots[part] = &node{}
		}
		roots[part].grow(names)
	}
	for _, part := range append(Parts(), NamePart) {
		if roots[part] == nil {
			roots[part] = &node{without: volatileField}
		}
	}
	return roots, nil
}

// grow adds a path below a node.
func (n *node) grow(names []string) {
	next := n.find([]byte(names[0]))
	if len(n.children) == 0 || next == nil {
		next = &node{}
		added := &child{name: names[0], node: next}
		n.children = append(n.children, added)
		slot := slotOf(names[0])
		n.table[slot] = append(n.table[slot], added)
	} else if len(next.children) == 0 {
		return // all of it is kept already
	}
	if len(names) > 1 {
		next.grow(names[1:])
	}
}
