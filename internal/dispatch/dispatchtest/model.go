package dispatchtest

import (
	"cmp"
	"maps"
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
	// turn is since when a lane that can give something waits for its turn.
	turn map[string]int
	// highs counts a lane's HIGH entries in a row while LOW waited.
	highs map[string]int
	// clock numbers events; later ones have higher numbers.
	clock int
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
		parked: make(map[string]modelTime), turn: make(map[string]int), highs: make(map[string]int),
	}
}

func (m *model) tick() int {
	m.clock++
	return m.clock
}

func (m *model) find(job int64) *modelEntry {
	for _, e := range m.entries {
		if e.Job == job {
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
	e := m.find(p.Job)
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
	if e := m.find(l.Job); e != nil && e.state == modelLeased && e.token == l.Token {
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

func (m *model) remove(job int64) {
	if e := m.find(job); e != nil && e.state != modelLeased {
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

// settle notes which lanes can give something and since when, and forgets the
// count of HIGH entries where no LOW waits.
func (m *model) settle() {
	for _, lane := range modelLanes {
		if !m.open(lane) {
			delete(m.turn, lane)
		} else if m.turn[lane] == 0 {
			m.turn[lane] = m.tick()
		}
		if len(m.waiting(lane, domain.PriorityLow)) == 0 {
			m.highs[lane] = 0
		}
	}
}

func (m *model) open(lane string) bool {
	if _, parked := m.parked[lane]; parked {
		return false
	}
	ready, leased := 0, 0
	for _, e := range m.entries {
		if e.Lane == lane && e.state == modelReady {
			ready++
		}
		if e.Lane == lane && e.state == modelLeased {
			leased++
		}
	}
	return ready > 0 && (m.laneLimit == 0 || leased < m.laneLimit)
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

// take hands out the next entry, nil if nothing can be had.
func (m *model) take() *modelEntry {
	if len(m.turn) == 0 {
		return nil
	}
	lanes := slices.Collect(maps.Keys(m.turn))
	lane := slices.MinFunc(lanes, func(a, b string) int { return cmp.Compare(m.turn[a], m.turn[b]) })
	highs, lows := m.waiting(lane, domain.PriorityHigh), m.waiting(lane, domain.PriorityLow)
	var e *modelEntry
	if len(highs) == 0 || len(lows) > 0 && m.highs[lane] == 9 {
		e = lows[0]
		m.highs[lane] = 0
	} else {
		e = highs[0]
		m.highs[lane]++
	}
	e.state, e.returned = modelLeased, true
	e.deliveries++
	e.when = modelTime{m.now.Add(m.lease), m.tick()}
	delete(m.turn, lane)
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
