package forecast

import (
	"sync"
	"time"
)

// Paces remembers how fast lanes get on while nothing holds them up, and how
// long their windows are. Forecasts are made from it; nothing is decided by it.
type Paces struct {
	mu     sync.Mutex
	byLane map[string]*pace
}

// pace is what was seen of one lane.
type pace struct {
	// busy is the time that the last calls took, without the pauses.
	busy  time.Duration
	calls float64
	last  time.Time
	// reset and length describe the newest window.
	reset  time.Time
	length time.Duration
}

const (
	// idleGap is from when on a silence between two answers is a wait and not
	// the lane's pace.
	idleGap = 2 * time.Second
	// paceMemory is about how many calls a pace looks back on: few, as a run
	// begins with single calls and then spreads over all workers.
	paceMemory = 64
)

// NewPaces knows of no lane yet.
func NewPaces() *Paces { return &Paces{byLane: map[string]*pace{}} }

// Observe takes note of an answer that came now to a call begun at began, and of
// the window's end if the answer told it.
func (p *Paces) Observe(lane string, began, now, reset time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	l := p.byLane[lane]
	if l == nil {
		l = &pace{last: began}
		p.byLane[lane] = l
	}
	gap := now.Sub(l.last)
	if gap > idleGap {
		gap = now.Sub(began)
	}
	l.last = now
	l.busy += gap
	if l.calls++; l.calls > paceMemory {
		l.calls, l.busy = l.calls/2, l.busy/2
	}
	// A window begins with its first call.
	if reset.After(l.reset.Add(time.Second)) {
		l.reset, l.length = reset, reset.Sub(began)
	}
}

// Rate returns calls per second and the length of a window; zeros if unknown.
func (p *Paces) Rate(lane string) (perSecond float64, window time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	l := p.byLane[lane]
	if l == nil || l.busy <= 0 {
		return 0, 0
	}
	return l.calls / l.busy.Seconds(), l.length
}
