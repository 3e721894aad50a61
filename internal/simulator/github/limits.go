package github

import (
	"sync"
	"time"
)

// bucket is a ration of its own within an owner's quota.
type bucket int

const (
	bucketCore bucket = iota
	bucketGraphQL
	bucketSearch
	buckets
)

var bucketNames = [buckets]string{"core", "graphql", "search"}

func (b bucket) String() string { return bucketNames[b] }

// owner is whose ration is spent: a user with all his tokens, an app, an
// installation of one, or an address.
type owner struct {
	label     string
	anonymous bool
	id        int64
	// installation marks a ration of an app's installation.
	installation bool

	mu       sync.Mutex
	windows  [buckets]window
	inFlight int
	points   map[string]*recentCalls
}

// window is one primary window. It begins with the owner's first call after the
// previous one ended and ends on a whole second.
type window struct {
	start, end  time.Time
	limit, used int
}

// balance is what the rate headers report.
type balance struct {
	limit, used int
	reset       int64
	bucket      bucket
}

func (b balance) remaining() int { return b.limit - b.used }

// limiter enforces primary windows, concurrency and points per minute.
type limiter struct {
	Limits
	audit  *auditor
	owners sync.Map // label → *owner
}

func (l *limiter) owner(label string, id int64, anonymous bool) *owner {
	if o, ok := l.owners.Load(label); ok {
		return o.(*owner)
	}
	fresh := &owner{label: label, id: id, anonymous: anonymous, points: map[string]*recentCalls{}}
	o, _ := l.owners.LoadOrStore(label, fresh)
	return o.(*owner)
}

func (l *limiter) limitOf(o *owner, b bucket) int {
	switch {
	case o.anonymous && b == bucketCore:
		return l.AnonymousLimit
	case o.installation && b != bucketSearch:
		return l.InstallationLimit
	case b == bucketGraphQL:
		return l.GraphQLLimit
	case b == bucketSearch:
		return l.SearchLimit
	default:
		return l.CoreLimit
	}
}

// current gives the owner's window, beginning one if none runs. The caller
// holds the owner's lock.
func (l *limiter) current(o *owner, b bucket, now time.Time) *window {
	w := &o.windows[b]
	if w.end.After(now) {
		return w
	}
	if w.used > 0 {
		l.audit.windowEnded(o.label, b, *w)
	}
	*w = window{start: now, end: ceilSecond(now.Add(l.Window)), limit: l.limitOf(o, b)}
	return w
}

func ceilSecond(t time.Time) time.Time {
	whole := t.Truncate(time.Second)
	if whole.Before(t) {
		whole = whole.Add(time.Second)
	}
	return whole
}

// balance reports a window without spending from it or beginning one.
func (l *limiter) balance(o *owner, b bucket, now time.Time) balance {
	if l.Disabled {
		return l.endless(o, b, now)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	w := o.windows[b]
	if !w.end.After(now) {
		w = window{limit: l.limitOf(o, b), end: ceilSecond(now.Add(l.Window))}
	}
	return w.balance(b)
}

func (w *window) balance(b bucket) balance {
	return balance{limit: w.limit, used: w.used, reset: w.end.Unix(), bucket: b}
}

func (l *limiter) endless(o *owner, b bucket, now time.Time) balance {
	return balance{limit: l.limitOf(o, b), reset: ceilSecond(now.Add(l.Window)).Unix(), bucket: b}
}

// spend takes cost from the owner's window; false leaves it as it was.
func (l *limiter) spend(o *owner, b bucket, cost int, now time.Time) (balance, bool) {
	if l.Disabled {
		return l.endless(o, b, now), true
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	w := l.current(o, b, now)
	if w.used+cost > w.limit {
		return w.balance(b), false
	}
	w.used += cost
	return w.balance(b), true
}

// exhausted tells whether nothing is left in the running window.
func (l *limiter) exhausted(o *owner, b bucket, now time.Time) (balance, bool) {
	left := l.balance(o, b, now)
	return left, !l.Disabled && left.remaining() <= 0
}

// enter counts a call in flight; false when the owner has too many. Every enter
// is followed by one leave.
func (l *limiter) enter(o *owner) (inFlight int, ok bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.inFlight++
	return o.inFlight, l.Disabled || o.inFlight <= l.Concurrent
}

func (l *limiter) leave(o *owner) {
	o.mu.Lock()
	o.inFlight--
	o.mu.Unlock()
}

// allowPoints counts a call against its endpoint's points per minute.
func (l *limiter) allowPoints(o *owner, endpoint string, b bucket, now time.Time) bool {
	if l.Disabled {
		return true
	}
	limit := l.RESTPoints
	if b == bucketGraphQL {
		limit = l.GraphQLPoints
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	recent := o.points[endpoint]
	if recent == nil {
		recent = &recentCalls{}
		o.points[endpoint] = recent
	}
	return recent.admit(now.UnixNano(), limit, l.Minute.Nanoseconds())
}

// recentCalls remembers when the last calls came, as many as the limit allows:
// a call is one too many exactly if the limit-th call before it is within the
// span.
type recentCalls struct {
	times  []int64
	oldest int
}

func (r *recentCalls) admit(now int64, limit int, span int64) bool {
	if len(r.times) < limit {
		r.times = append(r.times, now)
		return true
	}
	if now-r.times[r.oldest] < span {
		return false
	}
	r.times[r.oldest] = now
	r.oldest = (r.oldest + 1) % limit
	return true
}
