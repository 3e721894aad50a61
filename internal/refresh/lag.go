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
//
// The log tells how many requests of a priority wait, not of which source they are.
// So of several sources it is only told how long a refresh takes while none waits.
type Lags struct {
	log    EventLog
	keeper rate.Keeper
	now    func() time.Time

	mu       sync.Mutex
	measured time.Time
	// shown is when a figure was asked for to be shown, told when to tell a reader.
	shown, told time.Time
	// renew has a token while figures are asked for that are too old; known is
	// closed when there are any.
	renew chan struct{}
	known chan struct{}
	by    map[domain.Priority]*priorityLag
	of    map[string]*sourceLag
}

type priorityLag struct {
	lag Lag
	// published is what this process has added since the figure was measured.
	published int64
}

// sourceLag is how fast the refreshes of a source are.
type sourceLag struct {
	usage rate.Usage
	// busy is set while the source is called about as often as it allows: then some
	// may wait for it that are not in the log any more.
	busy bool
	by   map[domain.Priority]*pace
}

type pace struct {
	// perSecond is how many calls were made a second while some waited, 0 if that
	// was not seen yet.
	perSecond float64
	// service is how long a refresh takes that waits for no other.
	service time.Duration
}

// NewLags returns lags of a log, whose workers are limited by what each source
// allows.
func NewLags(log EventLog, keeper rate.Keeper, sources []string, now func() time.Time) *Lags {
	l := &Lags{
		log: log, keeper: keeper, now: now, renew: make(chan struct{}, 1), known: make(chan struct{}), of: map[string]*sourceLag{},
		by: map[domain.Priority]*priorityLag{domain.PriorityHigh: {}, domain.PriorityLow: {}},
	}
	for _, source := range sources {
		l.of[source] = &sourceLag{by: map[domain.Priority]*pace{domain.PriorityHigh: {service: firstService}, domain.PriorityLow: {service: firstService}}}
	}
	return l
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
func (l *Lags) Estimate(source string, p domain.Priority) (time.Duration, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	l.shown, l.told = now, now
	l.renewIfOld()
	one := l.of[source]
	if l.measured.IsZero() || one == nil {
		return 0, false
	}
	if len(l.of) > 1 {
		return one.by[p].service, l.quiet(one, p) && one.open(now)
	}
	perSecond := one.pace(p)
	if perSecond <= 0 {
		return 0, false
	}
	all := l.by[p]
	drained := perSecond * now.Sub(l.measured).Seconds()
	ahead := max(float64(all.lag.Records+all.published)-drained, 0)
	return time.Duration(ahead/perSecond*float64(time.Second)) + one.by[p].service, true
}

// open reports whether the source may be called, as far as is known.
func (s *sourceLag) open(now time.Time) bool {
	u := &s.usage
	return u.PerSecond > 0 && !u.PausedTill.After(now) && (u.Daily == 0 || u.Used < u.Daily)
}

// pace is how many of a priority are dealt with a second.
func (s *sourceLag) pace(p domain.Priority) float64 {
	if seen := s.by[p].perSecond; seen > 0 {
		return seen
	}
	return float64(allowed(s.usage, p))
}

// allowed is how many calls of a priority are granted a second.
func allowed(u rate.Usage, p domain.Priority) int {
	if p == domain.PriorityHigh {
		return u.PerSecond
	}
	return u.LowPerSecond
}

// Published notes that this process has added requests.
func (l *Lags) Published(p domain.Priority, n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.by[p].published += int64(n)
}

// Served notes how long a refresh took that waited for no other.
func (l *Lags) Served(source string, p domain.Priority, d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	const weight = 0.3
	if one := l.of[source]; one != nil {
		own := one.by[p]
		own.service += time.Duration(weight * float64(d-own.service))
	}
}

// Quiet reports whether a refresh that is asked for now waits for no other.
func (l *Lags) Quiet(source string, p domain.Priority) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	one := l.of[source]
	return one != nil && l.quiet(one, p)
}

// quiet is Quiet of a source. The caller holds the lock.
func (l *Lags) quiet(one *sourceLag, p domain.Priority) bool {
	all := l.by[p]
	return all.lag.Records == 0 && all.published <= 1 && (!one.busy || len(l.of) <= 1)
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
	usages := map[string]rate.Usage{}
	for source := range l.of {
		if usage, err := l.keeper.Usage(ctx, source); err == nil {
			usages[source] = usage
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	for source, usage := range usages {
		l.measurePace(l.of[source], usage, lags, now.Sub(l.measured).Seconds())
		l.of[source].usage = usage
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

// busyShare is the share of what a source allows from which on it is busy.
const busyShare = 0.7

// measurePace learns how fast requests are dealt with, from what was called for
// while some of them waited all the time. The caller holds the lock.
func (l *Lags) measurePace(one *sourceLag, usage rate.Usage, lags map[domain.Priority]Lag, seconds float64) {
	if usage.Day != one.usage.Day || seconds <= 0 || seconds > askedFor.Seconds() {
		one.busy = false
		return
	}
	one.busy = float64(usage.Used-one.usage.Used)/seconds >= busyShare*float64(usage.PerSecond)
	called := map[domain.Priority]int64{
		domain.PriorityHigh: usage.Used - usage.UsedLow - (one.usage.Used - one.usage.UsedLow),
		domain.PriorityLow:  usage.UsedLow - one.usage.UsedLow,
	}
	for p, n := range called {
		own, was := one.by[p], l.by[p].lag
		if n <= 0 || was.Records == 0 || lags[p].Records == 0 {
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
