package engine

import (
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// Wait says what somebody waits for and until when.
type Wait struct {
	Reason string    `json:"reason"`
	Until  time.Time `json:"until,omitzero"`
}

// waitStore is the name of the store that does not take results.
const waitStore = "store"

// waitReasons remembers what lanes wait for, for people to read. It decides
// nothing.
type waitReasons struct {
	now    func() time.Time
	mu     sync.Mutex
	byLane map[string]Wait
}

func newWaitReasons(now func() time.Time) *waitReasons {
	return &waitReasons{now: now, byLane: map[string]Wait{}}
}

// localWait names what a job waits for that makes no call: it is its run's own, and no
// lane's.
func localWait(lane string, run int64) string { return lane + ":" + strconv.FormatInt(run, 10) }

// set notes a wait. A lane that is closed until later stays so, as dispatch sees it
// (dispatch.Dispatcher.Park): what it waits for is the later one. The store's wait is
// always the last that was met.
func (b *waitReasons) set(what string, w Wait) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if before, waits := b.byLane[what]; waits && what != waitStore && before.Until.After(w.Until) {
		return
	}
	b.byLane[what] = w
}

func (b *waitReasons) clear(what string) {
	b.mu.Lock()
	delete(b.byLane, what)
	b.mu.Unlock()
}

// all returns the waits that are not over, and forgets the others. The store's
// is over only when it takes a result again.
func (b *waitReasons) all() map[string]Wait {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.now()
	out := make(map[string]Wait, len(b.byLane))
	for what, w := range b.byLane {
		if what != waitStore && w.Until.Before(now) {
			delete(b.byLane, what)
			continue
		}
		out[what] = w
	}
	return out
}

// outages spaces the attempts to reach an upstream that cannot be reached at
// all, per lane: doubling to a minute, over with the first answer.
type outages struct {
	cfg    Config
	mu     sync.Mutex
	byLane map[string]outage
}

type outage struct {
	failures int
	retryAt  time.Time
}

const outageMax = time.Minute

func newOutages(cfg Config) *outages { return &outages{cfg: cfg, byLane: map[string]outage{}} }

// retryAt returns when the lane is to be tried again. Failures of calls that
// were under way together count as one.
func (o *outages) retryAt(lane string, now time.Time) time.Time {
	o.mu.Lock()
	defer o.mu.Unlock()
	out := o.byLane[lane]
	if now.Before(out.retryAt) {
		return out.retryAt
	}
	out.retryAt = now.Add(min(o.cfg.backoff(out.failures), outageMax))
	out.failures++
	o.byLane[lane] = out
	return out.retryAt
}

func (o *outages) over(lane string) {
	o.mu.Lock()
	delete(o.byLane, lane)
	o.mu.Unlock()
}

// Waits says what lanes wait for, by lane; "store" stands for the store.
func (c *core) Waits() map[string]Wait { return c.waits.all() }

// Counters count since the engine was made.
type Counters struct {
	Calls, Succeeded, Failed, Retried, Documents, RunsStarted, RunsEnded atomic.Int64
	// StatisticsGivenUp counts runs that FAILED for want of their statistics:
	// somebody has to look, and to resume them.
	StatisticsGivenUp atomic.Int64
}

// Counters returns the engine's counters.
func (c *core) Counters() *Counters { return c.counters }
