package keeper

import (
	"math"
	"time"
)

const (
	// resetJitter is how far two reports of one window's reset may lie apart: an upstream
	// that computes it as "now plus time to live" is off by one when the second turns over
	// in between.
	resetJitter = second
	// resetStep is how coarse resets are: a window ends on a whole second.
	resetStep = second
	// storedSlack is how much too late the stored end of a window may be: a second for
	// the coarse Date, and the time the fastest answer took.
	storedSlack = 30 * second
	// assumedRoom is how many calls a floor of the owner's own leaves at least of a limit
	// that is not known.
	assumedRoom = 10
	// untold is what is left as far as no answer told.
	untold = math.MaxInt64
	// resetSlack is by how much more than two window lengths from now a window may claim
	// to end. What claims more is misdated: see plausible and confine.
	resetSlack = 60 * second
)

// dated is the arithmetic of a window that the upstream dates: it begins with the first
// call that is counted, and answers tell what is left and at which instant it ends.
//
// It keeps two lower bounds of what the upstream will still serve, and trusts the
// smaller:
//
//   - left, the ledger: the limit less everything granted in this window. It is exact
//     while nobody else uses the token, whatever is lost or reordered.
//   - reported − inflight − lost: the smallest remainder that was told, less every call
//     that may have been counted after that was written. It holds when others use the
//     token too.
//
// A call is charged to the ledger when granted; settling only corrects it.
//
// Its time is the clock's, in microseconds since 1970: resets are told by a clock, and a
// laptop that slept wakes up to one. A clock may be set. A window that only the clock has
// opened is therefore on trial: it grants what the window before had left, or one call,
// until an answer tells which window it is.
type dated struct {
	limit int64
	// assumed is true until an answer tells the limit.
	assumed bool

	left     int64
	reported int64
	// opened is the remainder in the answer that opened the window; a carried call that
	// reports more was counted before it.
	opened   int64
	inflight int64
	lost     losses
	// late is the cost of calls without an answer that may already have been counted in
	// the next window.
	late int64

	// newest is the newest permit granted, carried the newest that was granted before
	// this window began.
	newest, carried uint64

	// reset is the window's end on the upstream's clock and anchor the first report of
	// it; both zero while unknown.
	reset, anchor int64
	// previous is the reset of the window before.
	previous int64
	// hold, if set, is the end on our clock of a window whose reset is known in no other
	// way.
	hold int64
	// started is the first grant of the window, answered the last time a call ended that
	// may have been counted without the upstream saying so.
	started, answered int64

	// trial is set while the clock alone says that this window has begun. rest is what
	// the window before had left, less what was granted since; tried is how many calls
	// granted since are out.
	trial bool
	rest  int64
	tried int64
	// turns is how many windows have begun.
	turns uint64
}

// newDated returns the count of somebody nothing is known about: it counts against the
// declared limit from the first call on.
func newDated(t *Terms) *dated {
	return &dated{limit: t.Limit, assumed: true, left: t.Limit, reported: untold, opened: untold}
}

// restoreDated continues a stored window whose process is gone. If it has ended, or its
// end was never known, one call goes first: the clock may have been set meanwhile. What
// was under way when the process died may have been counted in the next window if this
// one has ended, or may have.
func restoreDated(t *Terms, s *Stored, wall time.Time) *dated {
	d := newDated(t)
	if s.Limit > 0 {
		d.limit, d.assumed = s.Limit, false
	}
	now, end := wall.UnixMicro(), int64(0)
	if !s.End.IsZero() {
		end = s.End.UnixMicro()
	}
	remaining, late := d.limit-s.Spent, min(s.Late, s.Spent)
	if end > d.furthest(t, now) {
		end = now + t.Period
	}
	d.trial = true
	switch {
	case end == 0 && !wall.Before(s.Until):
		d.left = d.limit
	case end == 0:
		d.left = remaining
		d.started, d.answered = now, now
		d.assumed = true
		// A call on trial for each loss would be one too many.
		d.trial = remaining > 0
	case now < end:
		d.left = remaining
		d.hold = end
		d.started = now
		d.trial = false
		if now >= d.hold-storedSlack {
			d.late = late
		}
	case now < end+t.Period+2*resetStep:
		d.left = d.limit - late
		d.started, d.answered = now, now
		d.rest = max(remaining, 0)
	default:
		d.left, d.rest = d.limit, max(remaining, 0)
	}
	return d
}

// check says until when a call of this price has to wait and why, or "".
func (d *dated) check(t *Terms, k *Skew, now, price int64, low bool) (until int64, why Reason) {
	floor := d.floor(t, low)
	if d.available()-floor >= price {
		return d.checkTrial(now, price, floor)
	}
	why = ReasonSpent
	switch {
	case floor > 0 && d.limit-floor < price && d.limit >= price:
		why = ReasonKeptAll
	case d.available() >= price:
		why = ReasonKept
	}
	until = d.ends(t, k, now)
	if d.inflight > 0 && min(d.left+d.inflight, d.reported)-floor >= price {
		until = min(until, now+Soon)
	}
	return until, why
}

// ends is when all of it comes back at the latest, as far as that is known now.
func (d *dated) ends(t *Terms, k *Skew, now int64) int64 {
	if end, known := d.end(t, k); known {
		return end
	}
	return now + t.Period
}

// take grants a call that was checked.
func (d *dated) take(now int64, id uint64, price int64) {
	d.left -= price
	d.inflight += price
	d.newest = id
	if d.started == 0 {
		d.started = now
	}
	d.try(price)
}

func (d *dated) available() int64 {
	if d.reported == untold {
		return d.left
	}
	return min(d.left, d.reported-d.inflight-d.lost.total())
}

// used is what has been taken, as it is written down. The ledger tells, unless an answer
// told of less than that leaves: then others take too, and what is in flight or was lost
// may not be counted yet.
func (d *dated) used() int64 {
	left := d.left
	if d.reported < left {
		left = d.available()
	}
	return max(d.limit-left, 0)
}

// floor is what may not be taken. The word of the owner stands as it is; what is declared
// shrinks with a limit below the declared one, so that a small ration is not kept back
// altogether. While a limit is merely assumed, some calls are left that the owner would
// keep altogether: one of them tells the limit.
func (d *dated) floor(t *Terms, low bool) int64 {
	keep, reserve := t.Keep, t.Reserve
	if d.limit < t.Limit && t.Limit > 0 {
		keep, reserve = keep*d.limit/t.Limit, reserve*d.limit/t.Limit
	}
	if t.Own > 0 {
		keep = t.Own
		if keep >= d.limit && d.assumed {
			keep = d.limit - min(assumedRoom, (d.limit+1)/2)
		}
	}
	unused := d.limit - share(d.limit, t.Use)
	floor := unused + keep
	if low {
		floor = max(floor+reserve, d.limit-share(d.limit, t.Low))
	}
	return floor
}

// share is so many percent of an amount, which need not leave room to be multiplied.
func share(n, percent int64) int64 { return n/100*percent + n%100*percent/100 }

// end is the instant of our clock at which the window has certainly ended. It is unknown
// while no call of the window has ended.
//
// A window that nothing was told of ends one window length after the last call that may
// have been counted: that call may have been the one to start it.
func (d *dated) end(t *Terms, k *Skew) (int64, bool) {
	switch {
	case d.reset != 0:
		return max(k.Latest(d.reset), d.hold), true
	case d.hold != 0:
		return d.hold, true
	case d.answered != 0:
		return d.answered + t.Period + resetStep, true
	}
	return 0, false
}

// earliestEnd is the instant of our clock before which the upstream cannot have begun a
// later window. It matters only to a window whose end was reported: any other is kept
// until every call it holds belongs to the past.
func (d *dated) earliestEnd(k *Skew) (int64, bool) {
	switch {
	case d.reset != 0:
		return k.Earliest(d.reset), true
	case d.hold != 0:
		return d.hold - storedSlack, true
	}
	return 0, false
}

// advance begins a new window if the old one has ended by now.
func (d *dated) advance(t *Terms, k *Skew, now int64) {
	d.confine(t, k, now)
	end, known := d.end(t, k)
	if !known || now < end {
		return
	}
	d.turn(now)
}

// turn begins the window after this one, on the word of the clock.
func (d *dated) turn(now int64) {
	late := d.late
	d.doubt()
	d.open(d.limit - d.inflight - late)
	if d.inflight+late > 0 {
		d.started = now
	}
	if late > 0 {
		d.answered = now
	}
}

// open begins a window with this much left. Calls in flight are carried into it: they may
// be counted there.
func (d *dated) open(left int64) {
	if d.reset != 0 {
		d.previous = d.reset
	}
	d.left, d.reported, d.opened = left, untold, untold
	d.reset, d.anchor, d.hold = 0, 0, 0
	d.started, d.answered = 0, 0
	d.late = 0
	d.carried = d.newest
	d.turns++
}

// ending is when the window ends, 0 if no answer and nothing that was stored told.
func (d *dated) ending(t *Terms, k *Skew) int64 {
	if d.reset == 0 && d.hold == 0 {
		return 0
	}
	end, _ := d.end(t, k)
	return end
}

// abandoned is the cost of calls that a process ending now would leave without knowing in
// which window they are counted.
func (d *dated) abandoned() int64 { return d.inflight + d.late }

// untouched says that nothing was ever taken of it, as far as is known.
func (d *dated) untouched() bool {
	return d.inflight == 0 && d.started == 0 && d.answered == 0 && d.reset == 0 && d.hold == 0 && !d.trial && d.assumed
}

// over says that nothing of it matters any more but what was told of the limit.
func (d *dated) over() bool {
	return d.inflight == 0 && d.started == 0 && d.answered == 0 && d.reset == 0 && d.hold == 0
}
