package memory

import (
	"context"
	"time"

	"sluice/internal/ration/keeper"
)

const (
	// rationSweep is how often permits are looked for that nobody gives back, and
	// counts that are as good as new.
	rationSweep = keeper.Life / 2
	// parkStored is how long a pause lasts that is written down.
	parkStored = 10 * time.Second
)

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
			u.count.Raise(rows[i].Spent, covers[i])
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
		c.pass(wall, now)
		due := u.price > 0 && c.Unsaved(&c.terms, now, u.price) || u.price == 0 && (c.Exceeds(&c.terms, now) || c.Soon(&c.terms, now))
		if c.gone || !due {
			continue
		}
		row, until := c.Snapshot(&c.terms, now, u.price, wall)
		more := max(c.Ceiling()-row.Spent, 0)
		g.sequence++
		row.Group, row.Count, row.Spent, row.Late, row.Seq = g.name, c.name, row.Spent+more, row.Late+more, g.sequence
		some, rows, covers = append(some, u), append(rows, row), append(covers, until)
	}
	return some, rows, covers
}

// settle ends a permit. It returns what is to be stored of a gate that it closed, and
// of counts that it took more of than is written down.
func (g *rationGroup) settle(p *keeper.Permit, o *keeper.Outcome) (closed *keeper.Stored, over []unsaved) {
	g.mu.Lock()
	defer g.mu.Unlock()
	wall, now := g.keeper.clock()
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
	c.pass(wall, now)
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
	c := g.count(d.Ration, part, d.Keep, wall, now)
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

func (g *rationGroup) park(name string, wait time.Duration) keeper.Stored {
	g.mu.Lock()
	defer g.mu.Unlock()
	wall, now := g.keeper.clock()
	one := g.gate(name)
	one.Close(now, wait.Microseconds(), keeper.ReasonParked, g.sequence)
	until, _ := one.State(now)
	return g.gateRow(name, wall.Add(time.Duration(until-now)*time.Microsecond))
}

func (g *rationGroup) lift() []keeper.Stored {
	g.mu.Lock()
	defer g.mu.Unlock()
	wall, _ := g.keeper.clock()
	var opened []keeper.Stored
	for name, one := range g.gates {
		one.Lift()
		opened = append(opened, g.gateRow(name, wall))
	}
	for _, c := range g.counts {
		c.Forget()
		c.resolve(c.ration, c.keep)
	}
	return opened
}

// sweep ends permits that nobody gave back, and forgets what is as good as new.
func (g *rationGroup) sweep(now int64) {
	g.nextSweep = now + rationSweep
	g.drawn = [2]drawnCounts{}
	for id, held := range g.permits {
		if now < held.at+keeper.Life {
			continue
		}
		delete(g.permits, id)
		for _, d := range held.draws {
			// It ended before the part of the calendar that now is in may have begun.
			d.count.Advance(&d.count.terms, now, 0)
			d.count.Abandon(&d.count.terms, held.at+keeper.Life, d.price)
			d.count.Advance(&d.count.terms, now, 0)
		}
	}
	for name, c := range g.counts {
		if c.Advance(&c.terms, now, 0); c.Idle(&c.terms, now) {
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
