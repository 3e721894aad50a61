package trim

import (
	"slices"
	"strings"

	"sluice/internal/domain"
)

// Fields is what is kept of an object: a place in a tree of names. Without children
// everything below is kept, except what stands in without.
type Fields struct {
	children []*child
	// table finds a child by the length and the ends of its name.
	table   [tableSize][]*child
	without string
}

type child struct {
	name   string
	fields *Fields
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
var everything = &Fields{}

// find says what is kept of a member: nil if nothing.
func (f *Fields) find(name []byte) *Fields {
	if len(f.children) == 0 {
		if f.without != "" && string(name) == f.without {
			return nil
		}
		return everything
	}
	for _, c := range f.table[slotOf(name)] {
		if c.name == string(name) {
			return c.fields
		}
	}
	return nil
}

// Compile makes the tree of the paths that are kept: names with dots between them,
// where lists do not count as a step. None keep everything.
func Compile(paths ...string) (*Fields, error) {
	root := &Fields{}
	// Shorter paths first, so that what keeps all of an object is known before
	// what keeps some of it.
	paths = slices.Clone(paths)
	slices.SortStableFunc(paths, func(a, b string) int { return strings.Count(a, ".") - strings.Count(b, ".") })
	for _, path := range paths {
		names := strings.Split(path, ".")
		if slices.Contains(names, "") {
			return nil, domain.Errorf(domain.CodeInvalid, "the path %q has an empty name; write name.name", path)
		}
		root.grow(names)
	}
	return root, nil
}

// Without keeps everything but the members of one name of the answer itself.
func Without(name string) *Fields { return &Fields{without: name} }

// grow adds a path below a node.
func (f *Fields) grow(names []string) {
	next := f.find([]byte(names[0]))
	if len(f.children) == 0 || next == nil {
		next = &Fields{}
		added := &child{name: names[0], fields: next}
		f.children = append(f.children, added)
		slot := slotOf(names[0])
		f.table[slot] = append(f.table[slot], added)
	} else if len(next.children) == 0 {
		return // all of it is kept already
	}
	if len(names) > 1 {
		next.grow(names[1:])
	}
}
