package load

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"sluice/internal/domain"
	"sluice/internal/refresh"
)

// tracker knows what was asked for and has not been stored yet, and how long
// the rest took.
type tracker struct {
	// patience is how long it is waited for what is pending.
	patience time.Duration

	mu      sync.Mutex
	pending map[refresh.Entity]asked
	// took is how long HIGH took.
	took []time.Duration
	// settled is closed when nothing is pending; nil if nobody waits for that.
	settled map[domain.Priority]chan struct{}
	// taken are the records that workers were handed, each with whether it is open:
	// the log was not told yet that it is done. again counts those that were handed
	// out once more: partitions move when a member is not heard of.
	taken map[position]bool
	open  int64
	again int64
	// early counts what the log was told is done before it was stored.
	early int64
}

// position tells a record from every other.
type position struct {
	topic     refresh.Topic
	partition int32
	offset    int64
}

type asked struct {
	at       time.Time
	priority domain.Priority
}

func newTracker(patience time.Duration) *tracker {
	return &tracker{
		patience: patience, pending: map[refresh.Entity]asked{}, settled: map[domain.Priority]chan struct{}{}, taken: map[position]bool{},
	}
}

// expect notes that entities are about to be asked for.
func (t *tracker) expect(entities []refresh.Entity, p domain.Priority) {
	now := time.Now()
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, e := range entities {
		t.pending[e] = asked{now, p}
	}
}

// forget notes that asking for entities was refused.
func (t *tracker) forget(entities []refresh.Entity) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, e := range entities {
		delete(t.pending, e)
	}
	t.settle()
}

// saved notes that entities were stored.
func (t *tracker) saved(rows []refresh.Refreshed) {
	now := time.Now()
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, row := range rows {
		if a, ok := t.pending[row.Entity]; ok {
			delete(t.pending, row.Entity)
			if a.priority == domain.PriorityHigh {
				t.took = append(t.took, now.Sub(a.at))
			}
		}
	}
	t.settle()
}

// handed notes that a worker was handed records.
func (t *tracker) handed(records []refresh.LogRecord) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, r := range records {
		at := position{r.Topic, r.Partition, r.Offset}
		open, before := t.taken[at]
		if before {
			t.again++
		}
		if !open {
			t.open++
		}
		t.taken[at] = true
	}
}

// underWay counts the records that workers have taken and not done.
func (t *tracker) underWay() int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.open
}

// handedAgain counts the records that were handed out more than once: what they
// ask for may be called for as often.
func (t *tracker) handedAgain() int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.again
}

// settledDown begins to count anew what is handed out once more.
func (t *tracker) settledDown() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.again = 0
}

// done notes that the log is told that records are dealt with.
func (t *tracker) done(records []refresh.LogRecord) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, r := range records {
		source, key, _ := strings.Cut(r.Key, "/")
		if _, ok := t.pending[refresh.Entity{Source: source, Key: key}]; ok {
			t.early++
		}
		at := position{r.Topic, r.Partition, r.Offset}
		if t.taken[at] {
			t.taken[at] = false
			t.open--
		}
	}
}

// settle wakes those who wait; the lock is held.
func (t *tracker) settle() {
	for p, settled := range t.settled {
		if t.waiting(p) == 0 {
			close(settled)
			delete(t.settled, p)
		}
	}
}

// everybody is the priority of those who wait for both.
const everybody domain.Priority = 0

// waiting counts what is pending; the lock is held.
func (t *tracker) waiting(p domain.Priority) (n int64) {
	if p == everybody {
		return int64(len(t.pending))
	}
	for _, a := range t.pending {
		if a.priority == p {
			n++
		}
	}
	return n
}

// count counts what is pending.
func (t *tracker) count(p domain.Priority) int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.waiting(p)
}

// await waits until nothing of a priority is pending, or too long. It returns
// how much is.
func (t *tracker) await(ctx context.Context, p domain.Priority) int64 {
	t.mu.Lock()
	if t.waiting(p) == 0 {
		t.mu.Unlock()
		return 0
	}
	settled, ok := t.settled[p]
	if !ok {
		settled = make(chan struct{})
		t.settled[p] = settled
	}
	t.mu.Unlock()
	timer := time.NewTimer(t.patience)
	defer timer.Stop()
	select {
	case <-settled:
	case <-timer.C:
	case <-ctx.Done():
	}
	return t.count(p)
}

// tooEarly counts what was done before it was stored.
func (t *tracker) tooEarly() int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.early
}

// highTimes returns how long HIGH refreshes took from being asked for to being
// stored, and forgets them.
func (t *tracker) highTimes() []time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	out := t.took
	t.took = nil
	return out
}

// percentile is in milliseconds; it sorts what it is given.
func percentile(took []time.Duration, percent int) float64 {
	if len(took) == 0 {
		return 0
	}
	slices.Sort(took)
	at := min((len(took)*percent+99)/100, len(took)) - 1
	return float64(took[max(at, 0)]) / float64(time.Millisecond)
}
