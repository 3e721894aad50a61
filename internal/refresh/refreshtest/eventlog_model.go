package refreshtest

import (
	"context"
	"math/rand/v2"
	"slices"
	"time"

	"sluice/internal/refresh"
	"sluice/internal/testkit"
)

// logModel drives a log through random events and knows what was done.
type logModel struct {
	*logFixture
	dice      *rand.Rand
	published int
	logs      []refresh.EventLog
	consumers []*worker
	// done is what somebody said is dealt with, whether or not it counted.
	done map[int]bool
}

// worker is a consumer and what it has taken and not done.
type worker struct {
	refresh.LogConsumer
	held   []record
	paused bool
	// last is the latest offset taken, by partition and claim.
	last map[[2]int64]int64
}

const mostWorkers = 4

func checkLogModel(x *logFixture) {
	seed := testkit.Seed(x.T)
	m := &logModel{logFixture: x, dice: rand.New(rand.NewPCG(seed, 0)), done: map[int]bool{}}
	m.logs = []refresh.EventLog{x.EventLog, x.another()}
	for range testkit.Effort(80, 600) {
		m.step()
	}
	m.end()
}

func (m *logModel) step() {
	m.Helper()
	switch roll := m.dice.IntN(100); {
	case roll < 25:
		m.publishSome()
	case roll < 31:
		m.joinOne()
	case roll < 34:
		m.leaveOne(false)
	case roll < 36:
		m.leaveOne(m.Kill != nil)
	case roll < 40:
		m.pauseOne()
	case roll < 41:
		m.reopen()
	case roll < 70:
		m.takeSome()
	default:
		m.doSome()
	}
}

func (m *logModel) any() *worker {
	if len(m.consumers) == 0 {
		m.joinOne()
	}
	return m.consumers[m.dice.IntN(len(m.consumers))]
}

func (m *logModel) publishSome() {
	n := 1 + m.dice.IntN(60)
	m.ok(m.logs[m.dice.IntN(len(m.logs))].Publish(m.Context(), refresh.TopicHigh, spread(m.published, n)...))
	m.published += n
}

func (m *logModel) joinOne() {
	if len(m.consumers) >= mostWorkers {
		return
	}
	c := m.join(m.logs[m.dice.IntN(len(m.logs))])
	m.consumers = append(m.consumers, &worker{LogConsumer: c, last: map[[2]int64]int64{}})
}

func (m *logModel) leaveOne(kill bool) {
	if len(m.consumers) == 0 {
		return
	}
	w := m.any()
	m.consumers = slices.DeleteFunc(m.consumers, func(o *worker) bool { return o == w })
	if kill {
		m.Kill(m.T, w.LogConsumer)
		return
	}
	m.close(w)
}

func (m *logModel) pauseOne() {
	w := m.any()
	if w.paused {
		w.Resume()
	} else {
		w.Pause()
	}
	w.paused = !w.paused
}

// reopen ends every process: consumers and what they hold are gone.
func (m *logModel) reopen() {
	m.consumers = nil
	m.EventLogInstance = m.Reopen(m.T)
	m.logs = []refresh.EventLog{m.EventLog, m.another()}
}

func (m *logModel) takeSome() {
	w := m.any()
	ctx, cancel := context.WithTimeout(m.Context(), time.Duration(20+m.dice.IntN(200))*time.Millisecond)
	defer cancel()
	records, err := w.Take(ctx, 1+m.dice.IntN(100))
	if err != nil && ctx.Err() == nil {
		m.Fatalf("take: %v", err)
	}
	if w.paused && len(records) > 0 {
		m.Fatalf("one that rests took %v", texts(records))
	}
	for _, r := range records {
		place := [2]int64{int64(r.Partition), r.Claim}
		if before, ok := w.last[place]; ok && r.Offset <= before {
			m.Fatalf("%v comes after offset %d", texts([]record{r}), before)
		}
		w.last[place] = r.Offset
	}
	w.held = append(w.held, records...)
}

func (m *logModel) doSome() {
	w := m.any()
	m.dice.Shuffle(len(w.held), func(i, j int) { w.held[i], w.held[j] = w.held[j], w.held[i] })
	n := m.dice.IntN(len(w.held) + 1)
	m.ok(w.Done(m.Context(), w.held[:n]...))
	for _, r := range w.held[:n] {
		m.done[number(r)] = true
	}
	w.held = w.held[n:]
}

// end lets everybody go and a fresh consumer do what is left. What nobody did
// must be in it, and everything after it in its partition.
func (m *logModel) end() {
	m.Helper()
	for len(m.consumers) > 0 {
		m.leaveOne(false)
	}
	c := m.joinHere()
	ctx, cancel := context.WithTimeout(m.Context(), patience+m.notice)
	defer cancel()
	left := map[int]bool{}
	for n := range m.published {
		if !m.done[n] {
			left[n] = true
		}
	}
	var all []record
	for m.behind() > 0 {
		limited, stop := context.WithTimeout(ctx, time.Second)
		records, err := c.Take(limited, 500)
		stop()
		if ctx.Err() != nil {
			m.Fatalf("%d messages still to do, %d of them never done: %v", m.behind(), len(left), err)
		}
		m.ok(c.Done(ctx, records...))
		all = append(all, records...)
		for _, r := range records {
			delete(left, number(r))
		}
	}
	if len(left) > 0 {
		m.Errorf("%d messages were lost, such as %v", len(left), anyOf(left))
	}
	m.inOrder(all)
	m.unbroken(all)
	m.close(c)
	m.takeNothing(m.joinHere())
}

// unbroken checks that in each partition everything came from the first record
// on: the numbers of a key have no gaps.
func (m *logModel) unbroken(all []record) {
	m.Helper()
	next := map[string]int{}
	for _, r := range all {
		if want, ok := next[r.Key]; ok && number(r) != want {
			m.Errorf("key %s: %d comes where %d should", r.Key, number(r), want)
		}
		next[r.Key] = number(r) + keys
	}
	for key, n := range next {
		if n < m.published {
			m.Errorf("key %s ends before %d", key, n)
		}
	}
}

func (m *logModel) behind() int64 { return m.lag(m.EventLog).Records }

func anyOf(set map[int]bool) int {
	for n := range set {
		return n
	}
	return -1
}
