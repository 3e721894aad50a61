package memory

import (
	"sync"
	"sync/atomic"
	"time"

	"sluice/internal/quota"
)

// owner is whose ration is counted. Its lock guards everything below.
type owner struct {
	mu      sync.Mutex
	buckets map[string]*bucket
	skew    quota.Skew
	// out holds the permits not yet given back.
	out     map[uint64]struct{}
	gate    quota.Gate
	touched time.Time
	// forgotten is set when the owner left the keeper's map; whoever finds it
	// looks the owner up again.
	forgotten bool
}

func newOwner(now time.Time) *owner {
	return &owner{
		buckets: make(map[string]*bucket),
		out:     make(map[uint64]struct{}),
		touched: now,
	}
}

// bucket is one window and the minutes of its endpoints.
type bucket struct {
	limits quota.Limits
	count  *quota.Count
	points map[string]*quota.Points
	// newest is the newest permit granted.
	newest uint64
	// presumed is what each endpoint is taken to have spent at presumedAt, by
	// a process that is gone.
	presumed   int
	presumedAt time.Time
}

func (o *owner) bucket(name string, limits quota.Limits) *bucket {
	b := o.buckets[name]
	if b == nil {
		b = newBucket(limits, quota.NewCount(limits))
		o.buckets[name] = b
	}
	return b
}

func newBucket(limits quota.Limits, count *quota.Count) *bucket {
	return &bucket{limits: limits, count: count, points: make(map[string]*quota.Points)}
}

// reserve checks everything before it takes anything. passed is now on a clock
// that nobody sets: points fall out by the time that passes.
func (o *owner) reserve(now, passed time.Time, b *bucket, ask quota.Ask, concurrency int, ids *atomic.Uint64) (time.Time, quota.Reason) {
	if retryAt, why := o.gate.Check(now); why != "" {
		return retryAt, why
	}
	if concurrency > 0 && len(o.out) >= concurrency {
		return now.Add(lanesFirst), quota.ReasonConcurrency
	}
	points := b.minute(passed, ask.Endpoint)
	if retryAt, ok := points.Take(passed, ask.Points); !ok {
		return now.Add(retryAt.Sub(passed)), quota.ReasonPoints
	}
	id := ids.Add(1)
	b.count.Keep(ask.Floor)
	if retryAt, why := b.count.Reserve(now, &o.skew, id, ask.Cost); why != "" {
		points.Release(ask.Points)
		return retryAt, why
	}
	b.newest = id
	o.gate.Granted(id)
	return time.Time{}, ""
}

// minute returns the points of an endpoint, or of the bucket if they are
// shared.
func (b *bucket) minute(now time.Time, endpoint string) *quota.Points {
	if b.limits.PointsShared || b.limits.PointsPerMinute <= 0 {
		endpoint = ""
	}
	p := b.points[endpoint]
	if p == nil {
		b.forgetIdle(now)
		p = quota.NewPoints(b.limits)
		p.Presume(b.presumedAt, b.presumed)
		b.points[endpoint] = p
	}
	return p
}

// forgetIdle drops endpoints that hold nothing, once there are many. What an
// earlier process may have spent has long fallen out of those.
func (b *bucket) forgetIdle(now time.Time) {
	const many = 64
	if len(b.points) < many {
		return
	}
	for endpoint, p := range b.points {
		if p.Idle(now) {
			delete(b.points, endpoint)
		}
	}
}

func (b *bucket) end(now, passed time.Time, skew *quota.Skew, p quota.Permit, r quota.Response, free bool) {
	points := b.minute(passed, p.Endpoint)
	if free && !r.Known {
		points.Release(p.Points)
	} else {
		points.Spend(passed, p.Points)
	}
	if free {
		b.count.Refund(now, skew, p, r)
		return
	}
	b.count.Settle(now, skew, p, r)
}

func (o *owner) windows(now time.Time, name string) []quota.Window {
	o.mu.Lock()
	defer o.mu.Unlock()
	all := make([]quota.Window, 0, len(o.buckets))
	for bucketName, b := range o.buckets {
		b.count.Advance(now, &o.skew)
		w := b.count.View(&o.skew)
		w.Owner, w.Bucket = name, bucketName
		if until, why := o.gate.Check(now); why != "" && why != quota.ReasonTrial {
			w.ParkedUntil, w.Parked = until, why
		} else {
			w = w.Closed()
		}
		all = append(all, w)
	}
	return all
}
