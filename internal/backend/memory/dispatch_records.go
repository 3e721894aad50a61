package memory

// slot is where an entry's record is; zero is none.
type slot uint32

// record is all that is kept of one entry: 32 bytes, so that a million of them
// are small. It carries the links of whichever chain it is in.
type record struct {
	key        key
	prev, next slot
	// same continues the chain of keys with the same hash.
	same slot
	lane uint32
	// issue is the lower half of the token of the last lease.
	issue      uint32
	deliveries uint16
	rank       rank
	state      state
}

// state is where the entry of a record is.
type state uint8

const (
	// fresh and returned entries are in a queue of their lane.
	fresh state = iota
	returned
	// dueFresh and dueAgain entries wait for an instant, then become fresh or
	// returned.
	dueFresh
	dueAgain
	leased
	vacant
)

func (s state) waitsForTime() bool { return s == dueFresh || s == dueAgain }

const (
	blockBits    = 10
	blockSize    = 1 << blockBits
	smallestHash = 1024
	// keptBlocks is how many blocks stay when the last record is dropped.
	keptBlocks = 64
)

// records holds the record of every known entry and finds it by the entry's id.
// Records never move, so growing copies nothing but the hash.
type records struct {
	keys   keys
	blocks []*[blockSize]record
	// used counts the slots that were ever taken, slot zero included.
	used slot
	free slot
	live int
	hash []slot
	// shift leaves as many of a hash's upper bits as there are groups.
	shift uint
}

func newRecords() records {
	r := records{used: 1, keys: newKeys()}
	r.resize(smallestHash)
	return r
}

func (r *records) at(s slot) *record { return &r.blocks[s>>blockBits][s&(blockSize-1)] }

// has reports whether s was ever taken, so that at may be asked for it.
func (r *records) has(s slot) bool { return s > 0 && s < r.used }

// bucket spreads groups of eight neighbouring keys over the hash and keeps each
// group in one cache line: jobs that follow each other are served one after
// another.
func (r *records) bucket(k key) *slot {
	spread := uint64(k) >> 3 * 0x9E3779B97F4A7C15
	group := spread >> r.shift << 3
	return &r.hash[group|(uint64(k)^spread>>16)&7]
}

func (r *records) find(id string) slot {
	k, known := r.keys.of(id)
	if !known {
		return 0
	}
	s := *r.bucket(k)
	for s != 0 {
		rec := r.at(s)
		if rec.key == k {
			return s
		}
		s = rec.same
	}
	return 0
}

// id is the id of an entry.
func (r *records) id(s slot) string { return r.keys.id(r.at(s).key) }

// add makes a record for an id that has none.
func (r *records) add(id string) slot {
	k := r.keys.add(id)
	if r.live >= len(r.hash) {
		r.resize(2 * len(r.hash))
	}
	s := r.free
	if s != 0 {
		r.free = r.at(s).next
	} else {
		s = r.used
		r.used++
		if int(s>>blockBits) == len(r.blocks) {
			r.blocks = append(r.blocks, new([blockSize]record))
		}
	}
	first := r.bucket(k)
	*r.at(s) = record{key: k, same: *first}
	*first = s
	r.live++
	return s
}

func (r *records) drop(s slot) {
	rec := r.at(s)
	link := r.bucket(rec.key)
	for *link != s {
		link = &r.at(*link).same
	}
	*link = rec.same
	r.keys.drop(rec.key)
	*rec = record{state: vacant, next: r.free}
	r.free = s
	r.live--
	if r.live == 0 && len(r.blocks) > keptBlocks {
		*r = newRecords()
	}
}

// resize makes the hash anew. Every record it had is linked in again.
func (r *records) resize(size int) {
	old := r.hash
	r.hash = make([]slot, size)
	r.shift = 64
	for groups := size >> 3; groups > 1; groups >>= 1 {
		r.shift--
	}
	for _, s := range old {
		for s != 0 {
			rec := r.at(s)
			next := rec.same
			first := r.bucket(rec.key)
			rec.same = *first
			*first = s
			s = next
		}
	}
}

// chain is a list of records linked by prev and next.
type chain struct{ first, last slot }

func (r *records) append(c *chain, s slot) {
	rec := r.at(s)
	rec.prev, rec.next = c.last, 0
	if c.last == 0 {
		c.first = s
	} else {
		r.at(c.last).next = s
	}
	c.last = s
}

func (r *records) unlink(c *chain, s slot) {
	rec := r.at(s)
	if rec.prev == 0 {
		c.first = rec.next
	} else {
		r.at(rec.prev).next = rec.next
	}
	if rec.next == 0 {
		c.last = rec.prev
	} else {
		r.at(rec.next).prev = rec.prev
	}
	rec.prev, rec.next = 0, 0
}
