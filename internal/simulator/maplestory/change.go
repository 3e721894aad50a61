package maplestory

import (
	"sync"
	"sync/atomic"
	"time"
)

// world is everything that a seed decides, and what was changed by hand.
type world struct {
	seed        uint64
	characters  int
	changeEvery time.Duration
	changeRate  float64
	renewEvery  time.Duration

	changes  journal
	renewals journal
}

func newWorld(o Options) *world {
	return &world{
		seed: o.Seed, characters: o.Characters,
		changeEvery: o.ChangeEvery, changeRate: o.ChangeRate, renewEvery: o.RenewEvery,
	}
}

// entity is one part of one character as a number.
func entity(p part, character int) uint64 { return uint64(character)*uint64(parts) + uint64(p) }

// changeCount is how often a part of a character has changed by an instant. It
// does not depend on when the simulator was started.
func (w *world) changeCount(p part, character int, at time.Time) uint64 {
	id := entity(p, character)
	count := w.changes.count(id, at)
	if float64(derive(w.seed, forWhetherChanges, uint64(character))>>11)/(1<<53) < w.changeRate {
		count += w.ticks(w.changeEvery, derive(w.seed, forChange, id), at)
	}
	return count
}

// ticks counts the intervals that have passed, with a phase of one's own.
func (w *world) ticks(every time.Duration, phase uint64, at time.Time) uint64 {
	if every <= 0 {
		return 0
	}
	return (uint64(at.UnixNano()) + phase%uint64(every)) / uint64(every)
}

// journal remembers what was done by hand, and when.
type journal struct {
	any   atomic.Bool
	mu    sync.RWMutex
	times map[uint64][]int64
}

func (j *journal) add(id uint64, at time.Time) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.times == nil {
		j.times = map[uint64][]int64{}
	}
	j.times[id] = append(j.times[id], at.UnixNano())
	j.any.Store(true)
}

func (j *journal) count(id uint64, at time.Time) uint64 {
	if !j.any.Load() {
		return 0
	}
	j.mu.RLock()
	defer j.mu.RUnlock()
	limit, n := at.UnixNano(), uint64(0)
	for _, t := range j.times[id] {
		if t <= limit {
			n++
		}
	}
	return n
}
