package keeper

// clocked is what a count has of windows that the upstream dates.
type clocked struct {
	// dated is nil if the upstream does not.
	dated *dated
	// wall is what the clock shows and skew how far the upstream's is ahead of it.
	wall int64
	skew *Skew
	// turns is how many windows have begun, of whatever kind.
	turns uint64
}

// At tells what the clock shows, which is what windows go by that the upstream dates, and
// how far the upstream's clock is ahead of it.
func (c *clocked) At(wall int64, k *Skew) { c.wall, c.skew = wall, k }

// Turns is how many windows have begun: what was to be stored of an earlier one says
// nothing of this.
func (c *clocked) Turns() uint64 { return c.turns }

// Untouched says that nothing was ever taken, as far as is known.
func (c *clocked) Untouched() bool { return c.dated != nil && c.dated.untouched() }

func (c *clocked) settleDated(t *Terms, id uint64, price int64, a *Answer) {
	if a.Free {
		c.dated.refund(t, c.skew, c.wall, price, wordOf(id, price, a))
	} else {
		c.dated.settle(t, c.skew, c.wall, price, wordOf(id, price, a))
	}
}

func (c *clocked) chargeDated(t *Terms, id uint64, a *Answer) {
	if a.Free {
		c.dated.learn(t, c.skew, c.wall, wordOf(id, 0, a))
	} else {
		c.dated.charge(t, c.skew, c.wall, wordOf(id, 0, a))
	}
}

// viewDated is View of a window that the upstream dates. When it resets is told by the
// time that passes.
func (c *clocked) viewDated(t *Terms, now int64) (limit, available, kept, resets int64) {
	d := c.dated
	kept = d.floor(t, false)
	available = max(d.available()-kept, 0)
	if d.trial {
		available = min(available, max(d.rest-kept, 1))
	}
	if end, known := d.end(t, c.skew); known {
		resets = now + end - c.wall
	}
	return d.limit, available, kept, resets
}

// Peek returns a copy for whoever looks: that time has passed leaves no trace in a window
// that the upstream dates.
func Peek(c *Count) *Count {
	if c.dated == nil {
		return c
	}
	peeked, window := *c, *c.dated
	peeked.dated = &window
	return &peeked
}

// dates says whether the upstream dates the windows of this count. Terms may have changed:
// what was taken by others stays taken.
func (c *Count) dates(t *Terms, now int64) bool {
	switch {
	case t.Dated && c.dated == nil:
		taken := c.used(t, now) + c.presumed
		c.dated = newDated(t)
		c.dated.inflight, c.dated.newest, c.dated.carried, c.dated.turns = c.inflight, c.newest, c.newest, c.turns
		if c.dated.left -= taken; taken > 0 {
			c.dated.started, c.dated.answered = c.wall, c.wall
		}
		c.slots, c.spent, c.inflight, c.presumed = nil, 0, 0, 0
	case !t.Dated && c.dated != nil:
		was := c.dated
		c.dated, c.inflight, c.newest, c.turns = nil, was.inflight, was.newest, c.turns+1
		c.ceiling, c.covers = 0, 0
		c.spend(t, now, was.used()-was.inflight)
	}
	return t.Dated
}

// turned notes that a window has begun: nothing is written down of it.
func (c *Count) turned() {
	if c.turns != c.dated.turns {
		c.turns, c.ceiling, c.covers = c.dated.turns, 0, 0
	}
}

// Over says that nothing is lost with the count but what the upstream told to be granted:
// all that was taken has come back.
func (c *Count) Over(t *Terms, now int64) bool {
	if c.dated != nil {
		return c.dated.over()
	}
	return c.Idle(t, now)
}
