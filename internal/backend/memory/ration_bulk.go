package memory

import (
	"context"
	"time"

	"sluice/internal/ration/keeper"
)

// Take implements keeper.Keeper.
func (k *Rations) Take(ctx context.Context, ask keeper.Ask, n int) (keeper.Grant, error) {
	if err := ctx.Err(); err != nil {
		return keeper.Grant{}, err
	}
	if err := keeper.CheckTake(&ask, n); err != nil {
		return keeper.Grant{}, err
	}
	for {
		g, err := k.locked(ctx, ask.Group)
		if err != nil {
			return keeper.Grant{}, err
		}
		grant, ahead, wait := g.take(&ask, int64(n))
		if wait {
			if err := g.save(ctx, ahead); err != nil {
				return keeper.Grant{}, err
			}
			continue
		}
		if ahead != nil {
			g.saver.Behind(ctx, func(ctx context.Context) error { return g.save(ctx, ahead) })
		}
		return grant, nil
	}
}

// Wait waits for what is being written down while nobody waits for it.
func (k *Rations) Wait() {
	k.groups.Range(func(_, known any) bool {
		if g, ok := known.(*rationGroup); ok {
			g.saver.Wait()
		}
		return true
	})
}

// Return implements keeper.Keeper. It goes on when its caller is being stopped.
func (k *Rations) Return(ctx context.Context, ask keeper.Ask, n int) error {
	if err := keeper.CheckTake(&ask, n); err != nil {
		return err
	}
	g, err := k.locked(context.WithoutCancel(ctx), ask.Group)
	if err != nil {
		return err
	}
	defer g.mu.Unlock()
	wall, now := k.clock()
	for i := range ask.Draws {
		d := &ask.Draws[i]
		c := g.count(d.Ration, d.Part, d.Keep, wall, now)
		c.Return(&c.terms, now, int64(n), ask.Low)
	}
	return nil
}

// drawnCounts are the counts of the draws that calls were taken on last: whoever asks
// hundreds of times a second draws on the same ones again and again.
type drawnCounts struct {
	of     *rationGroup
	draws  []keeper.Draw
	counts []*rationCount
	all    []keeper.Drawn
}

// draws are the counts that an ask draws on, with time passed. They hold until the next
// ask.
func (g *rationGroup) draws(ask *keeper.Ask, wall time.Time, now int64) *drawnCounts {
	drawn := &g.drawn[0]
	if ask.Low {
		drawn = &g.drawn[1]
	}
	if len(drawn.draws) == len(ask.Draws) && &drawn.draws[0] == &ask.Draws[0] && drawn.pass(wall, now) {
		return drawn
	}
	*drawn = drawnCounts{of: g, draws: ask.Draws}
	for i := range ask.Draws {
		d := &ask.Draws[i]
		c := g.count(d.Ration, d.Part, d.Keep, wall, now)
		drawn.counts = append(drawn.counts, c)
		drawn.all = append(drawn.all, keeper.Drawn{Count: c.Count, Terms: &c.terms})
	}
	return drawn
}

// pass lets time pass, unless somebody has drawn on a count with other terms since.
func (d *drawnCounts) pass(wall time.Time, now int64) bool {
	for i, c := range d.counts {
		if c.ration != d.draws[i].Ration || c.keep != d.draws[i].Keep {
			return false
		}
		d.of.pass(c, wall, now)
	}
	return true
}

// take grants calls, and unlocks the group. It also returns what is to be written down: if wait is set,
// before it can decide, and else before long.
func (g *rationGroup) take(ask *keeper.Ask, n int64) (_ keeper.Grant, ahead []unsaved, wait bool) {
	defer g.mu.Unlock()
	wall := ask.At
	if wall.IsZero() {
		wall = g.keeper.opts.Now()
	}
	wall, now := g.keeper.clockAt(wall)
	// Whoever looked at the clock earlier may come later: time never goes back for a count.
	now = max(now, g.taken)
	g.taken, g.touched = now, now
	if now >= g.nextSweep {
		g.sweep(wall, now)
	}
	if one := g.gates[ask.Gate]; one != nil && ask.Gate != "" {
		if left, why := one.Shut(now); why != "" {
			d := refuse(wall, left, why, keeper.GatePrefix+ask.Gate)
			return keeper.Grant{RetryAt: d.RetryAt, Reason: d.Reason, Refused: d.Refused}, nil, false
		}
	}
	drawn := g.draws(ask, wall, now)
	all := drawn.all
	calls, who := keeper.Room(all, now, n, ask.Low)
	if calls > 0 {
		if g.keeper.opts.Store != nil {
			for i := range all {
				if all[i].Unsaved(all[i].Terms, now, calls) {
					ahead = append(ahead, unsaved{count: drawn.counts[i], price: calls})
				}
			}
			if ahead != nil {
				return keeper.Grant{}, ahead, true
			}
		}
		g.sequence++
		keeper.TakeAll(all, g.sequence, now, calls, ask.Low)
		if g.keeper.opts.Store != nil {
			for i := range all {
				if all[i].Soon(all[i].Terms, now) {
					ahead = append(ahead, unsaved{count: drawn.counts[i]})
				}
			}
		}
	}
	if who < 0 {
		return keeper.Grant{Calls: int(calls)}, ahead, false
	}
	left := keeper.BulkWait(all, now, n-calls, ask.Low, who)
	d := refuse(wall, left, keeper.ReasonSpent, ask.Draws[who].Count())
	return keeper.Grant{Calls: int(calls), RetryAt: d.RetryAt, Reason: d.Reason, Refused: d.Refused}, ahead, false
}
