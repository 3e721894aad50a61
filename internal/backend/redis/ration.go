package redis

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
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
	// PermitLife is how long a permit may be out before its holder is taken for gone, and
	// its call for made; zero means three minutes.
	PermitLife time.Duration
	// Hold, in tests alone, keeps Clock from being moved until release is called: a
	// request tells the time at which it is sent, and is meant to arrive then.
	Hold func() (release func())
}

// Rations implements keeper.Keeper on Redis. It has no goroutine while nobody asks.
type Rations struct {
	db   *DB
	opts RationsOptions

	mu     sync.Mutex
	groups map[string]*rationGroup

	textsMu sync.RWMutex
	texts   map[drawnCount]*countText
	servers runningServers
	// shorts is how often a short way decided.
	shorts atomic.Int64
}

var _ keeper.Keeper = (*Rations)(nil)

// NewRations returns a keeper on db.
func NewRations(db *DB, o RationsOptions) *Rations {
	if o.Passed == nil {
		start := time.Now()
		o.Passed = func() time.Duration { return time.Since(start) }
	}
	if o.PermitLife <= 0 {
		o.PermitLife = microseconds(keeper.Life)
	}
	if o.Hold == nil {
		o.Hold = func() func() { return func() {} }
	}
	return &Rations{db: db, opts: o, groups: make(map[string]*rationGroup), texts: make(map[drawnCount]*countText)}
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
		g = &rationGroup{
			keeper: k, name: name, key: k.db.OwnKey(name, "ration"), saver: keeper.NewSaver(name, k.opts.Store, k.opts.Passed),
		}
		g.asks = batch.New(rationBatch, func(ctx context.Context, all []*rationAsk) error { g.reserve(ctx, all); return nil })
		g.takes = batch.New(takeBatch, func(ctx context.Context, all []*rationTake) error { g.take(ctx, all); return nil })
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
	g := k.group(ask.Group)
	ctx = context.WithoutCancel(ctx)
	defer g.users.Add(-1)
	if g.users.Add(1) == 1 {
		if done, err := g.grantAlone(ctx, a); err != nil || done {
			return a.decision, err
		}
	}
	if err := g.asks.Do(ctx, a); err != nil {
		return keeper.Decision{}, err
	}
	return a.decision, a.err
}

// Settle implements keeper.Keeper.
func (k *Rations) Settle(ctx context.Context, p keeper.Permit, o keeper.Outcome) error {
	g, e := k.group(p.Group), &rationEnd{permit: p, outcome: o}
	ctx = context.WithoutCancel(ctx)
	defer g.users.Add(-1)
	if g.users.Add(1) == 1 {
		if done, err := g.answerAlone(ctx, e); err != nil || done {
			return err
		}
	}
	return g.ends.Do(ctx, e)
}

// Park implements keeper.Keeper.
func (k *Rations) Park(ctx context.Context, group, gate string, wait time.Duration) error {
	ctx = context.WithoutCancel(ctx)
	g := k.group(group)
	n, err := g.run(ctx, rationScripts.change, rationHead+1, []string{"", "", "park", gate, integer(wait.Microseconds())})
	if err != nil || wait <= keeper.ParkStored {
		return err
	}
	return g.saveGates(ctx, keeper.Stored{Count: keeper.GatePrefix + gate, Until: k.wall().Add(microseconds(n[rationHead])), Seq: uint64(n[1])})
}

// Lift implements keeper.Keeper.
func (k *Rations) Lift(ctx context.Context, group string) error {
	ctx = context.WithoutCancel(ctx)
	g := k.group(group)
	windows, err := k.Look(ctx, group)
	if err != nil {
		return err
	}
	n, err := g.run(ctx, rationScripts.change, rationHead+1, []string{"", "", "lift"})
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

// Look implements keeper.Keeper. Of a group that Redis does not know nothing is told but
// for draws that are asked about.
func (k *Rations) Look(ctx context.Context, group string, draws ...keeper.Draw) ([]keeper.Window, error) {
	g := k.group(group)
	if err := g.meet(ctx); err != nil {
		return nil, err
	}
	for range restoreTries {
		all, known, err := g.look(ctx, draws)
		if err != nil || known || len(draws) == 0 {
			return all, err
		}
		if err := g.restore(ctx); err != nil {
			return nil, err
		}
	}
	return nil, g.vanished()
}

// look asks once, and says whether Redis knows the group.
func (g *rationGroup) look(ctx context.Context, draws []keeper.Draw) (all []keeper.Window, known bool, err error) {
	defer g.keeper.opts.Hold()()
	wall := g.keeper.wall()
	table := g.keeper.newTable(wall)
	for i := range draws {
		table.count(&draws[i], draws[i].Part)
	}
	args := table.arguments(nil, false, 0)
	args[0], args[1] = g.keeper.clock(), g.caller()
	m, err := rationScripts.look.run(ctx, g.keeper.db, []string{g.key}, args)
	if err != nil {
		return nil, false, err
	}
	rows, err := m.ToArray()
	if err != nil {
		return nil, false, domain.Errorf(domain.CodeUnavailable, "redis: a script of rations answered something else: %w", err)
	}
	if len(rows) == 0 {
		return nil, false, nil
	}
	for _, row := range rows[1:] {
		cells, err := row.ToArray()
		if err != nil || len(cells) != lookCells {
			return nil, false, domain.Errorf(domain.CodeUnavailable, "redis: a script of rations answered something else")
		}
		field, _ := cells[0].ToString()
		var n [lookCells]int64
		for i := 1; i < lookCells; i++ {
			n[i], _ = cells[i].AsInt64()
		}
		all = append(all, g.window(field, n, wall))
	}
	sortWindows(all)
	return all, true, nil
}

// lookCells is how many cells look.lua answers for each count.
const lookCells = 9

// window reads a row of look.lua.
func (g *rationGroup) window(field string, n [lookCells]int64, wall time.Time) keeper.Window {
	if name, ok := strings.CutPrefix(field, gateField); ok {
		return keeper.Window{
			Group: g.name, Count: keeper.GatePrefix + name, Parked: rationReasons[n[1]-reasonAt], ParkedUntil: wall.Add(microseconds(n[2])),
		}
	}
	name := strings.TrimPrefix(field, countField)
	w := keeper.Window{Group: g.name, Count: name, Limit: int(n[1]), Available: int(n[2]), InFlight: int(n[3]), Kept: int(n[4]), Spent: int(n[6]), Low: int(n[7]), Untouched: n[8] == 1}
	w.Ration, w.Part, _ = strings.Cut(name, "/")
	if n[5] > 0 {
		w.Reset = wall.Add(microseconds(n[5]))
	}
	return w
}
