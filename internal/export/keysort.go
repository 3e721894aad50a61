package export

import (
	"bufio"
	"cmp"
	"container/heap"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"slices"

	"sluice/internal/domain"
)

// sortedInMemory is how many places are held at most; a run of as many is written to
// a file. It is some ten megabytes.
const sortedInMemory = 100_000

// place is a document of one kind in the order of exports.
type place struct {
	account int64
	name    string
}

func comparePlaces(a, b place) int {
	return cmp.Or(cmp.Compare(a.account, b.account), cmp.Compare(a.name, b.name))
}

// keySorter sorts places, each once, however many there are: it holds so many of
// them, and writes what is more in sorted runs to a temporary file, which are merged
// when they are read. Merging takes a buffer for each run.
type keySorter struct {
	most int
	held []place
	file *os.File
	// ends are where the runs in the file end.
	ends []int64
}

func newKeySorter(most int) *keySorter { return &keySorter{most: most} }

func (s *keySorter) add(p place) error {
	s.held = append(s.held, p)
	if len(s.held) < s.most {
		return nil
	}
	s.settle()
	if len(s.held) <= s.most/2 {
		// The same documents came again and again.
		return nil
	}
	return s.spill()
}

// settle sorts what is held, and keeps each once.
func (s *keySorter) settle() {
	slices.SortFunc(s.held, comparePlaces)
	s.held = slices.Compact(s.held)
}

func (s *keySorter) spill() (err error) {
	if s.file == nil {
		if s.file, err = os.CreateTemp("", "sluice-changes-*"); err != nil {
			return sorting(err)
		}
		// Whatever becomes of the process, nothing is left of it.
		if err := os.Remove(s.file.Name()); err != nil {
			return sorting(err)
		}
	}
	out := bufio.NewWriterSize(s.file, pieceSize)
	end := int64(0)
	if len(s.ends) > 0 {
		end = s.ends[len(s.ends)-1]
	}
	var record []byte
	for _, p := range s.held {
		record = binary.AppendVarint(record[:0], p.account)
		record = binary.AppendUvarint(record, uint64(len(p.name)))
		record = append(record, p.name...)
		if _, err := out.Write(record); err != nil {
			return sorting(err)
		}
		end += int64(len(record))
	}
	if err := out.Flush(); err != nil {
		return sorting(err)
	}
	s.ends, s.held = append(s.ends, end), s.held[:0]
	return nil
}

// sorting explains what a disk has to do with it.
func sorting(err error) error {
	return domain.Errorf(domain.CodeUnavailable, "the changed documents cannot be sorted on disk, in the folder for temporary files (TMPDIR): %w", err)
}

// each calls fn for every place once, in order.
func (s *keySorter) each(fn func(place) error) error {
	s.settle()
	runs := mergedRuns{&run{held: s.held}}
	begin := int64(0)
	for _, end := range s.ends {
		runs = append(runs, &run{in: bufio.NewReaderSize(io.NewSectionReader(s.file, begin, end-begin), pieceSize)})
		begin = end
	}
	ready := runs[:0]
	for _, r := range runs {
		more, err := r.next()
		if err != nil {
			return err
		}
		if more {
			ready = append(ready, r)
		}
	}
	heap.Init(&ready)
	last, begun := place{}, false
	for len(ready) > 0 {
		if first := ready[0].at; !begun || first != last {
			if err := fn(first); err != nil {
				return err
			}
			last, begun = first, true
		}
		more, err := ready[0].next()
		if err != nil {
			return err
		}
		if more {
			heap.Fix(&ready, 0)
		} else {
			heap.Pop(&ready)
		}
	}
	return nil
}

// close gives the file up.
func (s *keySorter) close() error {
	if s.file == nil {
		return nil
	}
	return s.file.Close()
}

// run is sorted places, in memory or in the file.
type run struct {
	held []place
	in   *bufio.Reader
	at   place
}

// next moves on, and reports whether there is another place.
func (r *run) next() (more bool, err error) {
	if r.in == nil {
		if len(r.held) == 0 {
			return false, nil
		}
		r.at, r.held = r.held[0], r.held[1:]
		return true, nil
	}
	account, err := binary.ReadVarint(r.in)
	if errors.Is(err, io.EOF) {
		return false, nil
	}
	if err != nil {
		return false, sorting(err)
	}
	length, err := binary.ReadUvarint(r.in)
	if err != nil {
		return false, sorting(err)
	}
	name := make([]byte, length)
	if _, err := io.ReadFull(r.in, name); err != nil {
		return false, sorting(err)
	}
	r.at = place{account, string(name)}
	return true, nil
}

// mergedRuns is a heap: the run with the first place is on top.
type mergedRuns []*run

func (m mergedRuns) Len() int           { return len(m) }
func (m mergedRuns) Less(i, j int) bool { return comparePlaces(m[i].at, m[j].at) < 0 }
func (m mergedRuns) Swap(i, j int)      { m[i], m[j] = m[j], m[i] }

// Push implements heap.Interface; runs are never added.
func (m *mergedRuns) Push(x any) {
	if r, ok := x.(*run); ok {
		*m = append(*m, r)
	}
}

// Pop implements heap.Interface.
func (m *mergedRuns) Pop() any {
	last := (*m)[len(*m)-1]
	*m = (*m)[:len(*m)-1]
	return last
}
