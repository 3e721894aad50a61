package memory

import (
	"context"
	"time"

	"sluice/internal/ration/keeper"
)

// parkStored is how long a pause lasts at least that is written down.
const parkStored = keeper.ParkStored

// save writes down what is to be taken, as things are when it is the caller's turn. Who
// waited for its turn meanwhile asks again.
func (g *rationGroup) save(ctx context.Context, all []unsaved) error {
	var covers []int64
	var rows []keeper.Stored
	return g.saver.Save(ctx, func() []keeper.Stored {
		all, rows, covers = g.unsavedRows(all)
		return rows
	}, func(context.Context) error {
		g.mu.Lock()
		defer g.mu.Unlock()
		for i, u := range all {
			// What was written down of the window before says nothing of this one.
			if u.count.Turns() == u.turns {
				u.count.Raise(rows[i].Spent, covers[i])
			}
		}
		return nil
	})
}

// unsavedRows are what to write down of those of which nobody has written down enough
// meanwhile, and until when that holds.
func (g *rationGroup) unsavedRows(all []unsaved) (some []unsaved, rows []keeper.Stored, covers []int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	wall, now := g.keeper.clock()
	for _, u := range all {
		c := u.count
		if c.terms.Dated {
			c.At(wall.UnixMicro(), &g.skew) // it is written down as it was drawn on
		} else {
			g.pass(c, wall, now)
		}
		due := u.price > 0 && c.Unsaved(&c.terms, now, u.price) || u.price == 0 && (c.Exceeds(&c.terms, now) || c.Soon(&c.terms, now))
		if c.gone || !due {
			continue
		}
		u.turns = c.Turns()
		row, until := c.Snapshot(&c.terms, now, u.price, wall)
		more := max(c.Ceiling()-row.Spent, 0)
		g.sequence++
		row.Group, row.Count, row.Spent, row.Late, row.Seq = g.name, c.name, row.Spent+more, row.Late+more, g.sequence
		some, rows, covers = append(some, u), append(rows, row), append(covers, until)
	}
	return some, rows, covers
}

// settle ends a permit, and unlocks the group. It returns what is to be stored of a gate that it closed, and
// of counts that it took more of than is written down.
func (g *rationGroup) settle(p *keeper.Permit, o *keeper.Outcome) (closed *keeper.Stored, over []unsaved) {
	defer g.mu.Unlock()
	wall, now := g.keeper.clock()
	g.touched = now
	if !o.Date.IsZero() {
		g.skew.Observe(o.Date.UnixMicro(), p.GrantedAt.UnixMicro(), wall.UnixMicro())
	}
	held, out := g.permits[p.ID]
	delete(g.permits, p.ID)
	grantedAt := now - max(wall.Sub(p.GrantedAt).Microseconds(), 0)
	if out {
		grantedAt = held.at
	}
	var nothing keeper.Answer
	for i := range p.Draws {
		answer := &nothing
		if i < len(o.Answers) {
			answer = &o.Answers[i]
		}
		var c *rationCount
		if out {
			c = g.settleDraw(&held.draws[i], p, i, answer, grantedAt, wall, now)
		} else {
			c = g.settleStray(p, i, answer, grantedAt, wall, now)
		}
		if g.keeper.opts.Store != nil && c.Exceeds(&c.terms, now) {
			over = append(over, unsaved{count: c})
		}
	}
	return g.settleGate(p, o, wall, now), over
}

// settleGate tells a gate of the outcome, and returns what is to be stored of it.
func (g *rationGroup) settleGate(p *keeper.Permit, o *keeper.Outcome, wall time.Time, now int64) *keeper.Stored {
	if p.Gate == "" {
		return nil
	}
	one := g.gates[p.Gate]
	if one == nil && (o.RetryAfter > 0 || o.Backoff) {
		one = g.gate(p.Gate)
	}
	if one == nil || !one.Answered(now, p.ID, g.sequence, o) {
		return nil
	}
	return g.parked(p.Gate, one, wall, now)
}

// settleDraw ends what a call holds of a count. If it drew on another part in truth,
// that one is charged.
func (g *rationGroup) settleDraw(held *heldDraw, p *keeper.Permit, i int, a *keeper.Answer, grantedAt int64, wall time.Time, now int64) *rationCount {
	c, d := held.count, &p.Draws[i]
	g.pass(c, wall, now)
	if !a.Moved || a.Part == d.Part {
		c.Settle(&c.terms, now, grantedAt, p.ID, held.price, a)
		return c
	}
	c.Settle(&c.terms, now, grantedAt, p.ID, held.price, &keeper.Answer{Free: true})
	to := g.count(d.Ration, a.Part, d.Keep, wall, now)
	to.Charge(&to.terms, now, grantedAt, p.ID, held.price, a)
	return to
}

// settleStray takes in the answer to a call that holds nothing here.
func (g *rationGroup) settleStray(p *keeper.Permit, i int, a *keeper.Answer, grantedAt int64, wall time.Time, now int64) *rationCount {
	d := &p.Draws[i]
	part := d.Part
	if a.Moved {
		part = a.Part
	}
	keep := d.Keep
	if known := g.counts[countName{d.Ration.Name, part}]; known != nil {
		keep = known.keep // what stays for the owner is said by who asks
	}
	c := g.count(d.Ration, part, keep, wall, now)
	if p.ID == 0 {
		c.Charge(&c.terms, now, grantedAt, 0, int64(max(d.Cost, 1)), a)
		return c
	}
	c.Learn(&c.terms, now, grantedAt, p.ID, a)
	return c
}

// parked is what to store of a gate; nil for a short pause.
func (g *rationGroup) parked(name string, one *keeper.Gate, wall time.Time, now int64) *keeper.Stored {
	until, _ := one.State(now)
	wait := time.Duration(until-now) * time.Microsecond
	if wait < parkStored {
		return nil
	}
	row := g.gateRow(name, wall.Add(wait))
	return &row
}

func (g *rationGroup) gateRow(name string, until time.Time) keeper.Stored {
	g.sequence++
	return keeper.Stored{Group: g.name, Count: keeper.GatePrefix + name, Until: until, Seq: g.sequence}
}

// park closes a gate, and unlocks the group.
func (g *rationGroup) park(name string, wait time.Duration) keeper.Stored {
	defer g.mu.Unlock()
	wall, now := g.keeper.clock()
	g.touched = now
	one := g.gate(name)
	one.Close(now, wait.Microseconds(), keeper.ReasonParked, g.sequence)
	until, _ := one.State(now)
	return g.gateRow(name, wall.Add(time.Duration(until-now)*time.Microsecond))
}

// lift opens all gates, and unlocks the group.
func (g *rationGroup) lift() []keeper.Stored {
	defer g.mu.Unlock()
	wall, _ := g.keeper.clock()
	var opened []keeper.Stored
	for name, one := range g.gates {
		one.Lift()
		opened = append(opened, g.gateRow(name, wall))
	}
	for _, c := range g.counts {
		c.At(wall.UnixMicro(), &g.skew)
		c.Forget()
		c.resolve(c.ration, c.keep)
	}
	return opened
}

// sweep ends permits that nobody gave back, and forgets what is as good as new.
func (g *rationGroup) sweep(wall time.Time, now int64) {
	life := g.keeper.opts.PermitLife.Microseconds()
	g.nextSweep = now + life/2
	g.drawn = [2]drawnCounts{}
	for id, held := range g.permits {
		if now < held.at+life {
			continue
		}
		delete(g.permits, id)
		for _, d := range held.draws {
			// It ended before the part of the calendar that now is in may have begun.
			d.count.At(wall.UnixMicro(), &g.skew)
			d.count.Advance(&d.count.terms, now, 0)
			d.count.Abandon(&d.count.terms, held.at+life, id, d.price)
			d.count.Advance(&d.count.terms, now, 0)
		}
	}
	for name, c := range g.counts {
		if !c.terms.Dated {
			c.Advance(&c.terms, now, 0)
		}
		if c.Idle(&c.terms, now) {
			c.gone = true
			delete(g.counts, name)
		}
	}
	for name, one := range g.gates {
		if one.Idle(now) {
			delete(g.gates, name)
		}
	}
}

// forget says whether nobody has drawn on the group for long and nothing is lost with it,
// as all that was taken has come back or is stored; then it is gone.
func (g *rationGroup) forget() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	wall, now := g.keeper.clock()
	if now-g.touched < groupIdle {
		return false
	}
	g.sweep(wall, now)
	if len(g.permits) > 0 {
		return false
	}
	for _, one := range g.gates {
		if until, _ := one.State(now); until > 0 {
			return false
		}
	}
	for _, c := range g.counts {
		if !c.Over(&c.terms, now) && (g.keeper.opts.Store == nil || !c.terms.Stored) {
			return false
		}
	}
	g.gone = true
	return true
}
