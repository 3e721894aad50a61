package redis

import (
	"context"
	"strings"
	"sync"
	"time"

	"sluice/internal/batch"
	"sluice/internal/domain"
	"sluice/internal/ration/keeper"
)

const (
	// rationBatch bounds what one script is given: Redis serves nobody else
	// meanwhile.
	rationBatch = 128
	// mostRationGroups is for how many groups a process remembers how far they were.
	mostRationGroups = 1 << 14
)

// RationsOptions are what Rations needs.
type RationsOptions struct {
	// Store survives Redis; nil means that Redis alone remembers.
	Store keeper.Store
	// Clock, in tests alone, stands for the server's clock and the wall clock of
	// this process.
	Clock func() time.Time
	// Passed, in tests alone, tells the time that passes for this process.
	Passed func() time.Duration
}

// Rations implements keeper.Keeper on Redis. It has no goroutine while nobody asks.
type Rations struct {
	db   *DB
	opts RationsOptions

	mu     sync.Mutex
	groups map[string]*rationGroup
}

var _ keeper.Keeper = (*Rations)(nil)

// NewRations returns a keeper on db.
func NewRations(db *DB, o RationsOptions) *Rations {
	if o.Passed == nil {
		start := time.Now()
		o.Passed = func() time.Duration { return time.Since(start) }
	}
	return &Rations{db: db, opts: o, groups: make(map[string]*rationGroup)}
}

func (k *Rations) wall() time.Time {
	if k.opts.Clock == nil {
		return time.Now()
	}
	return k.opts.Clock()
}

// group returns what this process knows of a group. Of those that nobody uses it
// forgets some once there are many: it is a newcomer to them then.
func (k *Rations) group(name string) *rationGroup {
	k.mu.Lock()
	defer k.mu.Unlock()
	g := k.groups[name]
	if g == nil {
		if len(k.groups) >= mostRationGroups {
			clear(k.groups)
		}
		g = &rationGroup{keeper: k, name: name, key: k.db.OwnKey(name, "ration")}
		g.asks = batch.New(rationBatch, func(ctx context.Context, all []*rationAsk) error { g.reserve(ctx, all); return nil })
		g.ends = batch.New(rationBatch, func(ctx context.Context, all []*rationEnd) error { return g.settle(ctx, all) })
		k.groups[name] = g
	}
	return g
}

// Reserve implements keeper.Keeper. Once Redis is asked, its answer is waited for
// even if ctx ends: a permit that is granted to nobody would be held until its life
// ends.
func (k *Rations) Reserve(ctx context.Context, ask keeper.Ask) (keeper.Decision, error) {
	if err := ctx.Err(); err != nil {
		return keeper.Decision{}, err
	}
	a := &rationAsk{Ask: ask}
	if err := k.group(ask.Group).asks.Do(context.WithoutCancel(ctx), a); err != nil {
		return keeper.Decision{}, err
	}
	return a.decision, a.err
}

// Settle implements keeper.Keeper.
func (k *Rations) Settle(ctx context.Context, p keeper.Permit, o keeper.Outcome) error {
	return k.group(p.Group).ends.Do(context.WithoutCancel(ctx), &rationEnd{permit: p, outcome: o})
}

// Park implements keeper.Keeper.
func (k *Rations) Park(ctx context.Context, group, gate string, wait time.Duration) error {
	ctx = context.WithoutCancel(ctx)
	g := k.group(group)
	n, err := g.run(ctx, rationScripts.change, 4, func() []string { return []string{"park", gate, integer(wait.Microseconds())} })
	if err != nil {
		return err
	}
	return g.saveGates(ctx, keeper.Stored{Count: keeper.GatePrefix + gate, Until: k.wall().Add(microseconds(n[3])), Seq: uint64(n[1])})
}

// Lift implements keeper.Keeper.
func (k *Rations) Lift(ctx context.Context, group string) error {
	ctx = context.WithoutCancel(ctx)
	g := k.group(group)
	windows, err := k.Look(ctx, group)
	if err != nil {
		return err
	}
	n, err := g.run(ctx, rationScripts.change, 4, func() []string { return []string{"lift"} })
	if err != nil {
		return err
	}
	var opened []keeper.Stored
	for _, w := range windows {
		if w.Parked != "" {
			opened = append(opened, keeper.Stored{Count: w.Count, Until: k.wall(), Seq: uint64(n[1])})
		}
	}
	return g.saveGates(ctx, opened...)
}

// Look implements keeper.Keeper.
func (k *Rations) Look(ctx context.Context, group string) ([]keeper.Window, error) {
	g := k.group(group)
	if err := g.meet(ctx); err != nil {
		return nil, err
	}
	args := append([]string{k.clock()}, g.caller())
	m, err := rationScripts.look.run(ctx, k.db, []string{g.key}, args)
	if err != nil {
		return nil, err
	}
	rows, err := m.ToArray()
	if err != nil {
		return nil, domain.Errorf(domain.CodeUnavailable, "redis: a script of rations answered something else: %w", err)
	}
	all := make([]keeper.Window, 0, len(rows))
	for _, row := range rows {
		cells, err := row.ToArray()
		if err != nil || len(cells) != 6 {
			return nil, domain.Errorf(domain.CodeUnavailable, "redis: a script of rations answered something else")
		}
		field, _ := cells[0].ToString()
		var n [6]int64
		for i := 1; i < 6; i++ {
			n[i], _ = cells[i].AsInt64()
		}
		all = append(all, g.window(field, n, k.wall()))
	}
	sortWindows(all)
	return all, nil
}

// window reads a row of look.lua.
func (g *rationGroup) window(field string, n [6]int64, wall time.Time) keeper.Window {
	if name, ok := strings.CutPrefix(field, "g:"); ok {
		return keeper.Window{
			Group: g.name, Count: keeper.GatePrefix + name, Parked: rationReasons[n[1]-reasonAt], ParkedUntil: wall.Add(microseconds(n[2])),
		}
	}
	name := strings.TrimPrefix(field, "c:")
	w := keeper.Window{Group: g.name, Count: name, Limit: int(n[1]), Available: int(n[2]), InFlight: int(n[3]), Kept: int(n[4])}
	w.Ration, w.Part, _ = strings.Cut(name, "/")
	if n[5] > 0 {
		w.Reset = wall.Add(microseconds(n[5]))
	}
	return w
}
