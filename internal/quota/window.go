package quota

import (
	"math"
	"time"

	"sluice/internal/domain"
)

const (
	// settleSoon is when to ask again while calls in flight may still give
	// back what they hold. It is a backstop: those who wait for a lane are
	// woken by what settles.
	settleSoon = 250 * time.Millisecond
	// resetJitter is how far two reports of one window's reset may lie apart:
	// an upstream that computes it as "now plus time to live" is off by one
	// when the second turns over in between.
	resetJitter = time.Second
	// resetStep is how coarse resets are: a window ends on a whole second.
	resetStep = time.Second
	// restoredSlack is how much too late the stored end of a window may be: a
	// second for the coarse Date, and the time the fastest answer took.
	restoredSlack = 30 * time.Second
	// assumedRoom is how many calls a floor leaves at least of a limit that is not
	// known.
	assumedRoom = 10
	// unreported is the reported remainder while no header told it.
	unreported = math.MaxInt
	// resetSlack is by how much more than two window lengths from now a window may
	// claim to end. What claims more is misdated: see plausible and confine.
	resetSlack = time.Minute
)

// Count is the arithmetic of one owner's bucket: how many calls may still be
// made in the window. It reads no clock and takes no lock.
//
// It keeps two lower bounds of what the upstream will still serve, and trusts
// the smaller:
//
//   - left, the ledger: the limit less everything granted in this window. It
//     is exact while nobody else uses the token, whatever is lost or reordered.
//   - reported − inflight − lost: the smallest remainder a header told, less
//     every call that may have been counted after that header was written. It
//     holds when others use the token too.
//
// A call is charged to the ledger when granted; Settle only corrects it.
//
// A clock may be set. A window that only the clock has opened is therefore on
// trial: it grants what the window before had left, or one call, until an answer
// tells which window it is.
type Count struct {
	cfg   Limits
	limit int
	// assumed is true until a header tells the limit.
	assumed bool

	left     int
	reported int
	// opened is the remainder in the header that opened the window; a carried
	// call that reports more was counted before it.
	opened   int
	inflight int
	lost     losses
	// late is the cost of calls without an answer that may already have been
	// counted in the next window.
	late int

	// newest is the newest permit granted, carried the newest that was granted
	// before this window began.
	newest, carried uint64

	// reset is the window's end on the upstream's clock and anchor the first
	// report of it; both zero while unknown.
	reset, anchor time.Time
	// previous is the reset of the window before.
	previous time.Time
	// hold, if set, is the end on the local clock of a window whose reset is
	// known in no other way.
	hold time.Time
	// started is the first grant of the window, answered the last time a call
	// ended that may have been counted without the upstream saying so.
	started, answered time.Time
	// kept is the floor that the owner asked for; 0 if he did not.
	kept int

	// trial is set while the clock alone says that this window has begun. rest is
	// what the window before had left, less what was granted since; tried is how
	// many calls granted since are out.
	trial bool
	rest  int
	tried int
}

// losses adds up calls that ended without an answer until a header proves to
// count them: that of a call granted after they ended. Two batches, so that a
// steady trickle of losses is still confirmed.
type losses struct {
	cost, nextCost   int
	after, nextAfter uint64
}

func (l *losses) add(cost int, newest uint64) {
	if l.cost == 0 {
		l.cost, l.after = cost, newest
		return
	}
	l.nextCost, l.nextAfter = l.nextCost+cost, newest
}

func (l *losses) confirm(permit uint64) {
	if l.cost > 0 && permit > l.after {
		*l = losses{cost: l.nextCost, after: l.nextAfter}
	}
	if l.cost > 0 && permit > l.after {
		*l = losses{}
	}
}

func (l *losses) total() int { return l.cost + l.nextCost }

// NewCount returns the count of an owner nothing is known about: it counts
// against the configured limit from the first call on.
func NewCount(cfg Limits) *Count {
	return &Count{
		cfg: cfg, limit: cfg.Limit, assumed: true,
		left: cfg.Limit, reported: unreported, opened: unreported,
	}
}

// RestoreCount continues a stored window whose process is gone. If it has ended,
// or its end was never known, one call goes first: the clock may have been set
// meanwhile.
//
// Calls worth abandoned were in flight when the process died. If the window
// has ended or may have, they may have been counted in the next one.
func RestoreCount(cfg Limits, w domain.QuotaWindow, now time.Time, abandoned int) *Count {
	c := NewCount(cfg)
	abandoned = max(min(abandoned, w.Limit-w.Remaining), 0)
	if w.Limit > 0 {
		c.limit, c.assumed = w.Limit, false
	}
	if w.Reset.After(c.furthest(now)) {
		w.Reset = now.Add(cfg.Window)
	}
	c.trial = true
	switch {
	case w.Reset.IsZero() && w.Started.IsZero():
		c.left = c.limit
	case w.Reset.IsZero():
		c.left = w.Remaining
		c.started, c.answered = w.Started, now
		c.assumed = true
	case now.Before(w.Reset):
		c.left = w.Remaining
		c.hold = w.Reset
		c.started = now
		c.trial = false
		if earliest, _ := c.earliestEnd(&Skew{}); !now.Before(earliest) {
			c.late = abandoned
		}
	case now.Before(w.Reset.Add(cfg.Window + 2*resetStep)):
		c.left = c.limit - abandoned
		c.started, c.answered = now, now
		c.rest = w.Remaining
	default:
		c.left, c.rest = c.limit, w.Remaining
	}
	return c
}

// Reserve grants a call of this cost under the permit id, which must be
// larger than every earlier one, or says when to ask again and why not now.
func (c *Count) Reserve(now time.Time, skew *Skew, id uint64, cost int) (retryAt time.Time, why Reason) {
	c.Advance(now, skew)
	if retryAt, why = c.check(now, skew, cost); why != "" {
		return retryAt, why
	}
	c.left -= cost
	c.inflight += cost
	c.newest = id
	if c.started.IsZero() {
		c.started = now
	}
	c.try(cost)
	return time.Time{}, ""
}

func (c *Count) check(now time.Time, skew *Skew, cost int) (time.Time, Reason) {
	floor := c.floor()
	if c.available()-floor >= cost {
		return c.checkTrial(now, cost)
	}
	why := ReasonPrimary
	switch {
	case floor > 0 && c.limit-floor < cost && c.limit >= cost:
		why = ReasonFloorAll
	case c.available() >= cost:
		why = ReasonFloor
	}
	retryAt, known := c.end(skew)
	if !known {
		retryAt = now.Add(c.cfg.Window)
	}
	if c.inflight > 0 && min(c.left+c.inflight, c.reported)-floor >= cost {
		if soon := now.Add(settleSoon); soon.Before(retryAt) {
			retryAt = soon
		}
	}
	return retryAt, why
}

func (c *Count) available() int {
	if c.reported == unreported {
		return c.left
	}
	return min(c.left, c.reported-c.inflight-c.lost.total())
}

// Keep replaces the floor; 0 goes back to the configured one.
func (c *Count) Keep(floor int) { c.kept = floor }

// floor is what the owner keeps: his own word first. The configured one shrinks with a limit below the configured
// one, so that a small ration is not kept back altogether. While a limit is merely assumed, some calls are left that
// it would keep altogether: one of them tells the limit.
func (c *Count) floor() int {
	if c.kept > 0 && c.kept >= c.limit && c.assumed {
		return c.limit - min(assumedRoom, (c.limit+1)/2)
	}
	if c.kept > 0 {
		return c.kept
	}
	if c.limit >= c.cfg.Limit || c.cfg.Limit <= 0 {
		return c.cfg.Floor
	}
	return c.cfg.Floor * c.limit / c.cfg.Limit
}

// end is the local instant at which the window has certainly ended. It is
// unknown while no call of the window has ended.
//
// A window without a header ends one window length after the last call that
// may have been counted: that call may have been the one to start it.
func (c *Count) end(skew *Skew) (time.Time, bool) {
	switch {
	case !c.reset.IsZero():
		end := skew.Latest(c.reset)
		if c.hold.After(end) {
			end = c.hold
		}
		return end, true
	case !c.hold.IsZero():
		return c.hold, true
	case !c.answered.IsZero():
		return c.answered.Add(c.cfg.Window + resetStep), true
	}
	return time.Time{}, false
}

// earliestEnd is the local instant before which the upstream cannot have begun
// a later window. It matters only to a window whose end was reported: any
// other is kept until every call it holds belongs to the past.
func (c *Count) earliestEnd(skew *Skew) (time.Time, bool) {
	switch {
	case !c.reset.IsZero():
		return skew.Earliest(c.reset), true
	case !c.hold.IsZero():
		return c.hold.Add(-restoredSlack), true
	}
	return time.Time{}, false
}

// Advance begins a new window if the old one has ended by now.
func (c *Count) Advance(now time.Time, skew *Skew) {
	c.confine(now, skew)
	end, known := c.end(skew)
	if !known || now.Before(end) {
		return
	}
	c.turn(now)
}

// turn begins the window after this one, on the word of the clock.
func (c *Count) turn(now time.Time) {
	late := c.late
	c.doubt()
	c.open(c.limit - c.inflight - late)
	if c.inflight+late > 0 {
		c.started = now
	}
	if late > 0 {
		c.answered = now
	}
}

// open begins a window with this much left. Calls in flight are carried into
// it: they may be counted there.
func (c *Count) open(left int) {
	if !c.reset.IsZero() {
		c.previous = c.reset
	}
	c.left, c.reported, c.opened = left, unreported, unreported
	c.reset, c.anchor, c.hold = time.Time{}, time.Time{}, time.Time{}
	c.started, c.answered = time.Time{}, time.Time{}
	c.late = 0
	c.carried = c.newest
}

// Snapshot is the durable form, with everything in flight counted as spent.
func (c *Count) Snapshot(skew *Skew) domain.QuotaWindow {
	w := domain.QuotaWindow{Limit: c.limit, Remaining: max(c.available(), 0), Started: c.started}
	if !c.reset.IsZero() || !c.hold.IsZero() {
		w.Reset, _ = c.end(skew)
	}
	return w
}

// View is the form for display.
func (c *Count) View(skew *Skew) Window {
	usable := max(c.available()-c.floor(), 0)
	if c.trial {
		usable = min(usable, max(c.rest-c.floor(), 1))
	}
	w := Window{Limit: c.limit, Available: usable, InFlight: c.inflight, Floor: c.floor()}
	w.Reset, _ = c.end(skew)
	return w
}

// Abandoned is the cost of calls that a process ending now would leave
// without knowing in which window they are counted.
func (c *Count) Abandoned() int { return c.inflight + c.late }
