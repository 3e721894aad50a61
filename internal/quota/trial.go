package quota

import "time"

// A clock can be set forward, and a window would open that the upstream has not
// begun; set back, and a window would not end for as long. So nothing that the
// clock alone says is worth more than one call: its answer decides.

// doubt puts the next window on trial if the end of this one was known: it then
// grants what this one has left, or one call.
func (c *Count) doubt() {
	c.tried = 0
	if c.trial {
		return // what is left of rest stays
	}
	c.trial = !c.reset.IsZero() || !c.hold.IsZero()
	c.rest = max(c.available(), 0)
}

// checkTrial refuses a call for which the answer of one that went first must be
// waited for.
func (c *Count) checkTrial(now time.Time, cost int) (time.Time, Reason) {
	if !c.trial || c.tried == 0 || c.rest-c.floor() >= cost {
		return time.Time{}, ""
	}
	return now.Add(settleSoon), ReasonTrial
}

// try notes a call granted in a window on trial.
func (c *Count) try(cost int) {
	if c.trial {
		c.tried++
		c.rest -= cost
	}
}

// returned notes that a call has ended. If the upstream served it without a word
// about its ration, no other answer will tell more.
func (c *Count) returned(p Permit, r Response) {
	if p.ID <= c.carried {
		return
	}
	c.tried = max(c.tried-1, 0)
	if r.Succeeded && !r.Known {
		c.believe()
	}
}

// believe ends the trial: an answer told which window this is.
func (c *Count) believe() { c.trial, c.rest, c.tried = false, 0, 0 }

// furthest is the latest instant at which a window can end that has begun.
func (c *Count) furthest(now time.Time) time.Time {
	return now.Add(2*c.cfg.Window + resetSlack)
}

// plausible is a reset that a header told, or zero if no window of this length
// can end then: such a reset is as good as none.
func (c *Count) plausible(now time.Time, skew *Skew, reset time.Time) time.Time {
	if skew.Latest(reset).After(c.furthest(now)) {
		return time.Time{}
	}
	return reset
}

// confine ends a window one length from now that would last longer than any
// does: the clock was set back since its end became known.
func (c *Count) confine(now time.Time, skew *Skew) {
	if end, known := c.end(skew); known && end.After(c.furthest(now)) {
		c.reset, c.anchor = time.Time{}, time.Time{}
		c.hold = now.Add(c.cfg.Window)
	}
}

// Doubt forgets when the window ends: one call goes first, and its answer tells
// what is left.
func (c *Count) Doubt(now time.Time) {
	if c.started.IsZero() && c.reset.IsZero() && c.hold.IsZero() {
		return
	}
	c.turn(now)
	c.trial = true
}
