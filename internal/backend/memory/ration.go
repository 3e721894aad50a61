package memory

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"sluice/internal/ration/keeper"
)

// RationsOptions are what Rations needs.
type RationsOptions struct {
	// Store survives the process; nil means that every process begins anew.
	Store keeper.Store
	// Now is the wall clock, by which parts of the calendar are told; nil means
	// time.Now.
	Now func() time.Time
	// Passed tells the time that passes, on a clock that nobody sets; nil means
	// the time since the keeper was made.
	Passed func() time.Duration
	// PermitLife is how long a permit may be out before its holder is taken for gone, and
	// its call for made; zero means three minutes.
	PermitLife time.Duration
}

// groupIdle is for how long nobody has drawn on a group that is forgotten, in
// microseconds: longer than anybody is told to stay away. What is stored of it is read
// again when somebody does.
const groupIdle = int64(2*time.Hour/time.Microsecond) + keeper.Life

// Rations implements keeper.Keeper in the process.
type Rations struct {
	opts  RationsOptions
	start time.Time
	// born is the time that had passed then: all that was granted since is known.
	born int64

	// groups are rationGroups by name, and nextSweep is when to look for those that nobody
	// draws on any more.
	groups    sync.Map
	nextSweep atomic.Int64
}

var _ keeper.Keeper = (*Rations)(nil)

// NewRations returns a keeper. What its store holds is read when it is needed.
func NewRations(o RationsOptions) *Rations {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.PermitLife <= 0 {
		o.PermitLife = time.Duration(keeper.Life) * time.Microsecond
	}
	k := &Rations{opts: o, start: o.Now()}
	_, k.born = k.clock()
	k.nextSweep.Store(k.born + groupIdle)
	return k
}

// clock returns the time of day, and in microseconds what has passed. One look
// tells both unless a test says otherwise: Go's times know what has passed.
func (k *Rations) clock() (wall time.Time, now int64) { return k.clockAt(k.opts.Now()) }

// clockAt is clock for who knows the time of day.
func (k *Rations) clockAt(wall time.Time) (_ time.Time, now int64) {
	if k.opts.Passed != nil {
		return wall, k.opts.Passed().Microseconds()
	}
	return wall, wall.Sub(k.start).Microseconds()
}

func (k *Rations) passed() time.Duration {
	_, now := k.clock()
	return time.Duration(now) * time.Microsecond
}

// Reserve implements keeper.Keeper.
func (k *Rations) Reserve(ctx context.Context, ask keeper.Ask) (keeper.Decision, error) {
	if err := ctx.Err(); err != nil {
		return keeper.Decision{}, err
	}
	for {
		g, err := k.locked(ctx, ask.Group)
		if err != nil {
			return keeper.Decision{}, err
		}
		d, ahead := g.reserve(&ask)
		if ahead == nil {
			return d, nil
		}
		if err := g.save(ctx, ahead); err != nil {
			return keeper.Decision{}, err
		}
	}
}

// Settle implements keeper.Keeper.
func (k *Rations) Settle(ctx context.Context, p keeper.Permit, o keeper.Outcome) error {
	g, err := k.locked(context.WithoutCancel(ctx), p.Group)
	if err != nil {
		return err
	}
	closed, over := g.settle(&p, &o)
	if k.opts.Store == nil || closed == nil && over == nil {
		return nil
	}
	ctx = context.WithoutCancel(ctx)
	if closed != nil {
		if err := k.opts.Store.Save(ctx, []keeper.Stored{*closed}); err != nil {
			return err
		}
	}
	if len(over) > 0 {
		return g.save(ctx, over)
	}
	return nil
}

// Park implements keeper.Keeper.
func (k *Rations) Park(ctx context.Context, group, gate string, wait time.Duration) error {
	g, err := k.locked(ctx, group)
	if err != nil {
		return err
	}
	if closed := g.park(gate, wait); k.opts.Store != nil && wait > keeper.ParkStored {
		return k.opts.Store.Save(context.WithoutCancel(ctx), []keeper.Stored{closed})
	}
	return nil
}

// Lift implements keeper.Keeper.
func (k *Rations) Lift(ctx context.Context, group string) error {
	g, err := k.locked(ctx, group)
	if err != nil {
		return err
	}
	if opened := g.lift(); len(opened) > 0 && k.opts.Store != nil {
		return k.opts.Store.Save(context.WithoutCancel(ctx), opened)
	}
	return nil
}

// Look implements keeper.Keeper.
func (k *Rations) Look(ctx context.Context, group string, draws ...keeper.Draw) ([]keeper.Window, error) {
	g, err := k.locked(ctx, group)
	if err != nil {
		return nil, err
	}
	return g.look(draws), nil
}

// locked returns a group, with what was stored of it, locked and certain to be the one
// that is known by this name. Whoever gets it unlocks it.
func (k *Rations) locked(ctx context.Context, name string) (*rationGroup, error) {
	for {
		known, ok := k.groups.Load(name)
		if !ok {
			k.sweep()
			known, _ = k.groups.LoadOrStore(name, newRationGroup(k, name))
		}
		g, _ := known.(*rationGroup)
		if err := g.begin(ctx); err != nil {
			return nil, err
		}
		g.mu.Lock()
		if !g.gone {
			return g, nil
		}
		g.mu.Unlock()
	}
}

// sweep forgets groups that nobody has drawn on for long. It runs when a group is added,
// which is the only way memory grows.
func (k *Rations) sweep() {
	_, now := k.clock()
	due := k.nextSweep.Load()
	if now < due || !k.nextSweep.CompareAndSwap(due, now+groupIdle) {
		return
	}
	k.groups.Range(func(name, known any) bool {
		if g, ok := known.(*rationGroup); ok && g.forget() {
			k.groups.CompareAndDelete(name, known)
		}
		return true
	})
}
