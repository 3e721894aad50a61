package memory

import (
	"context"
	"time"

	"sluice/internal/domain"
	"sluice/internal/ration/keeper"
)

const (
	// rationSweep is how often permits are looked for that nobody gives back, and
	// counts that are as good as new.
	rationSweep = keeper.Life / 2
	// parkStored is how long a pause lasts that is written down.
	parkStored = 10 * time.Second
)

// save writes down what is to be taken. Who waited for its turn meanwhile asks again.
func (g *rationGroup) save(ctx context.Context, all []unsaved) error {
	if err := g.storing.Take(ctx); err != nil {
		return err
	}
	defer g.storing.End()
	g.mu.Lock()
	_, now := g.keeper.clock()
	rows := make([]keeper.Stored, 0, len(all))
	for i := range all {
		u := &all[i]
		if !u.count.Covered(now, u.stored.Spent, u.covers) {
			more := max(u.count.Ceiling()-u.stored.Spent, 0)
			u.stored.Spent, u.stored.Late = u.stored.Spent+more, u.stored.Late+more
			g.sequence++
			u.stored.Seq = g.sequence
			rows = append(rows, u.stored)
		}
	}
	g.mu.Unlock()
	if len(rows) == 0 {
		return nil
	}
	if err := g.keeper.opts.Store.Save(context.WithoutCancel(ctx), rows); err != nil {
		return domain.Errorf(domain.CodeUnavailable, "what is drawn on the rations of %s cannot be stored: %w", g.name, err)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, u := range all {
		u.count.Raise(u.stored.Spent, u.covers)
	}
	return nil
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
			s, covers := c.Snapshot(&c.terms, now, 0, wall)
			s.Group, s.Count = g.name, c.name
			over = append(over, unsaved{c, s, covers})
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
			delete(g.counts, name)
		}
	}
	for name, one := range g.gates {
		if one.Idle(now) {
			delete(g.gates, name)
		}
	}
}
