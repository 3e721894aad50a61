package keeper

// standing says how the window that an answer tells of relates to the counted one.
type standing uint8

const (
	sameWindow standing = iota
	earlierWindow
	laterWindow
)

// word is what an answer told of a dated window.
type word struct {
	id uint64
	// known is false when nothing was told of what is left and until when, or when no
	// answer came; the call is then assumed to have been counted.
	known              bool
	limit, left, reset int64
	// cost is what the call took.
	cost              int64
	exhausted, served bool
}

// wordOf reads an answer to a call of this price.
func wordOf(id uint64, price int64, a *Answer) word {
	w := word{
		id: id, known: a.HasLeft, limit: min(int64(a.Limit), most), left: min(int64(a.Left), most), cost: price,
		exhausted: a.Exhausted, served: a.Served,
	}
	if !a.Reset.IsZero() {
		w.reset = a.Reset.UnixMicro()
	}
	if a.Cost > 0 {
		w.cost = min(int64(a.Cost), most)
	}
	return w
}

// settle ends a call that was, or may have been, counted by the upstream. The count was
// advanced.
func (d *dated) settle(t *Terms, k *Skew, now, price int64, w word) {
	w.reset = d.plausible(t, k, now, w.reset)
	d.inflight = max(d.inflight-price, 0)
	d.returned(&w)
	if !w.known || w.reset == 0 {
		d.lose(t, k, now, price, &w)
		return
	}
	switch d.place(t, k, &w) {
	case earlierWindow:
		if w.id <= d.carried {
			d.left += price
		}
		return
	case laterWindow:
		d.begin(&w)
	case sameWindow:
		d.left += price - w.cost
		if w.id <= d.carried && w.left > d.opened {
			// Counted before the answer that opened the window, which therefore already
			// holds it.
			d.left += w.cost
		}
		d.learnSame(t, k, &w)
	}
	if w.exhausted {
		d.exhaust(t, k, now)
	}
}

// refund ends a call that cost nothing, and learns from its answer.
func (d *dated) refund(t *Terms, k *Skew, now, price int64, w word) {
	d.inflight = max(d.inflight-price, 0)
	d.left += price
	if d.trial && w.id > d.carried {
		d.rest += price
	}
	d.returned(&w)
	d.learn(t, k, now, w)
}

// charge counts what a call took that was granted on another count.
func (d *dated) charge(t *Terms, k *Skew, now int64, w word) {
	d.left -= w.cost
	d.inflight += w.cost
	if d.started == 0 {
		d.started = now
	}
	d.settle(t, k, now, w.cost, w)
}

// learn takes in what was told to a call that is not counted here.
func (d *dated) learn(t *Terms, k *Skew, now int64, w word) {
	w.reset = d.plausible(t, k, now, w.reset)
	switch {
	case w.known && w.limit > 0 && w.left >= w.limit:
		// Nothing was counted yet, so no window has begun: the reset is that of a window
		// that would begin now, and moves on.
		d.adopt(w.limit)
		if w.id > d.carried {
			d.believe()
		}
	case w.known && w.reset != 0:
		switch d.place(t, k, &w) {
		case earlierWindow:
			return
		case laterWindow:
			d.begin(&w)
		case sameWindow:
			d.learnSame(t, k, &w)
		}
	}
	if w.exhausted {
		d.exhaust(t, k, now)
	}
}

// lose ends a call without an answer. It may have been counted, at any moment until now.
// What was told of the limit is believed all the same.
func (d *dated) lose(t *Terms, k *Skew, now, price int64, w *word) {
	if w.cost > price {
		d.left -= w.cost - price
		price = w.cost
	}
	if earliest, known := d.earliestEnd(k); known && now >= earliest {
		d.late += price
	}
	d.answered = now
	d.lost.add(price, d.newest)
	if w.exhausted {
		d.exhaust(t, k, now)
	}
}

func (d *dated) place(t *Terms, k *Skew, w *word) standing {
	switch {
	case d.anchor != 0:
		return compare(w.reset, d.anchor, d.jitter(t))
	case d.hold != 0:
		// Of a window of which only our end is known it says later only when that is
		// certain: taken for the same window, a later one merely has less left.
		if k.Earliest(w.reset) > d.hold {
			return laterWindow
		}
		return sameWindow
	case w.id <= d.carried && w.reset <= d.previous:
		return earlierWindow
	}
	return sameWindow
}

// jitter is how far two reports of one window's reset may lie apart.
func (d *dated) jitter(t *Terms) int64 { return min(resetJitter, t.Period/2) }

func compare(reset, anchor, jitter int64) standing {
	switch ahead := reset - anchor; {
	case ahead > jitter:
		return laterWindow
	case ahead < -jitter:
		return earlierWindow
	}
	return sameWindow
}

// learnSame takes in what was told of the current window.
func (d *dated) learnSame(t *Terms, k *Skew, w *word) {
	d.lost.confirm(w.id)
	d.reported = min(d.reported, max(w.left, 0))
	if d.anchor == 0 {
		d.anchor = w.reset
		if d.answered >= k.Earliest(w.reset) {
			d.late = max(d.late, d.lost.total())
		}
	}
	d.reset = max(d.reset, w.reset)
	d.adopt(w.limit)
	if w.id > d.carried || d.previous != 0 && w.reset-d.previous > d.jitter(t) {
		d.believe()
	}
}

// adopt takes in the limit that was told. Only a limit that was merely assumed is
// corrected within its window; a change counts from the next one.
func (d *dated) adopt(limit int64) {
	if limit <= 0 {
		return
	}
	if d.assumed {
		d.left += limit - d.limit
		d.assumed = false
	}
	d.limit = limit
}

// begin opens the later window that an answer told of. Every other call in flight, and
// every loss not known to be counted, may be counted there after it.
func (d *dated) begin(w *word) {
	d.lost.confirm(w.id)
	d.adopt(w.limit)
	remaining := max(w.left, 0)
	d.open(remaining - d.inflight - d.lost.total())
	d.reported, d.opened = remaining, remaining
	d.reset, d.anchor = w.reset, w.reset
	d.believe()
}

// exhaust closes the window until it ends.
func (d *dated) exhaust(t *Terms, k *Skew, now int64) {
	d.left, d.reported = min(d.left, 0), 0
	d.believe()
	if d.answered == 0 {
		d.answered = now
	}
	if end, known := d.end(t, k); !known || end <= now {
		// The reset is past on our clock and yet all is used up: the clocks disagree and
		// no Date told by how much.
		d.hold = now + t.Period
	}
}

// A clock can be set forward, and a window would open that the upstream has not begun;
// set back, and a window would not end for as long. So nothing that the clock alone says
// is worth more than one call: its answer decides.

// doubt puts the next window on trial: it grants what this one has left, or one call.
func (d *dated) doubt() {
	d.tried = 0
	if d.trial {
		return // what is left of rest stays
	}
	d.trial, d.rest = true, max(d.available(), 0)
}

// checkTrial refuses a call for which the answer of one that went first must be waited
// for.
func (d *dated) checkTrial(now, price, floor int64) (int64, Reason) {
	if !d.trial || d.tried == 0 || d.rest-floor >= price {
		return 0, ""
	}
	return now + Soon, ReasonTrial
}

// try notes a call granted in a window on trial.
func (d *dated) try(price int64) {
	if d.trial {
		d.tried++
		d.rest -= price
	}
}

// returned notes that a call has ended. If the upstream served it without a word about
// its ration, no other answer will tell more.
func (d *dated) returned(w *word) {
	if w.id <= d.carried {
		return
	}
	d.tried = max(d.tried-1, 0)
	if w.served && !w.known {
		d.believe()
	}
}

// believe ends the trial: an answer told which window this is.
func (d *dated) believe() { d.trial, d.rest, d.tried = false, 0, 0 }

// furthest is the latest instant at which a window can end that has begun.
func (d *dated) furthest(t *Terms, now int64) int64 { return now + 2*t.Period + resetSlack }

// plausible is a reset that was told, or 0 if no window of this length can end then: such
// a reset is as good as none.
func (d *dated) plausible(t *Terms, k *Skew, now, reset int64) int64 {
	if reset == 0 || k.Latest(reset) > d.furthest(t, now) {
		return 0
	}
	return reset
}

// confine ends a window one length from now that would last longer than any does: the
// clock was set back since its end became known.
func (d *dated) confine(t *Terms, k *Skew, now int64) {
	if end, known := d.end(t, k); known && end > d.furthest(t, now) {
		d.reset, d.anchor = 0, 0
		d.hold = now + t.Period
	}
}

// mistrust forgets when the window ends: one call goes first, and its answer tells what is
// left.
func (d *dated) mistrust(now int64) {
	if d.started == 0 && d.reset == 0 && d.hold == 0 {
		return
	}
	d.turn(now)
}
