package refresh

import (
	"context"
	"sync"
	"time"

	"sluice/internal/domain"
	"sluice/internal/refresh/eventlog"
)

const (
	// lagAge is how long a lag figure is used.
	lagAge = 5 * time.Second
	// idle is how long after its last record a worker had nothing to do.
	idle = 10 * time.Second
)

// Lags measures how far the workers are behind and how fast they are. Asking
// never waits: a figure that is too old is renewed in the background.
type Lags struct {
	log eventlog.Log
	now func() time.Time

	mu       sync.Mutex
	measured time.Time
	running  bool
	by       map[domain.Priority]*laneLag
}

type laneLag struct {
	lag eventlog.Lag
	// perSecond is how many the workers dealt with a second of late.
	perSecond float64
	done      int64
	at        time.Time
}

// NewLags returns lags of a log.
func NewLags(log eventlog.Log, now func() time.Time) *Lags {
	return &Lags{log: log, now: now, by: map[domain.Priority]*laneLag{
		domain.PriorityHigh: {}, domain.PriorityLow: {},
	}}
}

// Lag returns the last figure.
func (l *Lags) Lag(p domain.Priority) eventlog.Lag {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.renewIfOld()
	return l.by[p].lag
}

// Estimate implements Wait: what is ahead, at the rate that was measured.
func (l *Lags) Estimate(p domain.Priority) (time.Duration, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.renewIfOld()
	lane := l.by[p]
	if lane.at.IsZero() || lane.perSecond <= 0 {
		return 0, false
	}
	return time.Duration(float64(lane.lag.Records+1) / lane.perSecond * float64(time.Second)), true
}

func (l *Lags) renewIfOld() {
	if l.running || l.now().Sub(l.measured) < lagAge {
		return
	}
	l.running = true
	go l.renew()
}

func (l *Lags) renew() {
	ctx, cancel := context.WithTimeout(context.Background(), lagAge)
	defer cancel()
	high, highErr := l.log.Lag(ctx, eventlog.HighWorkers, eventlog.High)
	low, lowErr := l.log.Lag(ctx, eventlog.LowWorkers, eventlog.Low)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.running, l.measured = false, l.now()
	if highErr == nil {
		l.by[domain.PriorityHigh].lag = high
	}
	if lowErr == nil {
		l.by[domain.PriorityLow].lag = low
	}
}

// Dealt notes that the workers have dealt with so many in all.
func (l *Lags) Dealt(p domain.Priority, total int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	lane, now := l.by[p], l.now()
	passed := now.Sub(lane.at)
	switch {
	case lane.at.IsZero(), total < lane.done, passed > idle:
		// Another count begins, or there was nothing to do for a while: that
		// says nothing about how fast the workers are.
		lane.at, lane.done = now, total
	case passed >= time.Second:
		seen := float64(total-lane.done) / passed.Seconds()
		if lane.perSecond == 0 {
			lane.perSecond = seen
		}
		const weight = 0.3
		lane.perSecond += weight * (seen - lane.perSecond)
		lane.at, lane.done = now, total
	}
}
