package engine

import (
	"sync"
	"sync/atomic"
	"time"
)

// Wait says what somebody waits for and until when.
type Wait struct {
	Reason string    `json:"reason"`
	Until  time.Time `json:"until,omitzero"`
}

// waitStore is the board's name for the store that does not take results.
const waitStore = "store"

// waitBoard remembers what lanes wait for, for people to read. It decides
// nothing.
type waitBoard struct {
	now func() time.Time
	mu  sync.Mutex
	by  map[string]Wait
}

func newWaitBoard(now func() time.Time) *waitBoard {
	return &waitBoard{now: now, by: map[string]Wait{}}
}

func (b *waitBoard) set(what string, w Wait) {
	b.mu.Lock()
	b.by[what] = w
	b.mu.Unlock()
}

func (b *waitBoard) clear(what string) {
	b.mu.Lock()
	delete(b.by, what)
	b.mu.Unlock()
}

// all returns the waits that are not over, and forgets the others. The store's
// is over only when it takes a result again.
func (b *waitBoard) all() map[string]Wait {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.now()
	out := make(map[string]Wait, len(b.by))
	for what, w := range b.by {
		if what != waitStore && w.Until.Before(now) {
			delete(b.by, what)
			continue
		}
		out[what] = w
	}
	return out
}

// outages spaces the attempts to reach an upstream that cannot be reached at
// all, per lane: doubling to a minute, over with the first answer.
type outages struct {
	cfg Config
	mu  sync.Mutex
	by  map[string]outage
}

type outage struct {
	failures int
	retryAt  time.Time
}

const outageMax = time.Minute

func newOutages(cfg Config) *outages { return &outages{cfg: cfg, by: map[string]outage{}} }

// retryAt returns when the lane is to be tried again. Failures of calls that
// were under way together count as one.
func (o *outages) retryAt(lane string, now time.Time) time.Time {
	o.mu.Lock()
	defer o.mu.Unlock()
	out := o.by[lane]
	if now.Before(out.retryAt) {
		return out.retryAt
	}
	out.retryAt = now.Add(min(o.cfg.backoff(out.failures), outageMax))
	out.failures++
	o.by[lane] = out
	return out.retryAt
}

func (o *outages) over(lane string) {
	o.mu.Lock()
	delete(o.by, lane)
	o.mu.Unlock()
}

// Waits says what lanes wait for, by lane; "store" stands for the store.
func (e *Engine) Waits() map[string]Wait { return e.waits.all() }

// Counters count since the engine was made.
type Counters struct {
	Calls, Succeeded, Failed, Retried, Documents, RunsStarted, RunsEnded atomic.Int64
}

// Counters returns the engine's counters.
func (e *Engine) Counters() *Counters { return e.counters }
