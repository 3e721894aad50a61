package redis

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"sluice/internal/batch"
	"sluice/internal/domain"
	"sluice/internal/ration/keeper"
)

// rationScripts are the scripts by name.
var rationScripts = struct{ grant, answer, reserve, take, settle, change, restore, look *luaScript }{
	grant:   loadScript("ration", "form", "short", "grant"),
	answer:  loadScript("ration", "form", "short", "answer"),
	reserve: loadScript("ration", "form", "base", "common", "dated", "dated_settle", "counts", "learn", "reserve"),
	take:    loadScript("ration", "form", "base", "common", "dated", "dated_settle", "counts", "learn", "take"),
	settle:  loadScript("ration", "form", "base", "common", "dated", "dated_settle", "counts", "learn", "settle"),
	change:  loadScript("ration", "form", "base", "common", "dated", "counts", "change"),
	restore: loadScript("ration", "form", "base", "common", "dated", "counts", "restore"),
	look:    loadScript("ration", "form", "base", "common", "dated", "dated_settle", "counts", "learn", "look"),
}

// rationHead is how many numbers every script answers with about the group itself.
const rationHead = 8

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

// reasonAt is where the reasons begin among what scripts answer for an ask.
const reasonAt = 2

// rationReasons are in the order of base.lua, from reasonAt on.
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
	// users are those who are asking or answering: who is alone has nobody to share a trip
	// with.
	users atomic.Int32

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
	// server is the one that wrote the group, as far as is known.
	server int64
	// met says that stored is known: the highest number that was stored when this
	// process met the group. A group in Redis that has not come as far is an old one.
	met    bool
	stored int64
}

// mostServers is of how many servers a process remembers when it found out that they run.
const mostServers = 256

// found is when a server was found to run a script, by its clock and by the time that passes,
// and when somebody was sent to find out again.
type found struct {
	clock    int64
	at, sent time.Duration
}

// foundAgain is when it is to be found out again: some time before nobody believes it any more.
const foundAgain = 4 * time.Millisecond

// runningServers are the servers that were found to run a script, by their own clocks: what
// was found out for one group holds for others that the same server wrote.
type runningServers struct {
	mu  sync.Mutex
	all map[int64]found
}

func (r *runningServers) runs(server, clock int64, now time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.all) >= mostServers || r.all == nil {
		r.all = make(map[int64]found)
	}
	r.all[server] = found{clock, now, now}
}

// seen returns by a server's clock when it was found to run; negative for who is to find out.
func (r *runningServers) seen(server int64, now time.Duration) (clock int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f, known := r.all[server]
	if known && now-f.at > foundAgain && now-f.sent > foundAgain {
		f.sent = now
		r.all[server] = f
		return -1
	}
	return f.clock
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
	r := make(record, 0, 14*8)
	slack := g.slack()
	r.int64s(g.epoch, g.sequence, g.ahead+passed.Microseconds(), g.atMost(passed), g.stored, g.last.turns, g.last.scale, g.last.clock)
	r.durations(passed-g.last.received, passed-g.last.sent+g.last.received-g.last.sent+slack)
	r.booleans(g.last.newcomer)
	r.durations(g.keeper.opts.PermitLife)
	r.int64s(g.server, g.keeper.servers.seen(g.server, passed))
	return string(r)
}

// slack is how much longer a request may take before a clock is doubted. Those of a test take
// no time.
func (g *rationGroup) slack() time.Duration {
	if g.keeper.opts.Clock != nil {
		return 0
	}
	return clockAllowance
}

// atMost is what the group's time is by now at most.
func (g *rationGroup) atMost(passed time.Duration) int64 {
	return g.now + (passed - g.sent + g.received - g.sent + g.slack()).Microseconds()
}

// told remembers the head of an answer. A newcomer goes by the first one: from then on
// it counts for how long it is one.
func (g *rationGroup) told(n []int64, sent, received time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if n[7] != 0 {
		g.server = n[7]
		g.keeper.servers.runs(n[7], n[4], received)
	}
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

// run calls a script for a group, which is restored first if it must be. The first two
// arguments are filled in anew for every try.
func (g *rationGroup) run(ctx context.Context, s *luaScript, want int, args []string) ([]int64, error) {
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

// once calls a script, and remembers the head of its answer. It fills in the first two
// arguments.
func (g *rationGroup) once(ctx context.Context, s *luaScript, args []string) ([]int64, error) {
	defer g.keeper.opts.Hold()()
	sent := g.keeper.opts.Passed()
	args[0], args[1] = g.keeper.clock(), g.caller()
	m, err := s.run(ctx, g.keeper.db, []string{g.key}, args)
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

func integer(n int64) string { return strconv.FormatInt(n, 10) }

func microseconds(n int64) time.Duration { return time.Duration(n) * time.Microsecond }

func sortWindows(all []keeper.Window) {
	slices.SortFunc(all, func(a, b keeper.Window) int { return cmp.Compare(a.Count, b.Count) })
}
