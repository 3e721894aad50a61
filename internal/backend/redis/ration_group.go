package redis

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"sync"
	"time"

	"sluice/internal/batch"
	"sluice/internal/domain"
	"sluice/internal/ration"
	"sluice/internal/ration/keeper"
)

// rationScripts are the scripts by name.
var rationScripts = struct{ reserve, take, settle, change, restore, look *luaScript }{
	reserve: loadScript("ration", "common", "dated", "dated_settle", "counts", "learn", "reserve"),
	take:    loadScript("ration", "common", "dated", "dated_settle", "counts", "learn", "take"),
	settle:  loadScript("ration", "common", "dated", "dated_settle", "counts", "learn", "settle"),
	change:  loadScript("ration", "common", "dated", "counts", "change"),
	restore: loadScript("ration", "common", "dated", "counts", "restore"),
	look:    loadScript("ration", "common", "dated", "dated_settle", "counts", "learn", "look"),
}

// rationHead is how many numbers every script answers with about the group itself.
const rationHead = 7

// What scripts tell a process about whether it is a newcomer.
const (
	staysNewcomer   = 1
	becomesNewcomer = 2
)

// clockAllowance is how much longer than the last one a request may take before the
// server's clock is doubted. A clock that is set forward by less goes unnoticed: that is
// nine calls of 450 a second.
const clockAllowance = 20 * time.Millisecond

// aheadFor is for how long the fastest answer counts.
const aheadFor = time.Minute

// rationReasons are in the order of common.lua, from reasonAt on.
var rationReasons = [...]keeper.Reason{
	keeper.ReasonParked, keeper.ReasonBackoff, keeper.ReasonTrial, keeper.ReasonSpent, keeper.ReasonKept, keeper.ReasonConcurrent,
	keeper.ReasonKeptAll,
}

// rationGroup is what this process knows of a group.
type rationGroup struct {
	keeper    *Rations
	name, key string
	asks      *batch.Group[rationAsk]
	takes     *batch.Group[rationTake]
	ends      *batch.Group[rationEnd]
	saver     *keeper.Saver

	mu sync.Mutex
	// epoch, sequence and now are what the group told last; sent and received are when, by
	// the time that passes for this process.
	epoch, sequence, now int64
	sent, received       time.Duration
	// last is what its last answer told of its turns and the server's clock, between which
	// instants, and whether this process was a newcomer.
	last contact
	// ahead is by how much the group's time is ahead of that at least: what the fastest
	// answer told since a while. Clocks drift.
	ahead int64
	since time.Duration
	// met says that stored is known: the highest number that was stored when this
	// process met the group. A group in Redis that has not come as far is an old one.
	met    bool
	stored int64
}

// contact is what lets a group find out whether its clock was set since it answered.
type contact struct {
	turns, scale   int64
	clock          int64
	sent, received time.Duration
	newcomer       bool
}

// caller is what the scripts are told of what this process knows.
func (g *rationGroup) caller() string {
	passed := g.keeper.opts.Passed()
	g.mu.Lock()
	defer g.mu.Unlock()
	var r record
	slack := clockAllowance
	if g.keeper.opts.Clock != nil {
		slack = 0 // a test's requests take no time
	}
	r.int64s(g.epoch, g.sequence, g.ahead+passed.Microseconds())
	r.int64s(g.now + (passed - g.sent + g.received - g.sent + slack).Microseconds())
	r.int64s(g.stored, g.last.turns, g.last.scale, g.last.clock)
	r.durations(passed-g.last.received, passed-g.last.sent+g.last.received-g.last.sent+slack)
	r.booleans(g.last.newcomer)
	r.durations(g.keeper.opts.PermitLife)
	return string(r)
}

// told remembers the head of an answer. A newcomer goes by the first one: from then on
// it counts for how long it is one.
func (g *rationGroup) told(n []int64, sent, received time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	ahead := n[2] - received.Microseconds()
	if n[0] < g.epoch || n[0] == g.epoch && n[6] < g.last.scale || n[5] == staysNewcomer {
		return
	}
	anew := n[0] > g.epoch || n[6] > g.last.scale
	if anew || received >= g.last.received {
		g.last = contact{turns: n[3], scale: n[6], clock: n[4], sent: sent, received: received, newcomer: n[5] == becomesNewcomer}
	}
	if anew {
		g.epoch, g.sequence, g.now, g.sent, g.received = n[0], n[1], n[2], sent, received
		g.ahead, g.since = ahead, received
		return
	}
	g.sequence = max(g.sequence, n[1])
	if n[2] > g.now {
		g.now, g.sent, g.received = n[2], sent, received
	}
	if ahead >= g.ahead || received-g.since > aheadFor {
		g.ahead, g.since = ahead, received
	}
}

// meet reads how far the group has come as far as that is stored, once.
func (g *rationGroup) meet(ctx context.Context) error {
	g.mu.Lock()
	met := g.met || g.keeper.opts.Store == nil
	g.mu.Unlock()
	if met {
		return nil
	}
	_, err := g.load(ctx)
	return err
}

// load reads what is stored of the group.
func (g *rationGroup) load(ctx context.Context) ([]keeper.Stored, error) {
	if g.keeper.opts.Store == nil {
		return nil, nil
	}
	rows, err := g.keeper.opts.Store.Load(ctx, g.name)
	if err != nil {
		return nil, domain.Errorf(domain.CodeUnavailable, "what was drawn on the rations of %s cannot be read: %w", g.name, err)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.met = true
	for i := range rows {
		g.stored = max(g.stored, int64(rows[i].Seq))
	}
	return rows, nil
}

// run calls a script for a group, which is restored first if it must be. The
// script's arguments are made anew for every try.
func (g *rationGroup) run(ctx context.Context, s *luaScript, want int, args func() []string) ([]int64, error) {
	if err := g.meet(ctx); err != nil {
		return nil, err
	}
	for range restoreTries {
		numbers, err := g.once(ctx, s, args)
		switch {
		case err != nil || len(numbers) >= want:
			return numbers, err
		case len(numbers) > 0:
			return nil, domain.Errorf(domain.CodeUnavailable, "redis: a script of rations answered %d numbers, not %d", len(numbers), want)
		}
		if err := g.restore(ctx); err != nil {
			return nil, err
		}
	}
	return nil, g.vanished()
}

// once calls a script, and remembers the head of its answer.
func (g *rationGroup) once(ctx context.Context, s *luaScript, args func() []string) ([]int64, error) {
	defer g.keeper.opts.Hold()()
	sent := g.keeper.opts.Passed()
	m, err := s.run(ctx, g.keeper.db, []string{g.key}, append([]string{g.keeper.clock(), g.caller()}, args()...))
	if err != nil {
		return nil, err
	}
	numbers, err := m.AsIntSlice()
	if err != nil {
		return nil, domain.Errorf(domain.CodeUnavailable, "redis: a script of rations answered something else: %w", err)
	}
	if len(numbers) >= rationHead {
		g.told(numbers, sent, g.keeper.opts.Passed())
	}
	return numbers, nil
}

func (g *rationGroup) vanished() error {
	return domain.Errorf(domain.CodeUnavailable, "redis: the rations of %s vanished %d times in a row", g.name, restoreTries)
}

// clock is what scripts are told about the time: nothing, except in tests.
func (k *Rations) clock() string {
	if k.opts.Clock == nil {
		return ""
	}
	return integer(k.opts.Clock().UnixMicro())
}

// rationTable are the counts and gates that a script is told of, each once.
type rationTable struct {
	wall   time.Time
	args   []string
	counts map[drawnCount]int
	gates  map[string]int
	names  []string
	// stored are the names of the counts by number.
	stored []string
}

// drawnCount is a count by what it is drawn on with.
type drawnCount struct {
	ration *ration.Ration
	part   string
	keep   int
}

func newRationTable(wall time.Time) *rationTable {
	return &rationTable{wall: wall, counts: make(map[drawnCount]int, 4), gates: make(map[string]int, 1)}
}

// count returns the number of a count.
func (t *rationTable) count(d *keeper.Draw, part string) int {
	is := drawnCount{d.Ration, part, d.Keep}
	if n, ok := t.counts[is]; ok {
		return n
	}
	name := keeper.CountName(d.Ration.Name, part)
	t.stored = append(t.stored, name)
	t.counts[is] = len(t.stored)
	t.args = append(t.args, name, rationTerms(d), integer(keeper.Left(d.Ration, t.wall)))
	return len(t.stored)
}

// gate returns the number of a gate, 0 for none.
func (t *rationTable) gate(name string) int {
	if name == "" {
		return 0
	}
	if n, ok := t.gates[name]; ok {
		return n
	}
	t.names = append(t.names, name)
	t.gates[name] = len(t.names)
	return len(t.names)
}

// arguments are how scripts are told.
func (t *rationTable) arguments() []string {
	return append(append([]string{strconv.Itoa(len(t.stored))}, t.args...), t.names...)
}

// rationTerms writes what read_terms of common.lua reads.
func rationTerms(d *keeper.Draw) string {
	t := keeper.TermsOf(d)
	r := make(record, 0, 144)
	r.integers(slices.Index(ration.Shapes(), t.Shape))
	r.int64s(t.Limit)
	r.booleans(t.Assumed)
	r.int64s(t.Refill, t.Period)
	r.booleans(t.Open)
	r.int64s(t.Keep, t.Use, t.Low)
	r.booleans(t.Calendar, t.Reads, t.Stored)
	r.int64s(t.Reserve, t.Ahead)
	r.booleans(t.Paced, t.Dated)
	r.int64s(t.Own)
	r.booleans(t.Patient)
	return string(r)
}

func integer(n int64) string { return strconv.FormatInt(n, 10) }

func microseconds(n int64) time.Duration { return time.Duration(n) * time.Microsecond }

func sortWindows(all []keeper.Window) {
	slices.SortFunc(all, func(a, b keeper.Window) int { return cmp.Compare(a.Count, b.Count) })
}
