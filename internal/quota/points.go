package quota

import "time"

// pointSlots is into how many parts a period is cut for bookkeeping: points
// of one part fall out together, with the last of them.
const pointSlots = 128

// Points counts what one endpoint took in every sliding period. The upstream
// counts a call somewhere between its grant and its answer; so a call holds
// its points while it is in flight and for a whole period after its answer,
// and no period of the upstream's holds more than the limit, whatever the
// latencies were.
type Points struct {
	limit    int
	period   time.Duration
	inflight int
	spent    int
	slots    []pointSlot // oldest first
}

type pointSlot struct {
	first, last time.Time
	points      int
}

// NewPoints returns the count of one endpoint. Without a limit it admits
// everything.
func NewPoints(l Limits) *Points {
	return &Points{limit: l.PointsPerMinute, period: PeriodOf(l)}
}

// PeriodOf is the "minute" of a bucket's points per minute.
func PeriodOf(l Limits) time.Duration {
	if l.PointsPeriod > 0 {
		return l.PointsPeriod
	}
	return time.Minute
}

// Take reserves n points. When it cannot, it returns the first instant at
// which it may succeed.
func (p *Points) Take(now time.Time, n int) (retryAt time.Time, ok bool) {
	if p.limit <= 0 {
		return time.Time{}, true
	}
	p.Expire(now)
	excess := p.inflight + p.spent + n - p.limit
	if excess <= 0 {
		p.inflight += n
		return time.Time{}, true
	}
	for _, s := range p.slots {
		if excess -= s.points; excess <= 0 {
			return s.last.Add(p.period), false
		}
	}
	return now.Add(p.period), false
}

// Spend moves n points from in flight to spent, as of now.
func (p *Points) Spend(now time.Time, n int) {
	if p.limit <= 0 {
		return
	}
	p.inflight = max(p.inflight-n, 0)
	p.Presume(now, n)
}

// Presume counts n points as spent at that instant by calls nobody holds a
// permit for.
func (p *Points) Presume(at time.Time, n int) {
	if p.limit <= 0 || n <= 0 {
		return
	}
	p.Expire(at)
	p.spent += n
	if i := len(p.slots) - 1; i >= 0 && at.Sub(p.slots[i].first) < p.period/pointSlots {
		p.slots[i].points += n
		if at.After(p.slots[i].last) {
			p.slots[i].last = at
		}
		return
	}
	p.slots = append(p.slots, pointSlot{first: at, last: at, points: n})
}

// Release gives back n points whose call never left.
func (p *Points) Release(n int) {
	p.inflight = max(p.inflight-n, 0)
}

// Held is what is in flight or spent, at most.
func (p *Points) Held() int { return p.inflight + p.spent }

// Idle reports whether nothing is counted any more.
func (p *Points) Idle(now time.Time) bool {
	p.Expire(now)
	return p.Held() == 0
}

// Expire drops what has fallen out of the period by now. If the clock was set
// back, everything counts as spent now: it would be held for that much longer.
func (p *Points) Expire(now time.Time) {
	if i := len(p.slots) - 1; i >= 0 && p.slots[i].last.After(now) {
		p.slots = append(p.slots[:0], pointSlot{first: now, last: now, points: p.spent})
		return
	}
	n := 0
	for n < len(p.slots) && !p.slots[n].last.Add(p.period).After(now) {
		p.spent -= p.slots[n].points
		n++
	}
	if n > 0 {
		p.slots = append(p.slots[:0], p.slots[n:]...)
	}
}
