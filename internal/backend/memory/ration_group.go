package memory

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"sluice/internal/domain"
	"sluice/internal/ration"
	"sluice/internal/ration/keeper"
)

// rationGroup is what calls of one group draw on. Its lock guards everything below.
type rationGroup struct {
	keeper *Rations
	name   string
	// loading is whose turn it is to read what was stored; saver writes it.
	loading keeper.Turn
	saver   *keeper.Saver
	begun   atomic.Bool

	mu sync.Mutex
	// gone says that it was forgotten; whoever finds it looks it up again. touched is when
	// it was drawn on last.
	gone    bool
	touched int64
	// skew is how far the upstream's clock is ahead of ours.
	skew     keeper.Skew
	counts   map[countName]*rationCount
	gates    map[string]*keeper.Gate
	permits  map[uint64]heldPermit
	sequence uint64
	// stored is what was written down and nobody has asked for yet.
	stored    map[string]keeper.Stored
	nextSweep int64
	// taken is when calls were taken last, and drawn the counts of such asks by urgency.
	taken int64
	drawn [2]drawnCounts
}

type countName struct{ ration, part string }

// rationCount is a count with the terms it was counted by last.
type rationCount struct {
	*keeper.Count
	name   string
	ration *ration.Ration
	keep   int
	terms  keeper.Terms
	// gone says that it was forgotten, as it was as good as a new one.
	gone bool
}

// heldPermit is a permit that is out: what it draws on, and since when.
type heldPermit struct {
	draws []heldDraw
	at    int64
}

// heldDraw is what a call holds of a count. A count is not forgotten meanwhile.
type heldDraw struct {
	count *rationCount
	price int64
}

func newRationGroup(k *Rations, name string) *rationGroup {
	wall, now := k.clock()
	return &rationGroup{
		keeper: k, name: name, touched: now, loading: keeper.NewTurn(), saver: keeper.NewSaver(name, k.opts.Store, k.passed), counts: make(map[countName]*rationCount), gates: make(map[string]*keeper.Gate),
		permits: make(map[uint64]heldPermit), sequence: uint64(max(wall.UnixMicro(), 1)),
	}
}

// begin reads what was stored, once.
func (g *rationGroup) begin(ctx context.Context) error {
	if g.begun.Load() {
		return nil
	}
	if err := g.loading.Take(ctx); err != nil {
		return err
	}
	defer g.loading.End()
	if g.begun.Load() {
		return nil
	}
	var rows []keeper.Stored
	if s := g.keeper.opts.Store; s != nil {
		var err error
		if rows, err = s.Load(ctx, g.name); err != nil {
			return domain.Errorf(domain.CodeUnavailable, "what was drawn on the rations of %s cannot be read: %w", g.name, err)
		}
	}
	wall, now := g.keeper.clock()
	g.mu.Lock()
	defer g.mu.Unlock()
	g.stored = make(map[string]keeper.Stored, len(rows))
	for _, row := range rows {
		g.sequence = max(g.sequence, row.Seq)
		if gate, ok := strings.CutPrefix(row.Count, keeper.GatePrefix); ok {
			if wait := row.Until.Sub(wall); wait > 0 {
				g.gate(gate).Close(now, wait.Microseconds(), keeper.ReasonParked, 0)
			}
			continue
		}
		g.stored[row.Count] = row
	}
	g.begun.Store(true)
	return nil
}

func (g *rationGroup) gate(name string) *keeper.Gate {
	one := g.gates[name]
	if one == nil {
		one = &keeper.Gate{}
		g.gates[name] = one
	}
	return one
}

// count returns the count of a part of a ration, with time passed.
func (g *rationGroup) count(r *ration.Ration, part string, keep int, wall time.Time, now int64) *rationCount {
	name := countName{r.Name, part}
	c := g.counts[name]
	if c == nil || c.ration != r || c.keep != keep {
		if c == nil {
			terms := keeper.TermsOf(&keeper.Draw{Ration: r, Keep: keep})
			full := keeper.CountName(r.Name, part)
			c = &rationCount{name: full, Count: g.newCount(full, &terms, wall, now)}
			g.counts[name] = c
		}
		c.resolve(r, keep)
	}
	g.pass(c, wall, now)
	return c
}

// resolve makes the terms of a ration, with what was told of it.
func (c *rationCount) resolve(r *ration.Ration, keep int) {
	c.ration, c.keep, c.terms = r, keep, keeper.TermsOf(&keeper.Draw{Ration: r, Keep: keep})
	c.Adapt(&c.terms)
}

// pass lets time pass for a count.
func (g *rationGroup) pass(c *rationCount, wall time.Time, now int64) {
	c.At(wall.UnixMicro(), &g.skew)
	left := int64(0)
	if c.terms.Calendar && c.NeedsEnd(now) {
		left = keeper.Left(c.ration, wall)
	}
	c.Advance(&c.terms, now, left)
}

func (g *rationGroup) newCount(name string, t *keeper.Terms, wall time.Time, now int64) *keeper.Count {
	row, ok := g.stored[name]
	delete(g.stored, name)
	if ok && t.Stored {
		return keeper.Restore(t, &row, now, wall)
	}
	return keeper.NewCount(t, now, g.keeper.born)
}

// unsaved is a count of which more must be written down: for a call of this price, or
// before long.
type unsaved struct {
	count *rationCount
	price int64
	// turns are those of the count when it was written down.
	turns uint64
}

// reserve decides, and unlocks the group. If something must be written down first it decides nothing, and
// returns that.
func (g *rationGroup) reserve(ask *keeper.Ask) (keeper.Decision, []unsaved) {
	defer g.mu.Unlock()
	// The clock is read under the lock: time never goes back for a count.
	wall, now := g.keeper.clock()
	g.touched = now
	if now >= g.nextSweep {
		g.sweep(wall, now)
	}
	if wait, why := g.checkGate(ask.Gate, now); why != "" {
		return refuse(wall, wait, why, keeper.GatePrefix+ask.Gate), nil
	}
	draws := make([]heldDraw, len(ask.Draws))
	var refused keeper.Decision
	var ahead []unsaved
	longest := int64(0)
	for i := range ask.Draws {
		d := &ask.Draws[i]
		c := g.count(d.Ration, d.Part, d.Keep, wall, now)
		price := c.Price(&c.terms, int64(d.Cost))
		draws[i] = heldDraw{c, price}
		if wait, why := c.Check(&c.terms, now, price, ask.Low); wait > longest {
			longest, refused = wait, refuse(wall, wait, why, d.Count())
		}
		if longest == 0 && g.keeper.opts.Store != nil && c.Unsaved(&c.terms, now, price) {
			ahead = append(ahead, unsaved{count: c, price: price})
		}
	}
	switch {
	case longest > 0:
		return refused, nil
	case ahead != nil:
		return keeper.Decision{}, ahead
	}
	return g.grant(ask, draws, wall, now), nil
}

func (g *rationGroup) checkGate(name string, now int64) (wait int64, why keeper.Reason) {
	if one := g.gates[name]; one != nil && name != "" {
		return one.Check(now, g.keeper.opts.PermitLife.Microseconds())
	}
	return 0, ""
}

func refuse(wall time.Time, wait int64, why keeper.Reason, who string) keeper.Decision {
	return keeper.Decision{RetryAt: wall.Add(time.Duration(wait) * time.Microsecond), Reason: why, Refused: who}
}

// grant takes what all counts have.
func (g *rationGroup) grant(ask *keeper.Ask, draws []heldDraw, wall time.Time, now int64) keeper.Decision {
	g.sequence++
	for _, d := range draws {
		d.count.Take(g.sequence, d.price)
	}
	if one := g.gates[ask.Gate]; one != nil {
		one.Granted(now, g.sequence)
	}
	g.permits[g.sequence] = heldPermit{draws: draws, at: now}
	return keeper.Decision{Granted: true, Permit: keeper.Permit{ID: g.sequence, Ask: *ask, GrantedAt: wall}}
}

// look tells what is known, by the names of counts, and of these draws in any case. It
// unlocks the group.
func (g *rationGroup) look(draws []keeper.Draw) []keeper.Window {
	defer g.mu.Unlock()
	wall, now := g.keeper.clock()
	for i := range draws {
		// A count that was drawn on stays as whoever drew on it wants it.
		if g.counts[countName{draws[i].Ration.Name, draws[i].Part}] == nil {
			g.count(draws[i].Ration, draws[i].Part, draws[i].Keep, wall, now)
		}
	}
	var all []keeper.Window
	for name, counted := range g.counts {
		// Whoever looks begins no window.
		c, terms := keeper.Peek(counted.Count), &counted.terms
		c.At(wall.UnixMicro(), &g.skew)
		c.Advance(terms, now, 0)
		limit, available, kept, resets := c.View(terms, now)
		w := keeper.Window{
			Group: g.name, Count: keeper.CountName(name.ration, name.part), Ration: name.ration, Part: name.part,
			Limit: int(limit), Available: int(available), InFlight: int(c.InFlight()), Kept: int(kept), Untouched: c.Untouched(),
		}
		spent, low := c.Spent(terms, now)
		w.Spent, w.Low = int(spent), int(low)
		if resets > now {
			w.Reset = wall.Add(time.Duration(resets-now) * time.Microsecond)
		}
		all = append(all, w)
	}
	for name, one := range g.gates {
		if until, why := one.State(now); why != "" {
			all = append(all, keeper.Window{
				Group: g.name, Count: keeper.GatePrefix + name, Parked: why, ParkedUntil: wall.Add(time.Duration(until-now) * time.Microsecond),
			})
		}
	}
	slices.SortFunc(all, func(a, b keeper.Window) int { return cmp.Compare(a.Count, b.Count) })
	return all
}
