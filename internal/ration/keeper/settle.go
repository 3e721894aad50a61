package keeper

import "sluice/internal/ration"

// spend counts what was taken as of an instant.
func (c *Count) spend(t *Terms, at, n int64) {
	if n <= 0 {
		return
	}
	switch t.Shape {
	case ration.Concurrent:
		return
	case ration.Bucket:
		c.owe(t, at, c.owed(t, at)+float64(n)*float64(t.Period))
		return
	case ration.Fixed, ration.Sliding:
	}
	c.spent += n
	grain := max(t.Period/Slots, 1)
	if i := len(c.slots) - 1; i >= 0 && (c.slots[i].last/grain == at/grain || c.slots[i].last > at) {
		c.slots[i].n += n
		c.slots[i].last = max(c.slots[i].last, at)
		return
	}
	c.slots = append(c.slots, slot{at, n})
}

// Settle ends a call that was granted at an instant. The count was advanced.
func (c *Count) Settle(t *Terms, now, grantedAt int64, id uint64, price int64, a *Answer) {
	if c.dated != nil {
		c.settleDated(t, id, price, a)
		c.turned()
		return
	}
	c.inflight = max(c.inflight-price, 0)
	took := price
	switch {
	case a.Free:
		took = 0
	case a.Cost > 0:
		took = min(int64(a.Cost), most)
	}
	c.spend(t, now, took)
	if !a.known() {
		if t.Reads {
			c.lost.add(took, c.newest)
		}
		return
	}
	c.Learn(t, now, grantedAt, id, a)
}

// Charge counts what a call took that was granted on another count.
func (c *Count) Charge(t *Terms, now, grantedAt int64, id uint64, price int64, a *Answer) {
	charged := *a
	charged.Cost = max(a.Cost, int(price))
	if c.dated != nil {
		c.chargeDated(t, id, &charged)
		c.turned()
		return
	}
	c.Settle(t, now, grantedAt, id, 0, &charged)
}

// Abandon ends a call whose holder is gone: it may have been made until its permit
// ended.
func (c *Count) Abandon(t *Terms, ended int64, id uint64, price int64) {
	c.Settle(t, ended, ended, id, price, &Answer{})
}

// Learn takes in what an answer told; terms follow.
func (c *Count) Learn(t *Terms, now, grantedAt int64, id uint64, a *Answer) {
	if c.dated != nil {
		c.dated.learn(t, c.skew, c.wall, wordOf(id, 0, a))
		c.turned()
		return
	}
	switch {
	case a.Limit > 0:
		c.limit = min(int64(a.Limit), most)
	case t.Assumed && a.HasLeft:
		c.limit = max(c.limit, min(int64(a.Left), most)+c.used(t, now))
	}
	c.learnPace(t, now, a)
	switch t.Shape {
	case ration.Concurrent:
		return
	case ration.Bucket:
		c.learnBucket(t, now, id, a)
		return
	case ration.Fixed, ration.Sliding:
	}
	if t.Shape == ration.Fixed && !t.Calendar && a.In > 0 && a.In.Microseconds() <= 2*t.Period+60*second {
		if !c.place(t, now, grantedAt, id, a) {
			return
		}
	}
	if !a.HasLeft {
		return
	}
	c.lost.confirm(id)
	left := min(int64(a.Left), most)
	if c.reported == unreported || id > c.told {
		// It was told after all that was told before.
		c.reported, c.toldAt = left, now
	} else if left < c.reported {
		c.reported, c.toldAt = left, now
	}
	c.told = max(c.told, c.newest)
}

// learnPace believes what an answer tells of how fast a bucket refills, and of how
// long a window is whose period was not declared: at least for as long as it still
// lasts.
func (c *Count) learnPace(t *Terms, now int64, a *Answer) {
	if t.Shape == ration.Bucket && a.Refill > 0 && int64(a.Refill) != t.Refill {
		owed := c.used(t, now) - c.inflight
		c.refill = min(int64(a.Refill), most)
		c.Adapt(t)
		c.owe(t, now, float64(owed)*float64(t.Period))
	}
	if !t.Open {
		return
	}
	if window := a.Window.Microseconds(); window > 0 {
		c.window = min(window, longestLearnt)
	} else if in := a.In.Microseconds(); in > t.Period {
		c.window = min(in, longestLearnt)
	}
	c.Adapt(t)
}

// place says whether the answer tells of this window, and begins the one that it
// tells of if that is a later one. An answer without what is left begins none.
func (c *Count) place(t *Terms, now, grantedAt int64, id uint64, a *Answer) bool {
	in := a.In.Microseconds()
	// It was told at some instant since the grant, by a clock that shows whole seconds.
	end, early := now+in+t.margin(), grantedAt+in-second
	jitter := min(second, t.Period/2) + t.margin()
	switch {
	case c.end == 0:
		c.end, c.early = end, early
	case early > c.end+jitter:
		if !a.HasLeft {
			return false
		}
		c.begin(t, now, end, early, id, a)
	case end < c.early-jitter:
		return false
	default:
		c.end, c.early = max(c.end, end), min(c.early, early)
	}
	return true
}

// begin opens a later window: what is spent of it is what the answer tells, and what
// it may not have counted yet.
func (c *Count) begin(t *Terms, now, end, early int64, id uint64, a *Answer) {
	c.lost.confirm(id)
	spent := c.lost.total() + max(c.granted(t)-int64(a.Left), 0)
	c.slots, c.spent = c.slots[:0], 0
	if spent > 0 {
		c.slots, c.spent = append(c.slots, slot{now, spent}), spent
	}
	c.end, c.early, c.reported = end, early, unreported
	c.ceiling, c.covers = 0, 0
	c.turns++
}

// learnBucket believes an answer that tells of less than was counted.
func (c *Count) learnBucket(t *Terms, now int64, id uint64, a *Answer) {
	if !a.HasLeft {
		return
	}
	c.lost.confirm(id)
	taken := c.granted(t) - min(int64(a.Left), c.granted(t)) + c.lost.total()
	if parts := float64(taken) * float64(t.Period); parts > c.owed(t, now) {
		c.owe(t, now, parts)
	}
}

// Forget forgets what answers told, but for how fast a bucket refills: what was taken
// of it is counted by that. Of a window that the upstream dates it forgets when it ends:
// one call goes first. Terms are to be made anew.
func (c *Count) Forget() {
	if c.dated != nil {
		c.dated.mistrust(c.wall)
		c.turned()
		return
	}
	c.reported, c.lost, c.limit, c.window = unreported, losses{}, 0, 0
}
