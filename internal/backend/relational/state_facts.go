package relational

import (
	"sync"

	"sluice/internal/domain"
	"sluice/internal/state"
)

// facts are what never changes about a job, and its priority, which changes so
// rarely that it is worth remembering: who goes by it checks it when it locks
// the job.
type facts struct {
	run, account int64
	expected     int64
	priority     domain.Priority
}

func factsOf(h *state.Held) facts {
	return facts{run: h.Run, account: h.Account, expected: h.Expected, priority: h.Priority}
}

// maxFacts bounds how many jobs of each of two generations are remembered.
const maxFacts = 32 << 10

// jobMemory remembers the facts about jobs that this process has read or created,
// and forgets those that nobody asked for in a long time: when the young
// generation is full it becomes the old one, which is dropped.
type jobMemory struct {
	mu         sync.Mutex
	young, old map[int64]facts
}

func (m *jobMemory) learn(id int64, f facts) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.put(id, f)
}

func (m *jobMemory) learnJobs(jobs []domain.Job) {
	if len(jobs) == 0 {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for i := range jobs {
		j := &jobs[i]
		m.put(j.ID, facts{run: j.RunID, account: j.AccountID, expected: int64(j.Expected), priority: j.Priority})
	}
}

func (m *jobMemory) put(id int64, f facts) {
	if m.young == nil || len(m.young) >= maxFacts {
		m.young, m.old = map[int64]facts{}, m.young
	}
	m.young[id] = f
}

// recall returns the facts about the jobs of all calls, in their order, or
// nothing if one of them is not remembered.
func (m *jobMemory) recall(calls []*call) []facts {
	out := make([]facts, len(calls))
	m.mu.Lock()
	defer m.mu.Unlock()
	for i, c := range calls {
		f, ok := m.young[c.job()]
		if !ok {
			if f, ok = m.old[c.job()]; !ok {
				return nil
			}
			m.put(c.job(), f)
		}
		out[i] = f
	}
	return out
}

// forget drops jobs that have succeeded: nothing happens to them any more.
func (m *jobMemory) forget(items []*finishItem) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, item := range items {
		delete(m.young, item.Outcome.Job)
		delete(m.old, item.Outcome.Job)
	}
}
