package memory

// lowTurn is LOW's share of a lane: while LOW waits, at least one entry in
// lowTurn is LOW.
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
	members, ready, leased int
	// highs counts the HIGH entries handed out in a row while LOW waited.
	highs  int
	parked bool
	// seated, prev and next are the lane's place among those that take turns.
	seated     bool
	prev, next *lane
}

// pick returns whose turn it is among the ranks of a lane that has something
// ready.
func (l *lane) pick() rank {
	high, low := l.firstOf(highChild, highDiscovery), l.firstOf(lowChild, lowDiscovery)
	switch {
	case low == ranks:
		return high
	case high == ranks || l.highs == lowTurn-1:
		l.highs = 0
		return low
	}
	l.highs++
	return high
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

// noteLow forgets the count of HIGH entries once no LOW waits for its share.
func (l *lane) noteLow() {
	if l.highs > 0 && l.firstOf(lowChild, lowDiscovery) == ranks {
		l.highs = 0
	}
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
	l.ready++
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
	l.ready--
	d.ready--
	l.noteLow()
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

// seat lets a lane take turns if it can give something, and only then. A lane
// that comes back begins behind the others.
func (d *Dispatcher) seat(l *lane) {
	can := l.ready > 0 && !l.parked && (d.laneLimit <= 0 || l.leased < d.laneLimit)
	switch {
	case can && !l.seated:
		d.turns.append(l)
	case !can && l.seated:
		d.turns.remove(l)
	}
}

// ring is the lanes that take turns, the next one first. Idle lanes are not in
// it and cost nothing.
type ring struct{ first, last *lane }

func (t *ring) append(l *lane) {
	l.seated, l.prev, l.next = true, t.last, nil
	if t.last == nil {
		t.first = l
	} else {
		t.last.next = l
	}
	t.last = l
}

func (t *ring) remove(l *lane) {
	if l.prev == nil {
		t.first = l.next
	} else {
		l.prev.next = l.next
	}
	if l.next == nil {
		t.last = l.prev
	} else {
		l.next.prev = l.prev
	}
	l.seated, l.prev, l.next = false, nil, nil
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
