package compare

import (
	"bufio"
	"bytes"
	"cmp"
	"container/heap"
	"encoding/json"
	"errors"
	"io"
	"os"
	"slices"
	"strings"
)

// row is a document as far as it is compared.
type row struct {
	Key     string   `json:"k"`
	Account string   `json:"a"`
	Values  []string `json:"v"`
}

// compare orders rows by their keys; those with one key by their values, so that
// nothing depends on the order in which they came.
func (r *row) compare(other *row) int {
	return cmp.Or(strings.Compare(r.Key, other.Key), slices.Compare(r.Values, other.Values))
}

func (r *row) size() int {
	n := len(r.Key) + len(r.Account) + 96
	for _, v := range r.Values {
		n += len(v) + 16
	}
	return n
}

// sorter brings rows into the order of their keys. What does not fit into memory
// is sorted in parts, each in a file, which are merged as they are read.
type sorter struct {
	folder string
	memory int
	rows   []row
	size   int
	files  []*os.File
	parts  parts
}

func newSorter(folder string, memory int) *sorter { return &sorter{folder: folder, memory: memory} }

func (s *sorter) add(r row) error {
	s.rows = append(s.rows, r)
	if s.size += r.size(); s.size < s.memory {
		return nil
	}
	return s.spill()
}

func (s *sorter) order() {
	slices.SortFunc(s.rows, func(a, b row) int { return a.compare(&b) })
}

// spill writes what is in memory to a file that nobody else sees.
func (s *sorter) spill() (err error) {
	s.order()
	file, err := os.CreateTemp(s.folder, "sluice-compare-*")
	if err != nil {
		return err
	}
	s.files = append(s.files, file)
	// It is gone with the process, however that ends.
	if err := os.Remove(file.Name()); err != nil {
		return err
	}
	out := bufio.NewWriterSize(file, 256<<10)
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	for i := range s.rows {
		if err := enc.Encode(&s.rows[i]); err != nil {
			return err
		}
	}
	s.rows, s.size = s.rows[:0], 0
	return out.Flush()
}

// finish gets ready to be read.
func (s *sorter) finish() error {
	s.order()
	held := s.rows
	s.parts = append(s.parts, &part{more: func() (*row, error) {
		if len(held) == 0 {
			return nil, io.EOF
		}
		r := &held[0]
		held = held[1:]
		return r, nil
	}})
	for _, file := range s.files {
		if _, err := file.Seek(0, io.SeekStart); err != nil {
			return err
		}
		lines := bufio.NewReaderSize(file, 256<<10)
		s.parts = append(s.parts, &part{more: func() (*row, error) {
			line, err := lines.ReadBytes('\n')
			if err != nil {
				return nil, err
			}
			r := &row{}
			return r, json.NewDecoder(bytes.NewReader(line)).Decode(r)
		}})
	}
	left := s.parts[:0]
	for _, p := range s.parts {
		switch err := p.advance(); {
		case errors.Is(err, io.EOF):
		case err != nil:
			return err
		default:
			left = append(left, p)
		}
	}
	s.parts = left
	heap.Init(&s.parts)
	return nil
}

// next is the next row, nil at the end.
func (s *sorter) next() (*row, error) {
	if len(s.parts) == 0 {
		return nil, nil //nolint:nilnil // the end
	}
	first := s.parts[0]
	r := first.row
	switch err := first.advance(); {
	case errors.Is(err, io.EOF):
		heap.Pop(&s.parts)
	case err != nil:
		return nil, err
	default:
		heap.Fix(&s.parts, 0)
	}
	return r, nil
}

// after is the next row with another key; those with the same are counted, and
// those that say something else.
func (s *sorter) after(r *row, c *Count) (*row, error) {
	for {
		following, err := s.next()
		if err != nil || following == nil || following.Key != r.Key {
			return following, err
		}
		c.Twice++
		if !slices.Equal(following.Values, r.Values) {
			c.Contradicting++
		}
	}
}

func (s *sorter) close() {
	for _, file := range s.files {
		_ = file.Close() // it was only read
	}
}

// part is sorted in itself.
type part struct {
	row  *row
	more func() (*row, error)
}

func (p *part) advance() (err error) {
	p.row, err = p.more()
	return err
}

// parts is a heap.
type parts []*part

// Len implements heap.Interface.
func (p parts) Len() int { return len(p) }

// Less implements heap.Interface.
func (p parts) Less(i, j int) bool {
	return p[i].row.compare(p[j].row) < 0
}

// Swap implements heap.Interface.
func (p parts) Swap(i, j int) { p[i], p[j] = p[j], p[i] }

// Push implements heap.Interface.
func (p *parts) Push(x any) { *p = append(*p, x.(*part)) }

// Pop implements heap.Interface.
func (p *parts) Pop() any {
	last := (*p)[len(*p)-1]
	*p = (*p)[:len(*p)-1]
	return last
}
