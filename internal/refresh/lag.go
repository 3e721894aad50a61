package refresh

import (
	"context"
	"sync"
	"time"

	"sluice/internal/domain"
	"sluice/internal/quota/rate"
)

const (
	// lagAge is how long a lag figure is used, and soonAge how long while readers
	// are told how long they wait.
	lagAge  = 5 * time.Second
	soonAge = time.Second
	// askedFor is how long after it was asked for a figure is kept up to date:
	// somebody who asks now and then gets one that is not much older than lagAge.
	askedFor = 30 * time.Second
	// firstService is how long a refresh is taken to take before one was seen.
	firstService = 100 * time.Millisecond
)

// Lags measures how far the workers are behind and how fast they are, in every
// process: from the log and from the calls that were granted to all. Asking never
// waits: figures are renewed in the background, for a while after each ask.
type Lags struct {
	log    EventLog
	keeper rate.Keeper
	source string
	now    func() time.Time

	mu       sync.Mutex
	measured time.Time
	// shown is when a figure was asked for to be shown, told when to tell a reader.
	shown, told time.Time
	// renew has a token while figures are asked for that are too old; known is
	// closed when there are any.
	renew chan struct{}
	known chan struct{}
	usage rate.Usage
	by    map[domain.Priority]*priorityLag
}

type priorityLag struct {
	lag Lag
	// published is what this process has added since the figure was measured.
	published int64
	// perSecond is how many calls were made a second while some waited, 0 if that
	// was not seen yet.
	perSecond float64
	// service is how long a refresh takes that waits for no other.
	service time.Duration
}

// NewLags returns lags of a log, whose workers are limited by what a source
// allows.
func NewLags(log EventLog, keeper rate.Keeper, source string, now func() time.Time) *Lags {
	return &Lags{log: log, keeper: keeper, source: source, now: now, renew: make(chan struct{}, 1), known: make(chan struct{}), by: map[domain.Priority]*priorityLag{
		domain.PriorityHigh: {service: firstService}, domain.PriorityLow: {service: firstService},
	}}
}

// Measured is closed when there are figures.
func (l *Lags) Measured() <-chan struct{} { return l.known }

// Lag returns the last figure, for those who decide by it.
func (l *Lags) Lag(p domain.Priority) Lag {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.renewIfOld()
	return l.by[p].lag
}

// Shown returns the last figure, for people.
func (l *Lags) Shown(p domain.Priority) Lag {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.shown = l.now()
	l.renewIfOld()
	return l.by[p].lag
}

// Estimate implements Wait: what is ahead, at the rate that was seen, or that is
// allowed, and the time that a refresh takes.
func (l *Lags) Estimate(p domain.Priority) (time.Duration, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	l.shown, l.told = now, now
	l.renewIfOld()
	own := l.by[p]
	if l.measured.IsZero() {
		return 0, false
	}
	perSecond := l.pace(p)
	if perSecond <= 0 {
		return 0, false
	}
	drained := perSecond * now.Sub(l.measured).Seconds()
	ahead := max(float64(own.lag.Records+own.published)-drained, 0)
	return time.Duration(ahead/perSecond*float64(time.Second)) + own.service, true
}

// pace is how many of a priority are dealt with a second. The caller holds the
// lock.
func (l *Lags) pace(p domain.Priority) float64 {
	if seen := l.by[p].perSecond; seen > 0 {
		return seen
	}
	if p == domain.PriorityHigh {
		return float64(l.usage.PerSecond)
	}
	return float64(l.usage.LowPerSecond)
}

// Published notes that this process has added requests.
func (l *Lags) Published(p domain.Priority, n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.by[p].published += int64(n)
}

// Served notes how long a refresh took that waited for no other.
func (l *Lags) Served(p domain.Priority, d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	const weight = 0.3
	own := l.by[p]
	own.service += time.Duration(weight * float64(d-own.service))
}

// Quiet reports whether a refresh that is asked for now waits for no other.
func (l *Lags) Quiet(p domain.Priority) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.by[p].lag.Records == 0 && l.by[p].published <= 1
}

// renewIfOld asks for figures that are too old to be renewed. The caller holds
// the lock.
func (l *Lags) renewIfOld() {
	if l.now().Sub(l.measured).Abs() < l.age() {
		return
	}
	select {
	case l.renew <- struct{}{}:
	default:
	}
}

// age is how long a figure is used just now. The caller holds the lock.
func (l *Lags) age() time.Duration {
	if l.now().Sub(l.told) < lagAge {
		return soonAge
	}
	return lagAge
}

// Run measures at once, so that the first who asks is told, and keeps the
// figures up to date while they are asked for, until ctx ends.
func (l *Lags) Run(ctx context.Context) {
	for ctx.Err() == nil {
		l.look(ctx)
		l.mu.Lock()
		wait, wanted := l.age(), l.now().Sub(l.shown) < askedFor
		l.mu.Unlock()
		var passed <-chan time.Time
		if wanted {
			passed = time.After(wait)
		}
		select {
		case <-passed:
		case <-l.renew:
		case <-ctx.Done():
		}
	}
}

// look measures once.
func (l *Lags) look(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, lagAge)
	defer cancel()
	lags := map[domain.Priority]Lag{}
	before := map[domain.Priority]int64{}
	l.mu.Lock()
	for p, own := range l.by {
		before[p] = own.published
	}
	l.mu.Unlock()
	for p, group := range map[domain.Priority]string{domain.PriorityHigh: HighWorkers, domain.PriorityLow: LowWorkers} {
		if lag, err := l.log.Lag(ctx, group, topicOf(p)); err == nil {
			lags[p] = lag
		}
	}
	usage, err := l.keeper.Usage(ctx, l.source)
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	if err == nil {
		l.measurePace(usage, lags, now.Sub(l.measured).Seconds())
		l.usage = usage
	}
	if l.measured.IsZero() {
		close(l.known)
	}
	l.measured = now
	for p, lag := range lags {
		l.by[p].lag = lag
		l.by[p].published -= before[p]
	}
}

// measurePace learns how fast requests are dealt with, from what was called for
// while some of them waited all the time. The caller holds the lock.
func (l *Lags) measurePace(usage rate.Usage, lags map[domain.Priority]Lag, seconds float64) {
	if usage.Day != l.usage.Day || seconds <= 0 || seconds > askedFor.Seconds() {
		return
	}
	called := map[domain.Priority]int64{
		domain.PriorityHigh: usage.Used - usage.UsedLow - (l.usage.Used - l.usage.UsedLow),
		domain.PriorityLow:  usage.UsedLow - l.usage.UsedLow,
	}
	for p, n := range called {
		own := l.by[p]
		if n <= 0 || own.lag.Records == 0 || lags[p].Records == 0 {
			continue
		}
		seen := float64(n) / seconds
		if own.perSecond == 0 {
			own.perSecond = seen
		}
		const weight = 0.5
		own.perSecond += weight * (seen - own.perSecond)
	}
}
