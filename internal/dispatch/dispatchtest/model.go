package dispatchtest

import (
	"cmp"
	"slices"
	"time"

	"sluice/internal/dispatch"
	"sluice/internal/domain"
)

// model is the reference: one slice of entries that is searched and sorted for
// every question.
type model struct {
	now       time.Time
	lease     time.Duration
	laneLimit int
	entries   []*modelEntry
	parked    map[string]modelTime
	// turn is since when a lane that can give something of a priority waits for
	// its turn among the others that can.
	turn map[modelSeat]int
	// highs counts the HIGH entries in a row while LOW could be had.
	highs int
	// clock numbers events; later ones have higher numbers.
	clock int
}

// modelSeat is a lane's place among those that give entries of a priority.
type modelSeat struct {
	lane     string
	priority domain.Priority
}

type modelTime struct {
	at  time.Time
	put int
}

type modelState int

const (
	modelReady modelState = iota
	modelDue
	modelLeased
)

type modelEntry struct {
	dispatch.Entry
	state modelState
	// returned says that the entry was handed out before.
	returned bool
	// queued orders ready entries.
	queued     int
	deliveries int
	// when is what the entry waits for: its instant, or the end of its lease.
	when  modelTime
	token uint64
}

func newModel(now time.Time, lease time.Duration, laneLimit int) *model {
	return &model{
		now: now, lease: lease, laneLimit: laneLimit,
		parked: make(map[string]modelTime), turn: make(map[modelSeat]int),
	}
}

func (m *model) tick() int {
	m.clock++
	return m.clock
}

func (m *model) find(id string) *modelEntry {
	for _, e := range m.entries {
		if e.ID == id {
			return e
		}
	}
	return nil
}

func (m *model) drop(gone *modelEntry) {
	m.entries = slices.DeleteFunc(m.entries, func(e *modelEntry) bool { return e == gone })
}

func (m *model) makeReady(e *modelEntry) {
	e.state, e.queued = modelReady, m.tick()
}

func (m *model) makeDue(e *modelEntry, at time.Time) {
	e.state, e.when = modelDue, modelTime{at, m.tick()}
}

func (m *model) push(p dispatch.Entry) {
	later := p.NotBefore.After(m.now)
	e := m.find(p.ID)
	switch {
	case e == nil:
		e = &modelEntry{Entry: p}
		e.NotBefore = time.Time{}
		m.entries = append(m.entries, e)
	case e.state != modelDue || later && !p.NotBefore.Before(e.when.at):
		return
	}
	if later {
		m.makeDue(e, p.NotBefore)
	} else {
		m.makeReady(e)
	}
	m.settle()
}

// held returns the entry that a lease holds, nil if it is outdated.
func (m *model) held(l dispatch.Lease) *modelEntry {
	if e := m.find(l.ID); e != nil && e.state == modelLeased && e.token == l.Token {
		return e
	}
	return nil
}

func (m *model) ack(l dispatch.Lease) {
	if e := m.held(l); e != nil {
		m.drop(e)
		m.settle()
	}
}

func (m *model) renew(l dispatch.Lease) (held bool) {
	e := m.held(l)
	if e == nil {
		return false
	}
	e.when = modelTime{m.now.Add(m.lease), m.tick()}
	return true
}

func (m *model) release(l dispatch.Lease, at time.Time) {
	e := m.held(l)
	if e == nil {
		return
	}
	e.deliveries--
	e.returned = true
	if at.After(m.now) {
		m.makeDue(e, at)
	} else {
		m.makeReady(e)
	}
	m.settle()
}

func (m *model) remove(id string) {
	if e := m.find(id); e != nil && e.state != modelLeased {
		m.drop(e)
		m.settle()
	}
}

func (m *model) park(lane string, until time.Time) {
	if until.After(m.now) && until.After(m.parked[lane].at) {
		m.parked[lane] = modelTime{until, m.tick()}
		m.settle()
	}
}

func (m *model) resume(lane string) {
	delete(m.parked, lane)
	m.settle()
}

// settle notes which lanes can give something and since when.
func (m *model) settle() {
	for _, lane := range modelLanes {
		for _, p := range []domain.Priority{domain.PriorityHigh, domain.PriorityLow} {
			seat := modelSeat{lane, p}
			if !m.open(lane) || len(m.waiting(lane, p)) == 0 {
				delete(m.turn, seat)
			} else if m.turn[seat] == 0 {
				m.turn[seat] = m.tick()
			}
		}
	}
}

func (m *model) open(lane string) bool {
	if _, parked := m.parked[lane]; parked {
		return false
	}
	leased := 0
	for _, e := range m.entries {
		if e.Lane == lane && e.state == modelLeased {
			leased++
		}
	}
	return m.laneLimit == 0 || leased < m.laneLimit
}

// waiting returns a lane's ready entries of one priority, the next one first.
func (m *model) waiting(lane string, p domain.Priority) []*modelEntry {
	var found []*modelEntry
	for _, e := range m.entries {
		if e.Lane == lane && e.Priority == p && e.state == modelReady {
			found = append(found, e)
		}
	}
	slices.SortFunc(found, func(a, b *modelEntry) int {
		return cmp.Or(cmp.Compare(b.Class, a.Class), compareBool(b.returned, a.returned), cmp.Compare(a.queued, b.queued))
	})
	return found
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// first returns the lane whose turn it is to give something of a priority.
func (m *model) first(p domain.Priority) (seat modelSeat, found bool) {
	for other, since := range m.turn {
		if other.priority == p && (!found || since < m.turn[seat]) {
			seat, found = other, true
		}
	}
	return seat, found
}

// take hands out the next entry, nil if nothing can be had.
func (m *model) take() *modelEntry {
	seat, isHigh := m.first(domain.PriorityHigh)
	low, isLow := m.first(domain.PriorityLow)
	switch {
	case !isHigh && !isLow:
		return nil
	case isLow && (!isHigh || m.highs >= 9):
		seat, m.highs = low, 0
	case isLow:
		m.highs++
	default:
		m.highs = 0
	}
	e := m.waiting(seat.lane, seat.priority)[0]
	e.state, e.returned = modelLeased, true
	e.deliveries++
	e.when = modelTime{m.now.Add(m.lease), m.tick()}
	delete(m.turn, seat)
	m.settle()
	return e
}

// next returns the first instant at which something changes by itself, and
// what changes then.
func (m *model) next() (first modelTime, change func()) {
	consider := func(t modelTime, then func()) {
		if change == nil || t.at.Before(first.at) || t.at.Equal(first.at) && t.put < first.put {
			first, change = t, then
		}
	}
	// Of one instant, what was put first goes first, leases last.
	for _, e := range m.entries {
		if e.state == modelDue {
			consider(e.when, func() { m.makeReady(e) })
		}
	}
	for lane, until := range m.parked {
		consider(until, func() { delete(m.parked, lane) })
	}
	for _, e := range m.entries {
		if e.state == modelLeased {
			last := modelTime{e.when.at, e.when.put + 1<<40}
			consider(last, func() { m.makeReady(e) })
		}
	}
	return first, change
}

// advance lets time go by until an instant.
func (m *model) advance(until time.Time) {
	for {
		first, change := m.next()
		if change == nil || first.at.After(until) {
			m.now = until
			return
		}
		if first.at.After(m.now) {
			m.now = first.at
		}
		change()
		m.settle()
	}
}

// waitFor lets time go by until something can be had, at most for limit.
func (m *model) waitFor(limit time.Duration) {
	end := m.now.Add(limit)
	for len(m.turn) == 0 && m.now.Before(end) {
		if first, change := m.next(); change != nil && first.at.Before(end) {
			m.advance(first.at)
		} else {
			m.advance(end)
		}
	}
}
