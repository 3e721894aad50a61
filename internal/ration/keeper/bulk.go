package keeper

import (
	"time"

	"sluice/internal/domain"
	"sluice/internal/ration"
)

// linePlaces is how many callers are told instants of their own at least, however long
// that takes.
const linePlaces = 32

// Grant is the answer to Take.
type Grant struct {
	// Calls may be made now, as many as asked for or fewer.
	Calls int
	// RetryAt is when to come back for the others, Reason why, and Refused the count or
	// gate that refuses them: the first of those that leave least.
	RetryAt time.Time
	Reason  Reason
	Refused string
}

// CheckTake says whether calls can be taken or given back like this.
func CheckTake(ask *Ask, n int) error {
	if n < 1 || int64(n) > most || len(ask.Draws) == 0 {
		return domain.Errorf(domain.CodeInvalid, "%d calls were asked for, of %d rations; ask for at least one of each", n, len(ask.Draws))
	}
	for i := range ask.Draws {
		if r := ask.Draws[i].Ration; r.Shape == ration.Concurrent || r.Dated {
			return domain.Errorf(domain.CodeInvalid, "the ration %s counts calls at once, or windows that the upstream dates: they are reserved and settled one by one", r.Name)
		}
	}
	return nil
}

// Drawn is a count that calls are taken of, with time passed, and its terms.
type Drawn struct {
	*Count
	Terms *Terms
}

// Room is how many of n calls all of these have, and which leaves least: the first of
// several, -1 if there is enough.
func Room(all []Drawn, now, n int64, low bool) (calls int64, who int) {
	calls, who = n, -1
	for i := range all {
		if room := all[i].space(now, low); room < calls {
			calls, who = room, i
		}
	}
	return calls, who
}

func (d *Drawn) space(now int64, low bool) int64 {
	if now < d.hold {
		return 0
	}
	return max(d.room(d.Terms, now, low), 0)
}

// TakeAll takes calls of all of these; id orders them among permits: no answer to an
// earlier one proves to count them.
func TakeAll(all []Drawn, id uint64, now, calls int64, low bool) {
	for i := range all {
		c, t := all[i].Count, all[i].Terms
		c.newest = id
		c.spend(t, now, calls)
		if t.Reads {
			c.lost.add(calls, id)
		}
		if low {
			c.low += calls
		}
	}
}

// BulkWait is after how long to ask again for n calls more, of which there are none of
// at least one of these; who is the one that leaves least.
//
// Buckets are waited for until they have all of them, but not for so many that they
// would overflow while whoever waits comes late. Callers come back one after the other,
// as calls become free in the slowest bucket, and not all for the same one.
func BulkWait(all []Drawn, now, n int64, low bool, who int) int64 {
	slowest := -1
	for i := range all {
		if t := all[i].Terms; t.Shape == ration.Bucket {
			n = min(n, max(t.usable(all[i].granted(t), low)/2, 1))
			if slowest < 0 || float64(t.Refill)*float64(all[slowest].Terms.Period) <= float64(all[slowest].Terms.Refill)*float64(t.Period) {
				slowest = i
			}
		}
	}
	wait := int64(1)
	for i := range all {
		wait = max(wait, all[i].delay(now, n, low))
	}
	if all[who].Terms.Shape != ration.Bucket {
		return wait
	}
	return all[slowest].queue(now, now+wait, n) - now
}

// delay is after how long a bucket has so many more, and any other count one more.
func (d *Drawn) delay(now, n int64, low bool) int64 {
	if d.Terms.Shape != ration.Bucket {
		n = 1
	}
	if now < d.hold {
		return d.hold - now
	}
	if missing := n - d.room(d.Terms, now, low); missing > 0 {
		return d.wait(d.Terms, now, missing)
	}
	return 0
}

// queue gives a caller for so many units a place in the line. When that is long it
// begins again at its head.
func (d *Drawn) queue(now, earliest, n int64) int64 {
	step, at := d.Terms.costTime(n), earliest
	if d.line > now {
		at = max(at, d.line+step)
	}
	if at > earliest+max(d.Terms.Period, linePlaces*step) {
		at = earliest
	}
	d.line = at
	return at
}

// Soon says whether more is to be written down before long, while there is enough for
// now: half of what was written down ahead is left.
func (c *Count) Soon(t *Terms, now int64) bool {
	limit := c.granted(t)
	return t.Stored && c.ceiling < limit && c.ceiling-c.used(t, now) <= t.chunk(limit)/2
}

// Return gives back what was taken in bulk. The count was advanced.
func (c *Count) Return(t *Terms, now, n int64, low bool) {
	switch t.Shape {
	case ration.Concurrent:
		return
	case ration.Bucket:
		if !t.Paced {
			c.owe(t, now, max(c.owed(t, now)-float64(n)*float64(t.Period), 0))
		}
	case ration.Fixed, ration.Sliding:
		for i := len(c.slots) - 1; i >= 0 && n > 0; i-- {
			back := min(n, c.slots[i].n)
			c.slots[i].n, c.spent = c.slots[i].n-back, c.spent-back
			if n -= back; c.slots[i].n == 0 {
				c.slots = c.slots[:i]
			}
			if low {
				c.low = max(c.low-back, 0)
			}
		}
	}
}
