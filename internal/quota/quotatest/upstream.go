package quotatest

import (
	"time"

	"sluice/internal/quota"
)

// Upstream is a model of an upstream that counts. A window starts with the
// first counted call after the previous one ended, and ends on a whole second
// of the upstream's own clock, which runs Ahead of the local one.
type Upstream struct {
	Limit  int
	Window time.Duration
	Ahead  time.Duration
	// PointsPerPeriod bounds each endpoint in every sliding Period; zero is
	// no bound.
	PointsPerPeriod int
	Period          time.Duration

	// TooMany counts calls beyond the limit, TooDense calls beyond the points.
	TooMany, TooDense int
	// Usage lists every window, the current one last.
	Usage []Usage

	seen map[string][]stamp
}

// Usage is one window of the model, on the local clock.
type Usage struct {
	FirstCall, End time.Time
	Used           int
}

type stamp struct {
	at     time.Time
	points int
}

// Count receives a call at local time now, counts it and answers. A call
// beyond the limit is refused and not counted.
func (u *Upstream) Count(now time.Time, ask quota.Ask) quota.Response {
	u.points(now, ask)
	w := u.current(now)
	if w == nil {
		w = u.begin(now)
	}
	exhausted := w.Used+ask.Cost > u.Limit
	if exhausted {
		u.TooMany++
	} else {
		w.Used += ask.Cost
	}
	r := u.headers(now, w)
	r.Exhausted = exhausted
	return r
}

// NotModified receives a call that costs no quota. Before the first counted
// call of a window its headers tell a reset one window from now.
func (u *Upstream) NotModified(now time.Time, ask quota.Ask) quota.Response {
	u.points(now, ask)
	w := u.current(now)
	if w == nil {
		w = &Usage{FirstCall: now, End: u.endOf(now)}
	}
	return u.headers(now, w)
}

// Foreign is somebody else's use of the same token.
func (u *Upstream) Foreign(now time.Time, cost int) {
	w := u.current(now)
	if w == nil {
		w = u.begin(now)
	}
	w.Used = min(w.Used+cost, u.Limit)
}

// LocalClockSet tells the model that the local clock was set forward by d (back
// if negative): no time passed for the upstream.
func (u *Upstream) LocalClockSet(d time.Duration) {
	u.Ahead -= d
	for i := range u.Usage {
		u.Usage[i].FirstCall, u.Usage[i].End = u.Usage[i].FirstCall.Add(d), u.Usage[i].End.Add(d)
	}
	for _, stamps := range u.seen {
		for i := range stamps {
			stamps[i].at = stamps[i].at.Add(d)
		}
	}
}

// Reset is the local instant at which the current window ends, or now if
// there is none.
func (u *Upstream) Reset(now time.Time) time.Time {
	if w := u.current(now); w != nil {
		return w.End
	}
	return now
}

func (u *Upstream) current(now time.Time) *Usage {
	if len(u.Usage) == 0 {
		return nil
	}
	w := &u.Usage[len(u.Usage)-1]
	if !now.Before(w.End) {
		return nil
	}
	return w
}

func (u *Upstream) begin(now time.Time) *Usage {
	u.Usage = append(u.Usage, Usage{FirstCall: now, End: u.endOf(now)})
	return &u.Usage[len(u.Usage)-1]
}

func (u *Upstream) endOf(now time.Time) time.Time {
	end := now.Add(u.Ahead + u.Window)
	if whole := end.Truncate(time.Second); !whole.Equal(end) {
		end = whole.Add(time.Second)
	}
	return end.Add(-u.Ahead)
}

func (u *Upstream) headers(now time.Time, w *Usage) quota.Response {
	return quota.Response{
		Known: true, Limit: u.Limit, Remaining: u.Limit - w.Used,
		Reset: w.End.Add(u.Ahead), Date: now.Add(u.Ahead).Truncate(time.Second),
	}
}

func (u *Upstream) points(now time.Time, ask quota.Ask) {
	if u.PointsPerPeriod <= 0 {
		return
	}
	if u.seen == nil {
		u.seen = make(map[string][]stamp)
	}
	kept := u.seen[ask.Endpoint][:0]
	sum := ask.Points
	for _, s := range u.seen[ask.Endpoint] {
		if s.at.Add(u.Period).After(now) {
			kept = append(kept, s)
			sum += s.points
		}
	}
	u.seen[ask.Endpoint] = append(kept, stamp{at: now, points: ask.Points})
	if sum > u.PointsPerPeriod {
		u.TooDense++
	}
}
