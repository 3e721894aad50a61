package timertest

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"sluice/internal/domain"
	"sluice/internal/testkit"
	"sluice/internal/timer"
)

const modelIDs = 24

// model is what a store must hold.
type model struct {
	x      *fixture
	dice   *rand.Rand
	timers map[string]timer.Timer
	// retired are those whose ids were used again.
	retired []timer.Timer
	// now goes on from step to step, by whole microseconds.
	now time.Time
}

// checkModel makes random calls and compares the store, again and again, with what
// a map says it must hold.
func checkModel(x *fixture) {
	m := &model{x: x, dice: rand.New(rand.NewPCG(testkit.Seed(x.t), 1)), timers: map[string]timer.Timer{}, now: start}
	steps := []func(){m.put, m.put, m.put, m.fire, m.fire, m.fire, m.settle, m.settle, m.settle, m.cancel, m.reschedule, m.redeliver, m.prune}
	for step := range testkit.Effort(120, 1000) {
		m.now = m.now.Add(time.Duration(m.dice.IntN(1e6)) * time.Microsecond)
		steps[m.dice.IntN(len(steps))]()
		if step%100 == 99 {
			m.compare(step)
			m.x = m.x.on(m.x.Reopen(m.x.t))
		}
		// What is wrong stays wrong for some steps; to find which one it was, run
		// the long form with the same seed.
		if (step+1)%testkit.Effort(5, 1) == 0 {
			m.compare(step)
		}
	}
}

func (m *model) id() string {
	return fmt.Sprintf("%c-%d", "aAbB"[m.dice.IntN(4)], m.dice.IntN(modelIDs/4))
}

// ids returns a few different ids.
func (m *model) ids() []string {
	ids := map[string]bool{}
	for range 1 + m.dice.IntN(8) {
		ids[m.id()] = true
	}
	out := slices.Sorted(maps.Keys(ids))
	m.dice.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out
}

// about is an instant near to now.
func (m *model) about() time.Time {
	return m.now.Add(time.Duration(m.dice.IntN(20e6)-5e6) * time.Microsecond)
}

func (m *model) put() {
	var specs []timer.Spec
	var expected []timer.Stored
	for _, id := range m.ids() {
		s := timer.Spec{ID: id, At: m.about()}
		if m.dice.IntN(2) == 0 {
			s.Webhook, s.Payload = "https://example.org/"+id, []byte(`{"n":1}`)
		}
		specs = append(specs, s)
		t, there := m.timers[id]
		if there && s.Replaces(t, m.now) {
			m.retired, there = append(m.retired, t), false
		}
		if !there {
			t = timer.Timer{Spec: s, Status: timer.Waiting, SetAt: m.now, NextAt: s.At}
			m.timers[id] = t
		}
		expected = append(expected, timer.Stored{Timer: t, New: !there})
	}
	got, err := m.x.Put(m.x.Context(), specs, m.now)
	m.x.ok(err)
	want(m.x, "put", got, expected)
}

func (m *model) fire() {
	f := timer.Firing{IDs: m.ids(), Now: m.now, Server: fmt.Sprint("server-", m.dice.IntN(3)), Deliver: m.dice.IntN(2) == 0, Grace: time.Second}
	expected := []timer.FireResult{}
	for _, id := range slices.Sorted(slices.Values(f.IDs)) {
		t, there := m.timers[id]
		if !there {
			continue
		}
		fresh := t.Status == timer.Waiting && !t.At.After(m.now)
		if fresh {
			t.Status, t.FiredAt, t.Server, t.NextAt = timer.Completed, m.now, f.Server, time.Time{}
			if f.Deliver || t.Webhook != "" {
				t.Status, t.NextAt = timer.Delivering, m.now.Add(f.Grace)
			}
			m.timers[id] = t
		}
		expected = append(expected, timer.FireResult{Timer: t, New: fresh})
	}
	got := m.x.fire(f)
	want(m.x, "fired", append([]timer.FireResult{}, got...), expected)
}

func (m *model) settle() {
	var settled []timer.Settlement
	for _, id := range m.ids() {
		s := timer.Settlement{ID: id, To: allStatuses[1+m.dice.IntN(3)], Tries: m.dice.IntN(4), Error: fmt.Sprint("error ", m.dice.IntN(100))}
		if s.To == timer.Delivering {
			s.Next = m.about()
		}
		settled = append(settled, s)
		t := m.timers[id]
		if t.Status == timer.Delivering && t.Tries <= s.Tries {
			t.Status, t.NextAt, t.Tries, t.Error = s.To, s.Next, s.Tries, s.Error
			m.timers[id] = t
		}
	}
	m.x.settle(settled...)
}

// change compares a change of one timer with what the model says: it is
// allowed in some statuses.
func (m *model) change(what string, allowed []timer.Status, call func(id string) (timer.Timer, error), apply func(t *timer.Timer)) {
	id := m.id()
	got, err := call(id)
	t, there := m.timers[id]
	switch {
	case !there:
		m.x.wantCode(err, domain.CodeNotFound)
	case !slices.Contains(allowed, t.Status):
		m.x.wantCode(err, domain.CodeConflict)
	default:
		m.x.ok(err)
		apply(&t)
		m.timers[id] = t
		want(m.x, what, got, t)
	}
}

func (m *model) cancel() {
	m.change("cancel", []timer.Status{timer.Waiting, timer.Canceled},
		func(id string) (timer.Timer, error) { return m.x.Cancel(m.x.Context(), id) },
		func(t *timer.Timer) { t.Status, t.NextAt = timer.Canceled, time.Time{} })
}

func (m *model) reschedule() {
	at := m.about()
	m.change("reschedule", []timer.Status{timer.Waiting, timer.Canceled},
		func(id string) (timer.Timer, error) { return m.x.Reschedule(m.x.Context(), id, at, m.now) },
		func(t *timer.Timer) { t.Status, t.At, t.NextAt, t.SetAt = timer.Waiting, at, at, m.now })
}

func (m *model) redeliver() {
	m.change("redeliver", []timer.Status{timer.Dead},
		func(id string) (timer.Timer, error) { return m.x.Redeliver(m.x.Context(), id, m.now) },
		func(t *timer.Timer) { t.Status, t.NextAt, t.Tries = timer.Delivering, m.now, 0 })
}

// prune removes what is old, or everything that has ended.
func (m *model) prune() {
	before, everything := m.now.Add(-time.Minute), m.dice.IntN(8) == 0
	if everything {
		before = time.Now().Add(time.Hour)
	}
	gone := 0
	maps.DeleteFunc(m.timers, func(_ string, t timer.Timer) bool {
		ended := t.NextAt.IsZero() && (everything || t.Status.HasFired() && t.FiredAt.Before(before))
		if ended {
			gone++
		}
		return ended
	})
	left := len(m.retired)
	m.retired = slices.DeleteFunc(m.retired, func(t timer.Timer) bool { return everything || t.FiredAt.Before(before) })
	want(m.x, "pruned", m.x.prune(before, 1000), gone+left-len(m.retired))
}

// compare checks everything against the model.
func (m *model) compare(step int) {
	x := m.x
	x.Helper()
	all := slices.SortedFunc(maps.Values(m.timers), func(a, b timer.Timer) int { return strings.Compare(a.ID, b.ID) })
	what := fmt.Sprint("after step ", step)
	want(x, what, append([]timer.Timer{}, x.all()...), append([]timer.Timer{}, all...))
	open := map[string]time.Time{}
	var overdue []timer.Due
	var completions []timer.Completion
	for _, t := range all {
		if !t.NextAt.IsZero() {
			open[t.ID] = t.NextAt
			if !t.NextAt.After(m.now) {
				overdue = append(overdue, timer.Due{ID: t.ID, At: t.NextAt})
			}
		}
		if t.Status.HasFired() {
			completions = append(completions, t.Completion())
		}
	}
	for _, t := range m.retired {
		completions = append(completions, t.Completion())
	}
	want(x, "open "+what, x.openNow(), open)
	slices.SortStableFunc(overdue, func(a, b timer.Due) int { return a.At.Compare(b.At) })
	got, err := x.Overdue(x.Context(), m.now, 1000)
	x.ok(err)
	want(x, "overdue "+what, got, overdue)
	slices.SortFunc(completions, inOrder)
	read := x.completions(start, "", 1000)
	for i := range read {
		read[i].Record = ""
	}
	slices.SortFunc(read, inOrder)
	want(x, "completions "+what, read, completions)
	want(x, "stats "+what, x.stats(start), summed(completions))
}

func inOrder(a, b timer.Completion) int {
	return cmp.Or(a.FiredAt.Compare(b.FiredAt), strings.Compare(a.Timer, b.Timer))
}

// summed is what Stats must be for these completions.
func summed(completions []timer.Completion) timer.Stats {
	s := timer.Stats{Buckets: make([]int64, len(timer.LatenessBounds)+1), Servers: map[string]int64{}}
	sum := time.Duration(0)
	for _, c := range completions {
		s.Completed++
		if c.Success {
			s.Succeeded++
		}
		if c.Status == timer.Dead {
			s.Failed++
		}
		if c.Late {
			s.Late++
		}
		sum += c.Lateness
		s.Max = max(s.Max, c.Lateness)
		s.Servers[c.Server]++
		bucket, _ := slices.BinarySearch(timer.LatenessBounds, c.Lateness)
		s.Buckets[bucket]++
	}
	if s.Completed > 0 {
		s.Mean = sum / time.Duration(s.Completed)
	}
	return s
}
