// Package trim reads an answer in one pass over its bytes and writes what is worth
// keeping of it in a canonical form: two answers that say the same have the same
// text, and so the same hash. What is not kept is checked for being well-formed and
// skipped.
package trim

import "bytes"

// Trimmer writes what is kept of an answer in its canonical form: members sorted
// by name, elements in their order, numbers as they came, no spaces. Of members
// of one name the last counts.
type Trimmer struct {
	in      []byte // padded, see scan.go
	out     []byte
	members []member // of the objects that are being written, as a stack
	spare   []byte
	scratch []byte
}

// member is where a member stands in out: its quoted name from from to colon,
// and its value up to a comma before to.
type member struct{ from, colon, to int }

// Trim reads an answer that Padding zero bytes follow, and returns what is kept of
// it, which is the trimmer's own until the next one; ok says whether it is one
// well-formed object.
func (t *Trimmer) Trim(padded []byte, kept *Fields) (text []byte, ok bool) {
	ok = t.read(padded, kept)
	t.in = nil
	return t.out, ok
}

// Size is how much memory it holds for the next answer.
func (t *Trimmer) Size() int { return cap(t.out) }

func (t *Trimmer) read(in []byte, root *Fields) bool {
	t.in, t.out, t.members = in, t.out[:0], t.members[:0]
	i := skipSpace(in, 0)
	if in[i] != '{' {
		return false
	}
	if i = t.object(i+1, root, 1); i < 0 {
		return false
	}
	return skipSpace(in, i) == len(in)-Padding
}

func (t *Trimmer) value(i int, n *Fields, depth int) int {
	switch t.in[i] {
	case '{':
		return t.object(i+1, n, depth+1)
	case '[':
		return t.array(i+1, n, depth+1)
	case '"':
		end, escaped, foreign := skipString(t.in, i+1)
		if end > 0 {
			t.out = appendText(t.out, t.in[i+1:end-1], escaped, foreign)
		}
		return end
	}
	end := skipValue(t.in, i, depth)
	if end > 0 {
		t.out = append(t.out, t.in[i:end]...)
	}
	return end
}

func (t *Trimmer) array(i int, n *Fields, depth int) int {
	t.out = append(t.out, '[')
	if i = skipSpace(t.in, i); t.in[i] == ']' {
		t.out = append(t.out, ']')
		return i + 1
	}
	for more := true; more; {
		if depth > maxDepth {
			return -1
		}
		if i = t.value(i, n, depth); i < 0 {
			return -1
		}
		if i, more = skipComma(t.in, i, ']'); i < 0 {
			return -1
		}
		t.out = append(t.out, ',')
	}
	t.out[len(t.out)-1] = ']'
	return i
}

func (t *Trimmer) object(i int, n *Fields, depth int) int {
	first := len(t.members)
	t.out = append(t.out, '{')
	if i = skipSpace(t.in, i); t.in[i] == '}' {
		t.out = append(t.out, '}')
		return i + 1
	}
	for more := true; more; {
		if t.in[i] != '"' || depth > maxDepth {
			return -1
		}
		if i = t.member(i+1, n, depth); i < 0 {
			return -1
		}
		if i, more = skipComma(t.in, i, '}'); i < 0 {
			return -1
		}
	}
	t.closeObject(first)
	return i
}

// member reads a member from after its first quote, and writes it if it is kept.
func (t *Trimmer) member(i int, n *Fields, depth int) int {
	end, escaped, foreign := skipString(t.in, i)
	if end < 0 {
		return -1
	}
	name := t.in[i : end-1]
	if i = skipColon(t.in, end); i < 0 {
		return -1
	}
	written := name
	if escaped {
		t.scratch = decodeText(t.scratch[:0], name)
		name = t.scratch
	}
	kept := n.find(name)
	if kept == nil {
		return skipValue(t.in, i, depth)
	}
	m := member{from: len(t.out)}
	t.out = appendText(t.out, written, escaped, foreign)
	m.colon = len(t.out)
	t.out = append(t.out, ':')
	if i = t.value(i, kept, depth); i < 0 {
		return -1
	}
	t.out = append(t.out, ',')
	m.to = len(t.out)
	t.members = append(t.members, m)
	return i
}

// closeObject puts the members since first in order and ends their object.
func (t *Trimmer) closeObject(first int) {
	members := t.members[first:]
	t.members = t.members[:first]
	if len(members) == 0 {
		t.out = append(t.out, '}')
		return
	}
	start := members[0].from
	if t.sort(members) {
		t.spare = t.spare[:0]
		for k, m := range members {
			if k+1 < len(members) && bytes.Equal(t.name(m), t.name(members[k+1])) {
				continue
			}
			t.spare = append(t.spare, t.out[m.from:m.to]...)
		}
		t.out = append(t.out[:start], t.spare...)
	}
	t.out[len(t.out)-1] = '}'
}

func (t *Trimmer) name(m member) []byte { return t.out[m.from+1 : m.colon-1] }

// sort orders members by name, those of one name as they came, and tells
// whether anything has to move. There are too few of them for anything better
// than inserting.
func (t *Trimmer) sort(members []member) bool {
	moved := false
	for k := 1; k < len(members); k++ {
		m := members[k]
		at := k
		for at > 0 {
			order := bytes.Compare(t.name(members[at-1]), t.name(m))
			moved = moved || order >= 0
			if order <= 0 {
				break
			}
			members[at] = members[at-1]
			at--
		}
		members[at] = m
	}
	return moved
}
