package redis

import (
	"context"
	"strconv"
	"strings"
	"time"

	"sluice/internal/domain"
	"sluice/internal/ration/keeper"
)

// rationAsk is an ask on its way.
type rationAsk struct {
	keeper.Ask
	decision keeper.Decision
	err      error
}

// rationEnd is a permit on its way back.
type rationEnd struct {
	permit  keeper.Permit
	outcome keeper.Outcome
}

// parkStored is how long a pause lasts at least that is stored.
const parkStored = keeper.ParkStored

// mostSaves is how often one trip stores more before it gives up: every time some of
// its asks are granted.
const mostSaves = 8 + rationBatch

// reserve decides asks, those again for which more had to be stored first.
func (g *rationGroup) reserve(ctx context.Context, asks []*rationAsk) {
	for range mostSaves {
		again, err := g.reserveOnce(ctx, asks)
		if err != nil {
			for _, a := range asks {
				a.err = err
			}
			return
		}
		if len(again) == 0 {
			return
		}
		asks = again
	}
	for _, a := range asks {
		a.err = domain.Errorf(domain.CodeUnavailable, "the rations of %s could not be stored fast enough", g.name)
	}
}

func (g *rationGroup) reserveOnce(ctx context.Context, asks []*rationAsk) (again []*rationAsk, err error) {
	wall := g.keeper.wall()
	table := newRationTable(wall)
	blob := make(record, 0, len(asks)*64)
	for _, a := range asks {
		blob.integers(table.gate(a.Gate))
		blob.booleans(a.Low)
		blob.integers(len(a.Draws))
		for i := range a.Draws {
			blob.integers(table.count(&a.Draws[i], a.Draws[i].Part), a.Draws[i].Cost)
		}
	}
	n, err := g.run(ctx, rationScripts.reserve, rationHead+3*len(asks), func() []string {
		return append([]string{string(blob), g.storing()}, table.arguments()...)
	})
	if err != nil {
		return nil, err
	}
	for i, a := range asks {
		one := n[rationHead+3*i:]
		what, value, who := one[0], one[1], one[2]
		switch {
		case what == 0:
			a.decision = keeper.Decision{Granted: true, Permit: keeper.Permit{ID: uint64(value), Ask: a.Ask, GrantedAt: wall}}
		case what == 1:
			again = append(again, a)
		case who < 0:
			a.decision = keeper.Decision{RetryAt: wall.Add(microseconds(value)), Reason: rationReasons[what-reasonAt], Refused: keeper.GatePrefix + a.Gate}
		default:
			a.decision = keeper.Decision{RetryAt: wall.Add(microseconds(value)), Reason: rationReasons[what-reasonAt], Refused: table.stored[who-1]}
		}
	}
	if len(again) == 0 {
		return nil, nil
	}
	return again, g.save(ctx, table, n[rationHead+3*len(asks):])
}

// rationRow is how many numbers tell what is to be stored of a count.
const rationRow = 10

// save stores what is to be taken, and then says so to Redis. A group that was lost
// meanwhile goes on from what is stored, whatever that is by now.
func (g *rationGroup) save(ctx context.Context, table *rationTable, n []int64) error {
	var rows []keeper.Stored
	raise := []string{"raise"}
	for ; len(n) >= rationRow; n = n[rationRow:] {
		row := keeper.Stored{
			Group: g.name, Count: table.stored[n[0]-1], Spent: n[1], Until: table.wall.Add(microseconds(n[3])), Limit: n[5],
			Seq: uint64(n[6]), Refill: n[8], Low: n[9],
		}
		if n[4] > 0 {
			row.End, row.Late = table.wall.Add(microseconds(n[4])), n[7]
		}
		rows = append(rows, row)
		raise = append(raise, row.Count, integer(n[1]), integer(n[2]), integer(n[6]))
	}
	return g.saver.Save(ctx, func() []keeper.Stored { return rows }, func(ctx context.Context) error {
		_, err := g.once(ctx, rationScripts.change, func() []string { return raise })
		return err
	})
}

// settle ends permits.
func (g *rationGroup) settle(ctx context.Context, all []*rationEnd) error {
	wall := g.keeper.wall()
	table := newRationTable(wall)
	blob := make(record, 0, len(all)*352)
	for _, e := range all {
		p, o := &e.permit, &e.outcome
		blob.int64s(int64(p.ID), max(wall.Sub(p.GrantedAt).Microseconds(), 0))
		blob.integers(table.gate(p.Gate))
		blob.durations(max(o.RetryAfter, 0))
		blob.booleans(o.Backoff, o.Well)
		blob.times(o.Date)
		blob.integers(len(p.Draws))
		for i := range p.Draws {
			blob.rationAnswer(table, p, o, i)
		}
	}
	n, err := g.run(ctx, rationScripts.settle, rationHead+2*len(all), func() []string {
		return append([]string{string(blob), g.storing()}, table.arguments()...)
	})
	if err != nil {
		return err
	}
	var closed []keeper.Stored
	for i, e := range all {
		if wait := microseconds(n[rationHead+2*i]); wait >= parkStored {
			closed = append(closed, keeper.Stored{Count: keeper.GatePrefix + e.permit.Gate, Until: wall.Add(wait), Seq: uint64(n[rationHead+1+2*i])})
		}
	}
	if err := g.saveGates(ctx, closed...); err != nil || len(n) == rationHead+2*len(all) {
		return err
	}
	return g.save(ctx, table, n[rationHead+2*len(all):])
}

// storing is how scripts are told whether counts are stored.
func (g *rationGroup) storing() string {
	if g.keeper.opts.Store == nil {
		return "0"
	}
	return "1"
}

// rationAnswer adds what settle.lua reads of a draw.
func (r *record) rationAnswer(table *rationTable, p *keeper.Permit, o *keeper.Outcome, i int) {
	d := &p.Draws[i]
	var a keeper.Answer
	if i < len(o.Answers) {
		a = o.Answers[i]
	}
	if p.ID == 0 {
		a.Cost = max(a.Cost, d.Cost, 1)
	}
	left, moved := -1, 0
	if a.HasLeft {
		left = max(a.Left, 0)
	}
	if a.Moved && a.Part != d.Part {
		moved = table.count(d, a.Part)
	}
	r.integers(table.count(d, d.Part))
	r.booleans(a.Free)
	r.integers(a.Cost, a.Limit, left)
	r.durations(max(a.In, 0), max(a.Window, 0))
	r.integers(max(a.Refill, 0), moved)
	r.times(a.Reset)
	r.booleans(a.Exhausted, a.Served)
}

// restore begins a group anew that Redis does not know, or knows less of than this
// process, with what is stored.
func (g *rationGroup) restore(ctx context.Context) error {
	rows, err := g.load(ctx)
	if err != nil {
		return err
	}
	wall := g.keeper.wall()
	var highest uint64
	counts, gates := []string(nil), []string(nil)
	for _, row := range rows {
		highest = max(highest, row.Seq)
		if gate, ok := strings.CutPrefix(row.Count, keeper.GatePrefix); ok {
			if wait := row.Until.Sub(wall); wait > 0 {
				gates = append(gates, gate, integer(wait.Microseconds()))
			}
			continue
		}
		var r record
		spent, in := row.Presumed(wall)
		r.int64s(row.Limit, spent, in.Microseconds(), row.Refill, row.Low, row.Spent, row.Late, until(row.End, wall), until(row.Until, wall))
		counts = append(counts, row.Count, string(r))
	}
	_, err = g.once(ctx, rationScripts.restore, func() []string {
		args := []string{strconv.FormatUint(highest, 10), strconv.Itoa(len(counts) / 2)}
		return append(append(args, counts...), gates...)
	})
	return err
}

// until is how long it is until an instant, 0 if there is none.
func until(at, now time.Time) int64 {
	if at.IsZero() {
		return 0
	}
	return at.Sub(now).Microseconds()
}

// saveGates stores gates that were closed or opened.
func (g *rationGroup) saveGates(ctx context.Context, all ...keeper.Stored) error {
	if len(all) == 0 || g.keeper.opts.Store == nil {
		return nil
	}
	for i := range all {
		all[i].Group = g.name
	}
	if err := g.keeper.opts.Store.Save(ctx, all); err != nil {
		return domain.Errorf(domain.CodeUnavailable, "the pause of %s cannot be stored: %w", g.name, err)
	}
	return nil
}
