package keeper

// At tells what the clock shows, which is what windows go by that the upstream dates, and
// how far the upstream's clock is ahead of it.
func (c *Count) At(wall int64, k *Skew) { c.wall, c.skew = wall, k }

// dates says whether the upstream dates the windows of this count. Terms may have changed:
// what was taken by others stays taken.
func (c *Count) dates(t *Terms, now int64) bool {
	switch {
	case t.Dated && c.dated == nil:
		taken := c.used(t, now) + c.presumed
		inflight := c.inflight
		c.dated = newDated(t)
		c.dated.inflight, c.dated.newest, c.dated.carried = inflight, c.newest, c.newest
		if c.dated.left -= taken; taken > 0 {
			c.dated.started, c.dated.answered = c.wall, c.wall
		}
		c.slots, c.spent, c.inflight, c.presumed = nil, 0, 0, 0
	case !t.Dated && c.dated != nil:
		was := c.dated
		c.dated, c.inflight, c.newest = nil, was.inflight, was.newest
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

func (c *Count) settleDated(t *Terms, id uint64, price int64, a *Answer) {
	if a.Free {
		c.dated.refund(t, c.skew, c.wall, price, wordOf(id, price, a))
	} else {
		c.dated.settle(t, c.skew, c.wall, price, wordOf(id, price, a))
	}
	c.turned()
}

func (c *Count) chargeDated(t *Terms, id uint64, a *Answer) {
	if a.Free {
		c.dated.learn(t, c.skew, c.wall, wordOf(id, 0, a))
	} else {
		c.dated.charge(t, c.skew, c.wall, wordOf(id, 0, a))
	}
	c.turned()
}

// viewDated is View of a window that the upstream dates. When it resets is told by the
// time that passes.
func (c *Count) viewDated(t *Terms, now int64) (limit, available, kept, resets int64) {
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

// Untouched says that nothing was ever taken, as far as is known.
func (c *Count) Untouched() bool { return c.dated != nil && c.dated.untouched() }

// Over says that nothing is lost with the count but what the upstream told to be granted:
// all that was taken has come back.
func (c *Count) Over(t *Terms, now int64) bool {
	if c.dated != nil {
		return c.dated.over()
	}
	return c.Idle(t, now)
}
