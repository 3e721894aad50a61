package redis

import (
	"context"
	"encoding/binary"
	"math"

	"sluice/internal/domain"
	"sluice/internal/ration/keeper"
)

// shortAnswer is how many numbers a script of a short way answers with: what is new of a head.
const shortAnswer = 5

// unheard is what time it is at most for who cannot tell: nothing bounds it.
const unheard = 1 << 53

// short calls a script of a short way. It answers with a head, or nothing if it did not
// decide.
func (g *rationGroup) short(ctx context.Context, s *luaScript, t *rationTable, blob record, more []string) ([]int64, error) {
	defer g.keeper.opts.Hold()()
	sent := g.keeper.opts.Passed()
	args := make([]string, 1, 1+len(t.texts)+len(t.gates)+len(more))
	told, epoch, scale := g.shortCaller(len(blob) + 8 + 8*len(t.texts))
	if epoch == 0 {
		return nil, nil
	}
	told.integers(len(t.texts))
	args[0] = string(append(t.marks(told, g.storing()), blob...))
	for _, text := range t.texts {
		args = append(args, text.hot)
	}
	m, err := s.run(ctx, g.keeper.db, []string{g.key}, append(t.gateFields(args), more...))
	if err != nil {
		return nil, err
	}
	text, err := m.ToString()
	if err != nil || len(text) != 0 && len(text) != 8*shortAnswer {
		return nil, domain.Errorf(domain.CodeUnavailable, "redis: a script of rations answered something else")
	}
	if text == "" {
		return nil, nil
	}
	g.keeper.shorts.Add(1)
	at := func(i int) int64 {
		return int64(math.Float64frombits(binary.LittleEndian.Uint64([]byte(text[8*i : 8*i+8]))))
	}
	n := []int64{epoch, at(0), at(1), at(2), at(3), 0, scale, at(4)}
	g.told(n, sent, g.keeper.opts.Passed())
	return n, nil
}

// shortCaller is what the short ways are told of what this process knows, with room for more;
// and the group's epoch, zero if nothing is known, and its scale.
func (g *rationGroup) shortCaller(more int) (r record, epoch, scale int64) {
	passed, clock := g.keeper.opts.Passed(), int64(0)
	if g.keeper.opts.Clock != nil {
		clock = g.keeper.opts.Clock().UnixMicro()
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	most := g.atMost(passed)
	if g.last.newcomer {
		most = unheard
	}
	r = make(record, 0, 64+more)
	r.int64s(clock, g.epoch, max(g.sequence, g.stored), g.ahead+passed.Microseconds(), most, g.last.scale, g.server, g.keeper.servers.seen(g.server, passed))
	return r, g.epoch, g.last.scale
}

// grantShort decides asks the short way, if it does: then all are granted.
func (g *rationGroup) grantShort(ctx context.Context, t *rationTable, asks []*rationAsk, blob record) (done bool, err error) {
	if !t.plain {
		return false, nil
	}
	if err := g.meet(ctx); err != nil {
		return false, err
	}
	n, err := g.short(ctx, rationScripts.grant, t, blob, nil)
	if err != nil || n == nil {
		return false, err
	}
	id := uint64(n[1]) - uint64(len(asks))
	for _, a := range asks {
		id++
		a.decision = keeper.Decision{Granted: true, Permit: keeper.Permit{ID: id, Ask: a.Ask, GrantedAt: t.wall}}
	}
	return true, nil
}

// grantAlone is grantShort for who has nobody to share a trip with. If that does not decide it
// joins the others: what is stored is stored for all of a process together.
func (g *rationGroup) grantAlone(ctx context.Context, a *rationAsk) (done bool, err error) {
	t, asks := g.keeper.newTable(g.keeper.wall()), []*rationAsk{a}
	_, blob := t.askRuns(asks)
	done, err = g.grantShort(ctx, t, asks, blob)
	a.long = !done
	return done, err
}

// answerAlone is answerShort for who has nobody to share a trip with.
func (g *rationGroup) answerAlone(ctx context.Context, e *rationEnd) (done bool, err error) {
	all := []*rationEnd{e}
	done, err = g.answerShort(ctx, g.keeper.newTable(g.keeper.wall()), all, heldFields(all))
	e.long = !done
	return done, err
}

// answerShort ends permits the short way, if it does.
func (g *rationGroup) answerShort(ctx context.Context, t *rationTable, all []*rationEnd, fields []string) (done bool, err error) {
	blob := make(record, 16, 512)
	if err := g.meet(ctx); err != nil {
		return false, err
	}
	buffer, last := make(record, 0, 256), record(nil)
	kinds, kind := 0, make([]int, len(all))
	for i, e := range all {
		if buffer = t.shortEnd(buffer[:0], &e.permit, &e.outcome); !t.plain {
			return false, nil
		}
		// Kinds that come again later are told again: that is seldom.
		if kinds == 0 || string(buffer) != string(last) {
			kinds++
			blob = append(blob, buffer...)
			last = append(last[:0], buffer...)
		}
		kind[i] = kinds
	}
	for i, e := range all {
		blob.integers(kind[i])
		blob.int64s(int64(e.permit.ID), max(t.wall.Sub(e.permit.GrantedAt).Microseconds(), 0))
		for i := range e.permit.Draws {
			if e.permit.Draws[i].Ration.Dated {
				blob.integers(max(e.outcome.Answers[i].Left, 0))
			}
		}
	}
	blob.put(0, len(all))
	blob.put(1, kinds)
	n, err := g.short(ctx, rationScripts.answer, t, blob, fields)
	return n != nil, err
}

// shortEnd writes a kind of answers as answer.lua reads it. The table is not plain any more if
// that is nothing for it.
func (t *rationTable) shortEnd(r record, p *keeper.Permit, o *keeper.Outcome) record {
	text := t.permitText(p.Draws)
	t.repeats(p.Draws)
	t.gate(p.Gate)
	r.times(o.Date)
	r.integers(len(p.Draws), len(text))
	if p.ID == 0 || o.RetryAfter > 0 || o.Backoff || len(o.Answers) < len(p.Draws) {
		t.plain = false
		return r
	}
	for i := range p.Draws {
		d, a := &p.Draws[i], &o.Answers[i]
		took := max(d.Cost, 1)
		switch {
		case a.Free:
			took = 0
		case a.Cost > 0:
			took = a.Cost
		}
		asTold := a.HasLeft && !a.Reset.IsZero()
		if !d.Ration.Dated {
			asTold = !a.HasLeft && a.Limit == 0 && a.In <= 0 && a.Window <= 0 && a.Refill <= 0
		}
		t.plain = t.plain && asTold && !a.Exhausted && (!a.Moved || a.Part == d.Part)
		r.integers(t.count(d, d.Part), took, a.Limit)
		r.times(a.Reset)
		r.booleans(a.Free)
	}
	return append(r, text...)
}
