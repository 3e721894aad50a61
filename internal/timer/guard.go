package timer

import (
	"context"
	"crypto/rand"
	"strconv"
	"strings"
	"sync"
	"time"
)

// guardPrefix begins the ids of guards: who takes one fills the trigger, since
// a server may have died that stored timers and had not told the trigger yet.
const guardPrefix = "~guard:"

func isGuard(id string) bool { return strings.HasPrefix(id, guardPrefix) }

const (
	// guardTime is how long after it was put a guard is due. No change takes
	// half of it.
	guardTime = time.Minute
	// guardIdle is how long a guard is kept that nothing needs.
	guardIdle = 3 * time.Second
)

// guards puts entries into a shared trigger before this process changes rows,
// and takes them away when the trigger knows all of those. An entry serves many
// changes, so that they pay for it once.
type guards struct {
	trigger Trigger
	// prefix begins the ids of this process's guards and of no other's: one that
	// has the name of a dead one must not take that one's guard away.
	prefix string
	now    func() time.Time

	mu      sync.Mutex
	count   int
	current *guard // nil if there is none
	idle    *time.Timer
}

// guard is one entry.
type guard struct {
	id    string
	until time.Time
	// held counts the changes under way.
	held int
	// stays is set when one of them did not reach the trigger.
	stays bool
}

// newGuards returns nil where nobody shares the trigger: it dies with the
// process, and is filled when that starts again.
func newGuards(o Options) *guards {
	if o.Signals == nil {
		return nil
	}
	return &guards{trigger: o.Trigger, prefix: guardPrefix + o.Server + ":" + rand.Text() + ":", now: o.Now}
}

// hold sees to it that the trigger is filled later unless done is called with
// true.
func (g *guards) hold(ctx context.Context) (done func(told bool), err error) {
	if g == nil {
		return func(bool) {}, nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	now := g.now()
	held := g.current
	if held == nil || held.stays || held.until.Sub(now) < guardTime/2 {
		g.count++
		held = &guard{id: g.prefix + strconv.Itoa(g.count), until: now.Add(guardTime)}
		if err := g.trigger.Set(ctx, Due{held.id, held.until}); err != nil {
			return nil, err
		}
		before := g.current
		g.current = held
		g.removeIfFree(ctx, before)
	}
	held.held++
	g.stopIdle()
	return func(told bool) { g.done(ctx, held, told) }, nil
}

func (g *guards) done(ctx context.Context, held *guard, told bool) {
	ctx = context.WithoutCancel(ctx)
	g.mu.Lock()
	defer g.mu.Unlock()
	held.held--
	held.stays = held.stays || !told
	switch {
	case held != g.current:
		g.removeIfFree(ctx, held)
	case held.held == 0:
		g.stopIdle()
		g.idle = time.AfterFunc(guardIdle, func() { g.release(ctx) })
	}
}

// release takes the entry away if nothing needs it any more.
func (g *guards) release(ctx context.Context) {
	if g == nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.stopIdle()
	if g.current != nil && g.current.held == 0 {
		before := g.current
		g.current = nil
		g.removeIfFree(ctx, before)
	}
}

func (g *guards) removeIfFree(ctx context.Context, one *guard) {
	if one == nil || one.held > 0 || one.stays {
		return
	}
	// If it stays, the trigger is filled once more than it needs.
	_ = g.trigger.Remove(ctx, one.id)
}

func (g *guards) stopIdle() {
	if g.idle != nil {
		g.idle.Stop()
		g.idle = nil
	}
}
