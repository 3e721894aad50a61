package memory

// lowTurn is LOW's share: while LOW can be had, at least one entry in lowTurn
// is LOW.
const lowTurn = 10

// rank is the order of a lane's four queues.
type rank uint8

const (
	highChild rank = iota
	highDiscovery
	lowChild
	lowDiscovery
	ranks
)

// queue holds a lane's entries of one rank.
type queue struct {
	// returned entries were handed out before and go first.
	returned, fresh chain
}

func (q *queue) empty() bool { return q.returned.first == 0 && q.fresh.first == 0 }

func (q *queue) first() slot {
	if q.returned.first != 0 {
		return q.returned.first
	}
	return q.fresh.first
}

// lane holds the entries that draw on one ration.
type lane struct {
	name   string
	id     uint32
	queues [ranks]queue
	// members counts all entries of the lane, also those leased or due later.
	members, leased int
	// ready counts those that wait for their turn, by priority.
	ready  [2]int
	parked bool
	// seats are the lane's places among those that take turns, by priority.
	seats [2]seat
}

// seat is a place in a ring.
type seat struct {
	taken      bool
	prev, next *lane
}

// The priorities, as indexes.
const (
	isHigh = 0
	isLow  = 1
)

// of is the index of a rank's priority.
func (k rank) of() int {
	if k < lowChild {
		return isHigh
	}
	return isLow
}

// pick returns the rank of the next entry of a priority, of which the lane has
// something ready.
func (l *lane) pick(priority int) rank {
	if priority == isHigh {
		return l.firstOf(highChild, highDiscovery)
	}
	return l.firstOf(lowChild, lowDiscovery)
}

// firstOf returns the first rank with something in it, ranks if none has.
func (l *lane) firstOf(first, second rank) rank {
	switch {
	case !l.queues[first].empty():
		return first
	case !l.queues[second].empty():
		return second
	}
	return ranks
}

// enqueue makes an entry ready that was nowhere. It goes behind the others of
// its kind: those handed out before, or the fresh ones.
func (d *Dispatcher) enqueue(s slot) {
	r := d.records.at(s)
	l := d.lanes.byID[r.lane]
	q := &l.queues[r.rank]
	if r.state == dueAgain {
		r.state = returned
		d.records.append(&q.returned, s)
	} else {
		r.state = fresh
		d.records.append(&q.fresh, s)
	}
	l.ready[r.rank.of()]++
	d.ready++
	d.seat(l)
}

// dequeue takes a ready entry out of its lane's queue.
func (d *Dispatcher) dequeue(s slot) *lane {
	r := d.records.at(s)
	l := d.lanes.byID[r.lane]
	q := &l.queues[r.rank]
	if r.state == returned {
		d.records.unlink(&q.returned, s)
	} else {
		d.records.unlink(&q.fresh, s)
	}
	l.ready[r.rank.of()]--
	d.ready--
	return l
}

// forget drops an entry that is in no queue and no set any more.
func (d *Dispatcher) forget(s slot, l *lane) {
	d.records.drop(s)
	l.members--
	d.seat(l)
	d.lanes.closeIfEmpty(l)
}

func (d *Dispatcher) unpark(l *lane) {
	l.parked = false
	d.seat(l)
	d.lanes.closeIfEmpty(l)
}

// seat lets a lane take turns, in each priority of which it can give something,
// and only there. A lane that comes back begins behind the others.
func (d *Dispatcher) seat(l *lane) {
	open := !l.parked && (d.laneLimit <= 0 || l.leased < d.laneLimit)
	for p := range d.turns {
		switch can := open && l.ready[p] > 0; {
		case can && !l.seats[p].taken:
			d.turns[p].append(l, p)
		case !can && l.seats[p].taken:
			d.turns[p].remove(l, p)
		}
	}
}

// whose returns the lane whose turn it is, and the priority that it gives; nil
// if nothing can be had.
func (d *Dispatcher) whose() (*lane, int) {
	high, low := d.turns[isHigh].first, d.turns[isLow].first
	switch {
	case low == nil:
		d.highs = 0
		return high, isHigh
	case high == nil || d.highs >= lowTurn-1:
		d.highs = 0
		return low, isLow
	}
	d.highs++
	return high, isHigh
}

// ring is the lanes that take turns in a priority, the next one first. Idle
// lanes are not in it and cost nothing.
type ring struct{ first, last *lane }

func (t *ring) append(l *lane, priority int) {
	l.seats[priority] = seat{taken: true, prev: t.last}
	if t.last == nil {
		t.first = l
	} else {
		t.last.seats[priority].next = l
	}
	t.last = l
}

func (t *ring) remove(l *lane, priority int) {
	s := l.seats[priority]
	if s.prev == nil {
		t.first = s.next
	} else {
		s.prev.seats[priority].next = s.next
	}
	if s.next == nil {
		t.last = s.prev
	} else {
		s.next.seats[priority].prev = s.prev
	}
	l.seats[priority] = seat{}
}

// lanes are the lanes that have entries or are parked.
type lanes struct {
	byName map[string]*lane
	byID   []*lane
	free   []uint32
}

func newLanes() lanes { return lanes{byName: make(map[string]*lane)} }

// open returns the lane of a name, new if it is not known.
func (all *lanes) open(name string) *lane {
	if l := all.byName[name]; l != nil {
		return l
	}
	l := &lane{name: name}
	if n := len(all.free); n > 0 {
		l.id = all.free[n-1]
		all.free = all.free[:n-1]
		all.byID[l.id] = l
	} else {
		l.id = uint32(len(all.byID))
		all.byID = append(all.byID, l)
	}
	all.byName[name] = l
	return l
}

func (all *lanes) closeIfEmpty(l *lane) {
	if l.members > 0 || l.parked {
		return
	}
	delete(all.byName, l.name)
	all.byID[l.id] = nil
	all.free = append(all.free, l.id)
}
