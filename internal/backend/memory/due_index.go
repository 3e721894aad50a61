package memory

import "hash/maphash"

// The index chains nodes by hash. A map would take more memory for a million
// keys than everything else in the set together.

func (s *dueHeap[K]) chain(key K) *ref {
	return &s.index[maphash.Comparable(s.seed, key)&uint64(len(s.index)-1)]
}

func (s *dueHeap[K]) find(key K) ref {
	for r := *s.chain(key); r != 0; r = s.node(r).next {
		if s.node(r).key == key {
			return r
		}
	}
	return 0
}

// add makes a node for a key that is not in the set.
func (s *dueHeap[K]) add(key K) ref {
	if len(s.order) >= len(s.index) {
		s.growIndex()
	}
	r := s.free
	if r != 0 {
		s.free = s.node(r).next
	} else {
		s.nodes = append(s.nodes, node[K]{})
		r = ref(len(s.nodes))
	}
	first := s.chain(key)
	*s.node(r) = node[K]{key: key, next: *first}
	*first = r
	return r
}

func (s *dueHeap[K]) drop(r ref) {
	link := s.chain(s.node(r).key)
	for *link != r {
		link = &s.node(*link).next
	}
	*link = s.node(r).next
	// The zero key lets go of whatever the key pointed to.
	*s.node(r) = node[K]{next: s.free}
	s.free = r
}

func (s *dueHeap[K]) growIndex() {
	s.index = make([]ref, 2*len(s.index))
	for _, placed := range s.order {
		n := s.node(placed.node)
		first := s.chain(n.key)
		n.next = *first
		*first = placed.node
	}
}
