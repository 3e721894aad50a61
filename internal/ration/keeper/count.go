package keeper

import "sluice/internal/ration"

// unreported is what is left as far as no answer told.
const unreported = int64(-1)

// restoredSlack is how much too late the stored end of a window may be.
const restoredSlack = 2 * second

// Count is the arithmetic of one count. It reads no clock and takes no lock; its
// time is microseconds that have passed, on a clock that nobody sets.
//
// Of a window whose end is known all comes back then. Of any other each unit comes
// back one period after the answer to its call, which holds for every place where
// the upstream may begin its windows.
//
// What may still be taken is the smaller of two bounds: the limit less all that was
// spent and is under way, which is exact while nobody else draws on the ration; and
// what the upstream told to be left, less all that it may have counted after it
// told.
type Count struct {
	// limit is what the upstream told to be granted, 0 while it did not.
	limit    int64
	spent    int64
	inflight int64
	// slots are what was spent and when, oldest first.
	slots []slot
	// end is when the window has certainly ended, 0 while unknown, and early the
	// instant before which it has certainly not.
	end, early int64

	reported int64
	// told is the newest permit of when that was told, and toldAt when.
	told   uint64
	toldAt int64
	lost   losses
	newest uint64

	// debt is what is owed to a bucket.
	debt
	// refill and window are what the upstream told of them, 0 while it did not.
	refill, window int64

	// ceiling is how much is written down as taken, and covers until when that holds.
	ceiling, covers int64
	// presumed is what others may have taken until presumedAt.
	presumed, presumedAt int64

	// low is what of it was taken by what is not urgent, as far as that is known: it is
	// shown, and decides nothing.
	low int64
	// hold is until when nothing is granted, as calls of before may be unknown.
	hold int64
	// line is the latest instant that callers were told to come back at, so that the next
	// one is told a later one.
	line int64

	// clocked counts instead of all this if the upstream dates its windows.
	clocked
}

type slot struct{ last, n int64 }

// losses adds up calls that ended without a word of what is left, until an answer
// proves to count them: that to a call granted after they ended. There are two
// batches, so that a steady trickle is confirmed too.
type losses struct {
	n, next          int64
	after, nextAfter uint64
}

func (l *losses) add(n int64, newest uint64) {
	if l.n == 0 {
		l.n, l.after = n, newest
		return
	}
	l.next, l.nextAfter = l.next+n, newest
}

func (l *losses) confirm(permit uint64) {
	for range 2 {
		if l.n > 0 && permit > l.after {
			*l = losses{n: l.next, after: l.nextAfter}
		}
	}
}

func (l *losses) total() int64 { return l.n + l.next }

// NewCount begins to count. born is since when all is known that was granted: what
// comes back quickly and is not written down is taken to have been spent then.
func NewCount(t *Terms, now, born int64) *Count {
	c := &Count{reported: unreported}
	switch {
	case t.Paced:
		if now < born+t.Period {
			c.hold = born + t.Period
		}
	case t.Shape != ration.Concurrent && t.Limit < ration.Unlimited && !t.Stored && now < born+t.comesBack(t.Limit):
		c.presumed, c.presumedAt = t.Limit, born
	}
	return c
}

// Advance lets time pass. left is how long the part of the calendar still lasts.
func (c *Count) Advance(t *Terms, now, left int64) {
	if c.dates(t, now) {
		c.dated.advance(t, c.skew, c.wall)
		c.turned()
		return
	}
	if c.presumed > 0 {
		n, at := c.presumed, c.presumedAt
		c.presumed = 0
		c.spend(t, at, n)
	}
	if t.Shape == ration.Fixed || t.Shape == ration.Sliding {
		c.advanceWindow(t, now, left)
	}
	if c.lost.n > 0 && c.used(t, now) == 0 {
		// All that ended without a word has come back too.
		c.lost = losses{}
	}
}

func (c *Count) advanceWindow(t *Terms, now, left int64) {
	if c.end > 0 && now >= c.end {
		c.turn()
	}
	if c.end == 0 {
		c.expire(t, now)
	}
	if c.end == 0 && left > 2*t.margin() {
		c.end, c.early = now+left+t.margin(), now+left-t.margin()
	}
}

// turn begins the window after this one. What may have been counted after the old
// one ended is taken along.
func (c *Count) turn() {
	n := 0
	for n < len(c.slots) && c.slots[n].last < c.early {
		c.spent -= c.slots[n].n
		n++
	}
	c.slots = append(c.slots[:0], c.slots[n:]...)
	c.end, c.early, c.reported, c.lost = 0, 0, unreported, losses{}
	c.ceiling, c.covers = 0, 0
	c.turns++
}

func (c *Count) expire(t *Terms, now int64) {
	n := 0
	for n < len(c.slots) && c.slots[n].last+t.Period <= now {
		c.spent -= c.slots[n].n
		n++
	}
	if n > 0 {
		c.slots = append(c.slots[:0], c.slots[n:]...)
	}
	if c.reported != unreported && c.toldAt+t.Period <= now {
		c.reported, c.lost = unreported, losses{}
	}
}

func (c *Count) granted(t *Terms) int64 {
	if c.dated != nil {
		return c.dated.limit
	}
	if c.limit > 0 {
		return c.limit
	}
	return t.Limit
}

// used is what is spent and under way.
func (c *Count) used(t *Terms, now int64) int64 {
	if c.dated != nil {
		return c.dated.used()
	}
	if t.Shape == ration.Bucket {
		return c.inflight + c.owedUnits(t, now)
	}
	return c.inflight + c.spent
}

// room is what may be taken now.
func (c *Count) room(t *Terms, now int64, low bool) int64 {
	limit := c.granted(t)
	left := limit - c.used(t, now)
	if c.reported != unreported {
		left = min(left, c.reported-c.inflight-c.lost.total())
	}
	return left - (limit - t.usable(limit, low))
}

// Adapt puts what the upstream told of the ration into its terms.
func (c *Count) Adapt(t *Terms) {
	if c.refill > 0 && t.Shape == ration.Bucket {
		t.Refill = c.refill
	}
	if c.window > 0 && t.Open {
		t.Period = c.window
	}
}

// NeedsEnd says whether the end of a part of the calendar is to be told.
func (c *Count) NeedsEnd(now int64) bool { return c.end == 0 || now >= c.end }

// Price is what a call is charged: what can never be had at once is all that there is.
// Where an upstream dates its windows an owner's floor may keep all, and does.
func (c *Count) Price(t *Terms, cost int64) int64 {
	if c.dated != nil {
		return max(cost, 1)
	}
	return min(max(cost, 1), max(t.usable(c.granted(t), false), 1))
}

// Check says whether a call of this price may be granted, or after how long to ask
// again and why.
func (c *Count) Check(t *Terms, now, price int64, low bool) (wait int64, why Reason) {
	if now < c.hold {
		return c.hold - now, ReasonSpent
	}
	if c.dated != nil {
		until, why := c.dated.check(t, c.skew, c.wall, price, low)
		if why == "" {
			return 0, ""
		}
		return max(until-c.wall, 1000), why
	}
	room := c.room(t, now, low)
	if room >= price {
		return 0, ""
	}
	why = ReasonSpent
	limit := c.granted(t)
	switch {
	case t.Shape == ration.Concurrent:
		return Soon, ReasonConcurrent
	case room+limit-t.usable(limit, low) >= price:
		why = ReasonKept
	}
	wait = c.wait(t, now, price-room)
	if c.inflight > 0 && room+c.inflight >= price && !t.Patient {
		wait = min(wait, Soon)
	}
	return max(wait, 1000), why
}

// wait is after how long so much more has come back.
func (c *Count) wait(t *Terms, now, missing int64) int64 {
	if t.Shape == ration.Bucket {
		return c.bucketWait(t, now, missing)
	}
	if c.end > 0 {
		return c.end - now
	}
	if c.reported != unreported && c.reported-c.inflight-c.lost.total() < c.granted(t)-c.used(t, now) {
		return max(c.toldAt+t.Period-now, 0)
	}
	for _, s := range c.slots {
		if missing -= s.n; missing <= 0 {
			return s.last + t.Period - now
		}
	}
	return t.Period
}

// Unsaved says whether more must be written down before the call is granted; or less, where
// what an answer told was taken for more than it turned out to be.
func (c *Count) Unsaved(t *Terms, now, price int64) bool {
	if !t.Stored {
		return false
	}
	spare := c.ceiling - c.used(t, now) - price
	return now >= c.covers || spare < 0 || c.dated != nil && spare >= 4*t.chunk(c.granted(t))
}

// Exceeds says whether more was taken than is written down: a call took more than was
// thought.
func (c *Count) Exceeds(t *Terms, now int64) bool { return t.Stored && c.used(t, now) > c.ceiling }

// Ahead is what to write down: as taken, and for how long from now that holds.
func (c *Count) Ahead(t *Terms, now, price int64) (ceiling, cover int64) {
	limit := c.granted(t)
	need := c.used(t, now) + price
	return min(need+t.chunk(limit)-1, max(limit, need)), t.cover(limit)
}

// Ceiling is how much is written down as taken.
func (c *Count) Ceiling() int64 { return c.ceiling }

// Raise notes what was written down.
func (c *Count) Raise(ceiling, covers int64) {
	c.ceiling, c.covers = max(c.ceiling, ceiling), max(c.covers, covers)
}

// Take grants a call that Check let through.
func (c *Count) Take(id uint64, price int64) {
	if c.dated != nil {
		c.dated.take(c.wall, id, price)
		return
	}
	c.inflight += price
	c.newest = id
}

// Idle says whether the count is as good as a new one.
func (c *Count) Idle(t *Terms, now int64) bool {
	if c.dated != nil {
		return c.dated.untouched() && now >= c.covers
	}
	return c.used(t, now) == 0 && c.presumed == 0 && c.limit == 0 && c.refill == 0 && c.window == 0 && c.reported == unreported && c.end == 0 &&
		now >= c.covers && now >= c.line
}

// View fills in what is known.
func (c *Count) View(t *Terms, now int64) (limit, available, kept, resets int64) {
	if c.dated != nil {
		return c.viewDated(t, now)
	}
	limit = c.granted(t)
	kept = limit - t.usable(limit, false)
	available = max(c.room(t, now, false), 0)
	switch {
	case t.Shape == ration.Bucket:
		resets = c.full + min(c.rest, 1)
	case c.end > 0:
		resets = c.end
	case len(c.slots) > 0:
		resets = c.slots[0].last + t.Period
	}
	return limit, available, kept, resets
}

// Spent is what was taken and has not come back, and what of that was not urgent.
func (c *Count) Spent(t *Terms, now int64) (all, low int64) {
	all = c.used(t, now)
	return all, min(c.low, all)
}

// InFlight is what is under way.
func (c *Count) InFlight() int64 {
	if c.dated != nil {
		return c.dated.inflight
	}
	return c.inflight
}

// Turns is how many windows have begun: what was to be stored of an earlier one says
// nothing of this.
func (c *Count) Turns() uint64 { return c.turns }
