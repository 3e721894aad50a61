package quota

import "time"

// standing says how a header's window relates to the counted one.
type standing uint8

const (
	sameWindow standing = iota
	earlierWindow
	laterWindow
)

// Settle ends a call that was, or may have been, counted by the upstream.
func (c *Count) Settle(now time.Time, skew *Skew, p Permit, r Response) {
	c.Advance(now, skew)
	r.Reset = c.plausible(now, skew, r.Reset)
	c.inflight = max(c.inflight-p.Cost, 0)
	c.returned(p, r)
	if !r.Known || r.Reset.IsZero() {
		c.lose(now, skew, p, r)
		return
	}
	actual := p.Cost
	if r.Cost > 0 {
		actual = r.Cost
	}
	switch c.place(skew, p, r) {
	case earlierWindow:
		if p.ID <= c.carried {
			c.left += p.Cost
		}
		return
	case laterWindow:
		c.begin(p, r)
	case sameWindow:
		c.left += p.Cost - actual
		if p.ID <= c.carried && r.Remaining > c.opened {
			// Counted before the header that opened the window, which
			// therefore already holds it.
			c.left += actual
		}
		c.learn(skew, p, r)
	}
	if r.Exhausted {
		c.exhaust(now, skew)
	}
}

// Refund ends a call that cost nothing, and learns from its headers.
func (c *Count) Refund(now time.Time, skew *Skew, p Permit, r Response) {
	c.Advance(now, skew)
	c.inflight = max(c.inflight-p.Cost, 0)
	c.left += p.Cost
	if c.trial && p.ID > c.carried {
		c.rest += p.Cost
	}
	c.returned(p, r)
	c.Learn(now, skew, p, r)
}

// Learn takes in the headers of a call that is not counted here.
func (c *Count) Learn(now time.Time, skew *Skew, p Permit, r Response) {
	r.Reset = c.plausible(now, skew, r.Reset)
	if r.Known && r.Remaining >= r.Limit {
		// Nothing was counted yet, so no window has begun: the reset is that
		// of a window that would begin now, and moves on.
		c.adopt(r.Limit)
		if p.ID > c.carried {
			c.believe()
		}
	} else if r.Known && !r.Reset.IsZero() {
		switch c.place(skew, p, r) {
		case earlierWindow:
			return
		case laterWindow:
			c.begin(p, r)
		case sameWindow:
			c.learn(skew, p, r)
		}
	}
	if r.Exhausted {
		c.exhaust(now, skew)
	}
}

// lose ends a call without an answer. It may have been counted, at any moment
// until now.
func (c *Count) lose(now time.Time, skew *Skew, p Permit, r Response) {
	if earliest, known := c.earliestEnd(skew); known && !now.Before(earliest) {
		c.late += p.Cost
	}
	c.answered = now
	c.lost.add(p.Cost, c.newest)
	if r.Exhausted {
		c.exhaust(now, skew)
	}
}

func (c *Count) place(skew *Skew, p Permit, r Response) standing {
	switch {
	case !c.anchor.IsZero():
		return compare(r.Reset, c.anchor, c.jitter())
	case !c.hold.IsZero():
		return c.placeRestored(skew, r)
	case p.ID <= c.carried && !r.Reset.After(c.previous):
		return earlierWindow
	}
	return sameWindow
}

// jitter is how far two reports of one window's reset may lie apart.
func (c *Count) jitter() time.Duration { return min(resetJitter, c.cfg.Window/2) }

func compare(reset, anchor time.Time, jitter time.Duration) standing {
	switch d := reset.Sub(anchor); {
	case d > jitter:
		return laterWindow
	case d < -jitter:
		return earlierWindow
	}
	return sameWindow
}

// placeRestored decides for a window of which only the local end is known. It
// says later only when that is certain: taken for the same window, a later one
// merely has less left.
func (c *Count) placeRestored(skew *Skew, r Response) standing {
	if skew.Earliest(r.Reset).After(c.hold) {
		return laterWindow
	}
	return sameWindow
}

// learn takes in a header of the current window.
func (c *Count) learn(skew *Skew, p Permit, r Response) {
	c.lost.confirm(p.ID)
	c.reported = min(c.reported, max(r.Remaining, 0))
	if c.anchor.IsZero() {
		c.anchor = r.Reset
		if !c.answered.Before(skew.Earliest(r.Reset)) {
			c.late = max(c.late, c.lost.total())
		}
	}
	if r.Reset.After(c.reset) {
		c.reset = r.Reset
	}
	c.adopt(r.Limit)
	if p.ID > c.carried || !c.previous.IsZero() && r.Reset.Sub(c.previous) > c.jitter() {
		c.believe()
	}
}

// adopt takes in the limit a header told. Only a limit that was merely
// assumed is corrected within its window; a change counts from the next one.
func (c *Count) adopt(limit int) {
	if limit <= 0 {
		return
	}
	if c.assumed {
		c.left += limit - c.limit
		c.assumed = false
	}
	c.limit = limit
}

// begin opens the later window a header told of. Every other call in flight,
// and every loss not known to be counted, may be counted there after it.
func (c *Count) begin(p Permit, r Response) {
	c.lost.confirm(p.ID)
	c.adopt(r.Limit)
	remaining := max(r.Remaining, 0)
	c.open(remaining - c.inflight - c.lost.total())
	c.reported, c.opened = remaining, remaining
	c.reset, c.anchor = r.Reset, r.Reset
	c.believe()
}

// exhaust closes the window until it ends.
func (c *Count) exhaust(now time.Time, skew *Skew) {
	c.left, c.reported = min(c.left, 0), 0
	c.believe()
	if c.answered.IsZero() {
		c.answered = now
	}
	if end, known := c.end(skew); !known || !end.After(now) {
		// The reset is past on our clock and yet the quota is used up: the
		// clocks disagree and no Date told by how much.
		c.hold = now.Add(c.cfg.Window)
	}
}
