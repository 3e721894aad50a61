package redis

import (
	"context"
	"maps"
	"slices"
	"time"

	"sluice/internal/domain"
	"sluice/internal/ration/keeper"
)

// takeBatch bounds what one script is given: Redis serves nobody else meanwhile.
const takeBatch = 256

// rationTake is an ask for calls on its way.
type rationTake struct {
	keeper.Ask
	n     int
	grant keeper.Grant
	err   error
}

// Take implements keeper.Keeper. Once Redis is asked, its answer is waited for even if
// ctx ends: calls that are granted to nobody would be lost.
func (k *Rations) Take(ctx context.Context, ask keeper.Ask, n int) (keeper.Grant, error) {
	if err := ctx.Err(); err != nil {
		return keeper.Grant{}, err
	}
	if err := keeper.CheckTake(&ask, n); err != nil {
		return keeper.Grant{}, err
	}
	a := &rationTake{Ask: ask, n: n}
	if err := k.group(ask.Group).takes.Do(context.WithoutCancel(ctx), a); err != nil {
		return keeper.Grant{}, err
	}
	return a.grant, a.err
}

// Wait waits for what is being written down while nobody waits for it.
func (k *Rations) Wait() {
	k.mu.Lock()
	all := slices.Collect(maps.Values(k.groups))
	k.mu.Unlock()
	for _, g := range all {
		g.saver.Wait()
	}
}

// Return implements keeper.Keeper. It goes on when its caller is being stopped.
func (k *Rations) Return(ctx context.Context, ask keeper.Ask, n int) error {
	if err := keeper.CheckTake(&ask, n); err != nil {
		return err
	}
	args := []string{"", "", "return", integer(int64(n)), "0"}
	if ask.Low {
		args[4] = "1"
	}
	for i := range ask.Draws {
		args = append(args, ask.Draws[i].Count())
	}
	_, err := k.group(ask.Group).run(context.WithoutCancel(ctx), rationScripts.change, rationHead+1, args)
	return err
}

// take decides asks of concurrent callers together, what is urgent first, and those
// again for which more had to be stored first.
func (g *rationGroup) take(ctx context.Context, asks []*rationTake) {
	asks = slices.Clone(asks)
	slices.SortStableFunc(asks, func(a, b *rationTake) int { return lateness(a) - lateness(b) })
	for range mostSaves {
		again, err := g.takeOnce(ctx, asks)
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

func lateness(a *rationTake) int {
	if a.Low {
		return 1
	}
	return 0
}

// takeAnswer is how many numbers take.lua answers with for an ask that it did not grant
// all of.
const takeAnswer = 4

// takeRun is some equal asks that follow each other.
type takeRun struct {
	kind int
	asks []*rationTake
}

// takeOnce asks once. It returns those who are to ask again, as more is stored now.
func (g *rationGroup) takeOnce(ctx context.Context, asks []*rationTake) (again []*rationTake, err error) {
	wall := g.keeper.wall()
	table := g.keeper.newTable(wall)
	runs, blob := table.runs(asks)
	n, err := g.run(ctx, rationScripts.take, rationHead+len(runs), table.arguments(blob, g.storing(), 0))
	if err != nil {
		return nil, err
	}
	n = n[rationHead:]
	for _, r := range runs {
		if len(n) == 0 || int(n[0]) > len(r.asks) || len(n) < 1+takeAnswer*(len(r.asks)-int(n[0])) {
			return nil, domain.Errorf(domain.CodeUnavailable, "redis: a script of rations answered something else")
		}
		all := int(n[0])
		n = n[1:]
		for i, a := range r.asks {
			if i < all {
				a.grant = keeper.Grant{Calls: a.n}
				continue
			}
			if n[1] == 1 {
				again = append(again, a)
			} else {
				a.answered(n, table, wall)
			}
			n = n[takeAnswer:]
		}
	}
	if len(again) > 0 {
		return again, g.save(ctx, table, n)
	}
	if len(n) > 0 {
		g.saver.Behind(ctx, func(ctx context.Context) error { return g.save(ctx, table, n) })
	}
	return nil, nil
}

// answered reads what an ask was answered with.
func (a *rationTake) answered(n []int64, table *rationTable, wall time.Time) {
	a.grant = keeper.Grant{Calls: int(n[0])}
	if n[1] == 0 {
		return
	}
	a.grant.RetryAt, a.grant.Reason, a.grant.Refused = wall.Add(microseconds(n[2])), rationReasons[n[1]-reasonAt], keeper.GatePrefix+a.Gate
	if n[3] > 0 {
		a.grant.Refused = table.name(n[3])
	}
}

// runs writes what take.lua reads of asks: each kind once, and then runs of equal ones.
func (t *rationTable) runs(asks []*rationTake) (runs []takeRun, blob record) {
	var kinds record
	var seen []*rationTake
	for i, a := range asks {
		if last := len(runs) - 1; last >= 0 && a.n == asks[i-1].n && sameKind(a, asks[i-1]) {
			runs[last].asks = asks[i-len(runs[last].asks) : i+1]
			continue
		}
		kind := slices.IndexFunc(seen, func(other *rationTake) bool { return sameKind(a, other) })
		if kind < 0 {
			kind, seen = len(seen), append(seen, a)
			kinds.integers(t.gate(a.Gate))
			kinds.booleans(a.Low)
			kinds.integers(len(a.Draws))
			for i := range a.Draws {
				kinds.integers(t.count(&a.Draws[i], a.Draws[i].Part))
			}
		}
		runs = append(runs, takeRun{kind + 1, asks[i : i+1]})
	}
	blob.integers(len(seen))
	blob = append(blob, kinds...)
	for _, r := range runs {
		blob.integers(r.kind, r.asks[0].n, len(r.asks))
	}
	return runs, blob
}

func sameKind(a, b *rationTake) bool {
	if a.Low != b.Low || a.Gate != b.Gate || len(a.Draws) != len(b.Draws) {
		return false
	}
	return &a.Draws[0] == &b.Draws[0] || slices.EqualFunc(a.Draws, b.Draws, func(x, y keeper.Draw) bool {
		return x.Ration == y.Ration && x.Part == y.Part && x.Keep == y.Keep
	})
}
