package refreshtest

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"sluice/internal/refresh"
	"sluice/internal/testkit"
)

const modelKeys = 12

// known is what a store must know of an entity.
type known struct {
	refresh.Snapshot
	seen   int64
	read   time.Time
	due    time.Time
	status *refresh.VersionedStatus
}

// stored is a value, whether it is in the history, and when it came there.
type stored struct {
	refresh.Value
	listed bool
	order  int
}

// model is what a store must hold.
type model struct {
	x        *fixture
	dice     *rand.Rand
	entities map[string]*known
	values   []*stored
	archived []refresh.Value
	letters  map[string]refresh.DeadLetter
	order    int
	now      time.Time
}

// checkModel makes random calls and compares the store, again and again, with what
// maps say it must hold.
func checkModel(x *fixture) {
	m := &model{
		x: x, dice: rand.New(rand.NewPCG(testkit.Seed(x.t), 1)), now: start,
		entities: map[string]*known{}, letters: map[string]refresh.DeadLetter{},
	}
	steps := []func(){m.save, m.save, m.save, m.save, m.setStatus, m.read, m.due, m.archive, m.restore, m.addLetter, m.removeLetter}
	for step := range testkit.Effort(120, 1000) {
		m.now = m.now.Add(time.Duration(m.dice.Int64N(int64(6 * time.Hour)))).Truncate(time.Microsecond)
		steps[m.dice.IntN(len(steps))]()
		if step%100 == 99 {
			m.compare(step)
			m.x.reopen()
		}
		// What is wrong stays wrong for some steps; to find which one it was, run
		// the long form with the same seed.
		if (step+1)%testkit.Effort(5, 1) == 0 {
			m.compare(step)
		}
	}
}

// keys returns a few different keys.
func (m *model) keys() []string {
	keys := map[string]bool{}
	for range 1 + m.dice.IntN(6) {
		keys[fmt.Sprintf("%c-%d", "aA"[m.dice.IntN(2)], m.dice.IntN(modelKeys/2))] = true
	}
	out := slices.Sorted(maps.Keys(keys))
	m.dice.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out
}

func (m *model) known(key string) *known {
	if m.entities[key] == nil {
		m.entities[key] = &known{}
	}
	return m.entities[key]
}

// version is near to the last one of an entity.
func (m *model) version(k *known) int64 { return max(1, k.seen+int64(m.dice.IntN(5)-1)) }

var intervals = map[refresh.Tier]time.Duration{refresh.Hot: hot, refresh.Warm: warm, refresh.Cold: cold}

func (m *model) save() {
	var all []refresh.Refreshed
	var expected []refresh.Saved
	for _, key := range m.keys() {
		k := m.known(key)
		r := brought(key, m.version(k), m.now, fmt.Sprint("body ", m.dice.IntN(4)))
		all, expected = append(all, r), append(expected, m.saved(k, r))
	}
	want(m.x, "saved", m.x.save(all...), expected)
}

func (m *model) saved(k *known, r refresh.Refreshed) refresh.Saved {
	if r.Version < k.seen {
		return refresh.Obsolete
	}
	if k.Tier == 0 {
		k.Tier = refresh.Cold
	}
	was := k.Snapshot
	k.seen, k.CheckedAt, k.due, k.status = r.Version, m.now, m.now.Add(intervals[k.Tier]), nil
	if was.Version > 0 && was.Hash == r.Hash {
		return refresh.Touched
	}
	k.Snapshot = snapshot(r, m.now, k.Tier)
	// A present value that was archived goes with the snapshot.
	m.values = slices.DeleteFunc(m.values, func(v *stored) bool {
		return v.Entity == r.Entity && !v.listed
	})
	m.put(value(r))
	return refresh.Stored
}

// put adds a value to the history unless it is there.
func (m *model) put(v refresh.Value) {
	for _, s := range m.values {
		if s.Entity == v.Entity && s.Version == v.Version && s.Hash == v.Hash {
			s.listed = true
			return
		}
	}
	m.order++
	m.values = append(m.values, &stored{Value: v, listed: true, order: m.order})
}

func (m *model) setStatus() {
	var all []refresh.VersionedStatus
	for _, key := range m.keys() {
		k := m.known(key)
		s := status(key, []refresh.StatusCode{refresh.StatusFailed, refresh.StatusRetrying}[m.dice.IntN(2)], m.version(k))
		all = append(all, s)
		if s.Version >= k.seen && (k.status == nil || s.Version >= k.status.Version) {
			k.status = &s
		}
	}
	m.x.setStatus(all...)
}

func (m *model) read() {
	keys := m.keys()
	for _, key := range keys {
		if k := m.known(key); k.Version > 0 {
			k.due = k.due.Add(hot - intervals[k.Tier])
			k.Tier, k.read = refresh.Hot, m.now
		}
	}
	m.x.read(m.now, keys...)
}

func (m *model) due() {
	var ready []*known
	for _, k := range m.entities {
		if k.Version > 0 && !k.due.After(m.now) {
			ready = append(ready, k)
		}
	}
	limit := 1 + m.dice.IntN(8)
	answer, err := m.x.Due(m.x.Context(), refresh.DueQuery{Source: "shop", Now: m.now, Limit: limit})
	m.x.ok(err)
	due := answer.Entities
	want(m.x, "how many are due", len(due), min(limit, len(ready)))
	// Those that are due since the same instant may come in any order.
	slices.SortFunc(ready, func(a, b *known) int { return a.due.Compare(b.due) })
	for i, e := range due {
		k := m.entities[e.Key]
		if !k.due.Equal(ready[i].due) {
			m.x.Fatalf("%s is due since %v; one is due since %v", e.Key, k.due, ready[i].due)
		}
	}
	for _, e := range due {
		k := m.entities[e.Key]
		switch unread := m.now.Sub(k.read); {
		case unread > warmFor:
			k.Tier = refresh.Cold
		case unread > hotFor:
			k.Tier = min(k.Tier, refresh.Warm)
		}
		k.due = m.now.Add(intervals[k.Tier])
	}
}

// history is what must be listed.
func (m *model) history() []*stored {
	var listed []*stored
	for _, v := range m.values {
		if v.listed {
			listed = append(listed, v)
		}
	}
	slices.SortFunc(listed, func(a, b *stored) int { return cmp.Or(a.StoredAt.Compare(b.StoredAt), cmp.Compare(a.order, b.order)) })
	return listed
}

// archive forgets a part of the history.
func (m *model) archive() {
	values, last, err := m.x.Values(m.x.Context(), m.now, "", m.dice.IntN(20))
	m.x.ok(err)
	n, err := m.x.Forget(m.x.Context(), last)
	m.x.ok(err)
	want(m.x, "forgotten", n, len(values))
	for _, v := range values {
		m.archived = append(m.archived, v)
		m.values = slices.DeleteFunc(m.values, func(s *stored) bool {
			if s.Entity != v.Entity || s.Version != v.Version || s.Hash != v.Hash {
				return false
			}
			s.listed = false
			k := m.entities[v.Key]
			return k.Version != v.Version || k.Hash != v.Hash
		})
	}
}

// restore puts back some of what was archived.
func (m *model) restore() {
	var values []refresh.Value
	for range min(3, len(m.archived)) {
		v := m.archived[m.dice.IntN(len(m.archived))]
		values = append(values, v)
		m.put(v)
	}
	m.x.ok(m.x.Restore(m.x.Context(), values))
}

func (m *model) addLetter() {
	l := letter(fmt.Sprint("l-", m.dice.IntN(10)), m.dice.IntN(5))
	l.Why = fmt.Sprint("WHY", m.dice.IntN(3))
	if _, there := m.letters[l.ID]; !there {
		m.letters[l.ID] = l
	}
	m.x.add(l)
}

func (m *model) removeLetter() {
	id := fmt.Sprint("l-", m.dice.IntN(10))
	got, err := m.x.RemoveDeadLetters(m.x.Context(), []string{id})
	m.x.ok(err)
	expected := []refresh.DeadLetter{}
	if l, there := m.letters[id]; there {
		expected = append(expected, l)
	}
	delete(m.letters, id)
	want(m.x, "removed", append([]refresh.DeadLetter{}, got...), expected)
}

// compare checks everything against the model.
func (m *model) compare(step int) {
	x, what := m.x, fmt.Sprint("after step ", step)
	x.Helper()
	counts := refresh.Counts{Tiers: map[string]int64{"HOT": 0, "WARM": 0, "COLD": 0}}
	for _, key := range slices.Sorted(maps.Keys(m.entities)) {
		k := m.entities[key]
		got, ok, status, err := x.Snapshot(x.Context(), entity(key))
		x.ok(err)
		want(x, key+" is there "+what, ok, k.Version > 0)
		want(x, key+" "+what, got, k.Snapshot)
		want(x, key+" has a status "+what, status != nil, k.status != nil)
		if k.status != nil {
			want(x, "status of "+key+" "+what, *status, k.status.Status)
			if k.status.Code == refresh.StatusFailed {
				counts.Failed++
			} else {
				counts.Retrying++
			}
		}
		if ok {
			counts.Snapshots++
			counts.Tiers[map[refresh.Tier]string{refresh.Hot: "HOT", refresh.Warm: "WARM", refresh.Cold: "COLD"}[k.Tier]]++
		}
	}
	got, err := x.Counts(x.Context(), "shop")
	x.ok(err)
	want(x, "bytes", got.Bytes > 0, counts.Snapshots > 0)
	got.Bytes = 0
	want(x, "counts "+what, got, counts)
	values, _ := x.listed(far.Add(1000*time.Hour*24), 50)
	m.compareValues(what, values)
	letters := slices.SortedFunc(maps.Values(m.letters), func(a, b refresh.DeadLetter) int {
		return -cmp.Or(a.FailedAt.Compare(b.FailedAt), cmp.Compare(a.ID, b.ID))
	})
	want(x, "letters "+what, x.letters(refresh.DeadLetterQuery{}), idsOf(letters))
}

// compareValues allows those that were stored together any order.
func (m *model) compareValues(what string, got []refresh.Value) {
	m.x.Helper()
	var expected []refresh.Value
	for _, v := range m.history() {
		expected = append(expected, v.Value)
	}
	for i := 1; i < len(got); i++ {
		if got[i].StoredAt.Before(got[i-1].StoredAt) {
			m.x.Fatalf("value %d comes after a later one %s", i, what)
		}
	}
	for _, list := range [][]refresh.Value{got, expected} {
		slices.SortFunc(list, func(a, b refresh.Value) int {
			return cmp.Or(a.StoredAt.Compare(b.StoredAt), cmp.Compare(a.Key, b.Key), cmp.Compare(a.Version, b.Version), cmp.Compare(string(a.Body), string(b.Body)))
		})
	}
	want(m.x, "values "+what, got, expected)
}
