package memory

import (
	"hash/maphash"
	"math"
	"time"
)

// dueHeap is a set of keys, each due at an instant. Add, replace and remove cost
// O(log n); the earliest is known at once. Among equal instants the key that
// was put first is popped first.
//
// Instants are kept in nanoseconds since 1970: those before 1678 or after 2262
// are moved to that border. A dueHeap is not safe for concurrent use.
type dueHeap[K comparable] struct {
	seed  maphash.Seed
	order []item
	nodes []node[K]
	// index holds the first node of each hash chain.
	index []ref
	free  ref
	puts  uint32
}

// ref names a node: its position in nodes plus one, so that zero is none.
type ref uint32

// item is one place in the heap. It repeats what the comparison needs, so that
// sifting stays inside one slice.
type item struct {
	at   int64
	put  uint32
	node ref
}

type node[K comparable] struct {
	key K
	// pos is where the node's item is in the heap.
	pos uint32
	// next continues the hash chain or, for a free node, the free list.
	next ref
}

const (
	smallestIndex = 16
	// keptWhenEmpty is how many entries' memory an emptied set keeps.
	keptWhenEmpty = 1024
)

// newDueHeap returns an empty set.
func newDueHeap[K comparable]() *dueHeap[K] {
	return &dueHeap[K]{seed: maphash.MakeSeed(), index: make([]ref, smallestIndex)}
}

// Len returns how many keys wait.
func (s *dueHeap[K]) Len() int { return len(s.order) }

// Put makes key due at an instant, instead of any earlier instant it had.
func (s *dueHeap[K]) Put(key K, at time.Time) {
	s.puts++
	placed := item{at: nanos(at), put: s.puts}
	if found := s.find(key); found != 0 {
		placed.node = found
		s.fix(s.node(found).pos, placed)
		return
	}
	placed.node = s.add(key)
	s.order = append(s.order, placed)
	s.up(uint32(len(s.order)-1), placed)
}

// At returns when key is due.
func (s *dueHeap[K]) At(key K) (at time.Time, ok bool) {
	found := s.find(key)
	if found == 0 {
		return time.Time{}, false
	}
	return timeOf(s.order[s.node(found).pos].at), true
}

// Remove forgets key and reports whether it was there.
func (s *dueHeap[K]) Remove(key K) bool {
	found := s.find(key)
	if found == 0 {
		return false
	}
	s.removeAt(s.node(found).pos)
	return true
}

// Next returns the earliest instant.
func (s *dueHeap[K]) Next() (at time.Time, ok bool) {
	if len(s.order) == 0 {
		return time.Time{}, false
	}
	return timeOf(s.order[0].at), true
}

// PopDue takes out the earliest key if its instant is not after now.
func (s *dueHeap[K]) PopDue(now time.Time) (key K, at time.Time, ok bool) {
	if len(s.order) == 0 || s.order[0].at > nanos(now) {
		return key, time.Time{}, false
	}
	first := s.order[0]
	key = s.node(first.node).key
	s.removeAt(0)
	return key, timeOf(first.at), true
}

func (s *dueHeap[K]) node(r ref) *node[K] { return &s.nodes[r-1] }

func (s *dueHeap[K]) removeAt(pos uint32) {
	gone := s.order[pos].node
	end := len(s.order) - 1
	last := s.order[end]
	s.order = s.order[:end]
	if int(pos) < end {
		s.fix(pos, last)
	}
	s.drop(gone)
	if end == 0 && cap(s.order) > keptWhenEmpty {
		*s = dueHeap[K]{seed: s.seed, index: make([]ref, smallestIndex)}
	}
}

var (
	earliest = time.Unix(0, math.MinInt64)
	latest   = time.Unix(0, math.MaxInt64)
)

func nanos(t time.Time) int64 {
	switch {
	case t.Before(earliest):
		return math.MinInt64
	case t.After(latest):
		return math.MaxInt64
	}
	return t.UnixNano()
}

func timeOf(nanos int64) time.Time { return time.Unix(0, nanos).UTC() }
