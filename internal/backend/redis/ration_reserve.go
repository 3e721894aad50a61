package redis

import (
	"context"
	"encoding/binary"
	"slices"
	"strconv"
	"strings"
	"time"

	"sluice/internal/domain"
	"sluice/internal/ration/keeper"
)

// rationAsk is an ask on its way.
type rationAsk struct {
	keeper.Ask
	// long says that the short way did not decide it.
	long     bool
	decision keeper.Decision
	err      error
}

// rationEnd is a permit on its way back.
type rationEnd struct {
	permit  keeper.Permit
	outcome keeper.Outcome
	// long says that the short way did not decide it.
	long bool
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

// grantAnswer is how many numbers reserve.lua answers with for a run of equal asks.
const grantAnswer = 5

// askRun is some equal asks that follow each other.
type askRun struct {
	kind int
	asks []*rationAsk
}

// reserveOnce asks once. It returns those who are to ask again, as more is stored now.
func (g *rationGroup) reserveOnce(ctx context.Context, asks []*rationAsk) (again []*rationAsk, err error) {
	wall := g.keeper.wall()
	table := g.keeper.newTable(wall)
	runs, blob := table.askRuns(asks)
	if !slices.ContainsFunc(asks, func(a *rationAsk) bool { return a.long }) {
		if done, err := g.grantShort(ctx, table, asks, blob); err != nil || done {
			return nil, err
		}
	}
	n, err := g.run(ctx, rationScripts.reserve, rationHead+grantAnswer*len(runs), table.arguments(blob, g.storing(), 0))
	if err != nil {
		return nil, err
	}
	n = n[rationHead:]
	for _, r := range runs {
		all := int(n[0])
		if all > len(r.asks) {
			return nil, domain.Errorf(domain.CodeUnavailable, "redis: a script of rations answered something else")
		}
		for i, a := range r.asks[:all] {
			a.decision = keeper.Decision{Granted: true, Permit: keeper.Permit{ID: uint64(n[1]) + uint64(i), Ask: a.Ask, GrantedAt: wall}}
		}
		others := r.asks[all:]
		switch what, value, who := n[2], n[3], n[4]; {
		case len(others) == 0:
		case what == 1:
			again = append(again, others...)
		default:
			refused := keeper.GatePrefix + others[0].Gate
			if who > 0 {
				refused = table.name(who)
			}
			for _, a := range others {
				a.decision = keeper.Decision{RetryAt: wall.Add(microseconds(value)), Reason: rationReasons[what-reasonAt], Refused: refused}
			}
		}
		n = n[grantAnswer:]
	}
	if len(again) == 0 {
		return nil, nil
	}
	return again, g.save(ctx, table, n)
}

// askRuns writes what reserve.lua reads of asks: each kind once, and then runs of equal ones.
func (t *rationTable) askRuns(asks []*rationAsk) (runs []askRun, blob record) {
	blob = make(record, 8, 128)
	var seen []*rationAsk
	for i, a := range asks {
		if last := len(runs) - 1; last >= 0 && sameAsk(a, asks[i-1]) {
			runs[last].asks = asks[i-len(runs[last].asks) : i+1]
			continue
		}
		kind := slices.IndexFunc(seen, func(other *rationAsk) bool { return sameAsk(a, other) })
		if kind < 0 {
			kind, seen = len(seen), append(seen, a)
			text := t.permitText(a.Draws)
			t.repeats(a.Draws)
			blob.integers(t.gate(a.Gate))
			blob.booleans(a.Low)
			blob.integers(len(a.Draws), len(text))
			for i := range a.Draws {
				blob.integers(t.count(&a.Draws[i], a.Draws[i].Part), a.Draws[i].Cost)
			}
			blob = append(blob, text...)
		}
		runs = append(runs, askRun{kind + 1, asks[i : i+1]})
	}
	blob.put(0, len(seen))
	for _, r := range runs {
		blob.integers(r.kind, len(r.asks))
	}
	return runs, blob
}

func sameAsk(a, b *rationAsk) bool {
	return a.Low == b.Low && a.Gate == b.Gate && slices.Equal(a.Draws, b.Draws)
}

// rationRow is how many numbers tell what is to be stored of a count.
const rationRow = 10

// save stores what is to be taken, and then says so to Redis. A group that was lost
// meanwhile goes on from what is stored, whatever that is by now.
func (g *rationGroup) save(ctx context.Context, table *rationTable, n []int64) error {
	var rows []keeper.Stored
	raise := []string{"", "", "raise"}
	for ; len(n) >= rationRow; n = n[rationRow:] {
		row := keeper.Stored{
			Group: g.name, Count: table.name(n[0]), Spent: n[1], Until: table.wall.Add(microseconds(n[3])), Limit: n[5],
			Seq: uint64(n[6]), Refill: n[8], Low: n[9],
		}
		if n[4] > 0 {
			row.End, row.Late = table.wall.Add(microseconds(n[4])), n[7]
		}
		rows = append(rows, row)
		raise = append(raise, row.Count, integer(n[1]), integer(n[2]), integer(n[6]))
	}
	return g.saver.Save(ctx, func() []keeper.Stored { return rows }, func(ctx context.Context) error {
		_, err := g.once(ctx, rationScripts.change, raise)
		return err
	})
}

// settle ends permits.
func (g *rationGroup) settle(ctx context.Context, all []*rationEnd) error {
	wall := g.keeper.wall()
	table := g.keeper.newTable(wall)
	fields := heldFields(all)
	if !slices.ContainsFunc(all, func(e *rationEnd) bool { return e.long }) {
		if done, err := g.answerShort(ctx, table, all, fields); err != nil || done {
			return err
		}
	}
	blob := table.endKinds(all, wall)
	n, err := g.run(ctx, rationScripts.settle, rationHead+1, append(table.arguments(blob, g.storing(), len(all)), fields...))
	if err != nil {
		return err
	}
	closed, n := int(n[rationHead]), n[rationHead+1:]
	var gates []keeper.Stored
	for range closed {
		if wait := microseconds(n[1]); wait >= parkStored {
			gates = append(gates, keeper.Stored{Count: keeper.GatePrefix + all[n[0]-1].permit.Gate, Until: wall.Add(wait), Seq: uint64(n[2])})
		}
		n = n[3:]
	}
	if err := g.saveGates(ctx, gates...); err != nil || len(n) == 0 {
		return err
	}
	return g.save(ctx, table, n)
}

// heldFields name what is kept of permits, in a group's hash.
func heldFields(all []*rationEnd) []string {
	fields := make([]string, len(all))
	for i, e := range all {
		fields[i] = string(binary.BigEndian.AppendUint64([]byte("p:"), e.permit.ID))
	}
	return fields
}

// endKinds writes what settle.lua reads of permits: each kind of answers once, and then the
// permits.
func (t *rationTable) endKinds(all []*rationEnd, wall time.Time) record {
	blob := make(record, 16, 512)
	var seen []string
	kinds := make([]int, len(all))
	var buffer record
	for i, e := range all {
		buffer = t.endKind(buffer[:0], &e.permit, &e.outcome)
		last := len(seen) - 1
		if last < 0 || seen[last] != string(buffer) {
			if last = slices.Index(seen, string(buffer)); last < 0 {
				last, seen = len(seen), append(seen, string(buffer))
				blob = append(blob, buffer...)
			}
		}
		kinds[i] = last + 1
	}
	for i, e := range all {
		blob.integers(kinds[i])
		blob.int64s(int64(e.permit.ID), max(wall.Sub(e.permit.GrantedAt).Microseconds(), 0))
		for i := range e.permit.Draws {
			left := -1
			if i < len(e.outcome.Answers) && e.outcome.Answers[i].HasLeft {
				left = max(e.outcome.Answers[i].Left, 0)
			}
			blob.integers(left)
		}
	}
	blob.put(0, len(all))
	blob.put(1, len(seen))
	return blob
}

// endKind writes what an answer says but for what is left.
func (t *rationTable) endKind(r record, p *keeper.Permit, o *keeper.Outcome) record {
	r.integers(t.gate(p.Gate))
	r.durations(max(o.RetryAfter, 0))
	r.booleans(o.Backoff, o.Well)
	r.times(o.Date)
	text := t.permitText(p.Draws)
	t.repeats(p.Draws)
	r.integers(len(p.Draws), len(text))
	for i := range p.Draws {
		d := &p.Draws[i]
		var a keeper.Answer
		if i < len(o.Answers) {
			a = o.Answers[i]
		}
		if p.ID == 0 {
			a.Cost = max(a.Cost, d.Cost, 1)
		}
		moved := 0
		if a.Moved && a.Part != d.Part {
			moved = t.count(d, a.Part)
		}
		r.integers(t.count(d, d.Part))
		r.booleans(a.Free)
		r.integers(a.Cost, a.Limit)
		r.durations(max(a.In, 0), max(a.Window, 0))
		r.integers(max(a.Refill, 0), moved)
		r.times(a.Reset)
		r.booleans(a.Exhausted, a.Served)
	}
	return append(r, text...)
}

// storing says whether counts are stored.
func (g *rationGroup) storing() bool { return g.keeper.opts.Store != nil }

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
	args := []string{"", "", strconv.FormatUint(highest, 10), strconv.Itoa(len(counts) / 2)}
	_, err = g.once(ctx, rationScripts.restore, append(append(args, counts...), gates...))
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
