package memory

// fanout makes the heap flat: fewer cache lines are touched on the way down.
const fanout = 4

// before orders by instant, then by insertion. The insertion counter may wrap:
// the difference is right while fewer than 2^31 puts separate two entries that
// are due at the same nanosecond.
func (a item) before(b item) bool {
	if a.at != b.at {
		return a.at < b.at
	}
	return int32(a.put-b.put) < 0
}

// fix places an item at pos, whose former item is obsolete.
func (s *dueHeap[K]) fix(pos uint32, placed item) {
	if pos > 0 && placed.before(s.order[(pos-1)/fanout]) {
		s.up(pos, placed)
		return
	}
	s.down(pos, placed)
}

func (s *dueHeap[K]) up(pos uint32, placed item) {
	for pos > 0 {
		parent := (pos - 1) / fanout
		if !placed.before(s.order[parent]) {
			break
		}
		s.set(pos, s.order[parent])
		pos = parent
	}
	s.set(pos, placed)
}

func (s *dueHeap[K]) down(pos uint32, placed item) {
	size := uint32(len(s.order))
	for {
		child := pos*fanout + 1
		if child >= size {
			break
		}
		least := child
		for other := child + 1; other < min(child+fanout, size); other++ {
			if s.order[other].before(s.order[least]) {
				least = other
			}
		}
		if !s.order[least].before(placed) {
			break
		}
		s.set(pos, s.order[least])
		pos = least
	}
	s.set(pos, placed)
}

func (s *dueHeap[K]) set(pos uint32, placed item) {
	s.order[pos] = placed
	s.node(placed.node).pos = pos
}
