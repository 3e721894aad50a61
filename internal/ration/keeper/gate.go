package keeper

const (
	// longestPark is how long a gate stays closed at most, whatever the upstream says:
	// one call goes first then.
	longestPark = 7200 * second
	// firstDelay doubles up to longestDelay with every limit that does not say when
	// it ends.
	firstDelay, longestDelay = 60 * second, 960 * second
)

// Gate holds back those that the upstream told to stay away. When the pause is over
// one call goes first, and the others follow when it was answered well. Its time
// is that of counts.
type Gate struct {
	until int64
	why   Reason
	// half is set from the pause on until a call is answered well; pilot is the permit
	// of the one that is out, and since when it is.
	half  bool
	pilot uint64
	since int64
	// closed is the newest permit of when the pause began: what answers to it and to
	// earlier ones say is no news.
	closed  uint64
	strikes int
}

// Check says for how long and why no call may go, or "". life is how long a permit may be
// out.
func (g *Gate) Check(now, life int64) (wait int64, why Reason) {
	switch {
	case now < g.until:
		return g.until - now, g.why
	case g.half && g.pilot != 0 && now < g.since+life:
		return Soon, ReasonTrial
	}
	return 0, ""
}

// Shut is Check for calls that nobody settles: when the pause is over all of them go.
func (g *Gate) Shut(now int64) (wait int64, why Reason) {
	if now < g.until {
		return g.until - now, g.why
	}
	return 0, ""
}

// Granted notes a call that Check let through.
func (g *Gate) Granted(now int64, id uint64) {
	if g.half {
		g.pilot, g.since = id, now
	}
}

// Answered learns from the answer to a call; newest is the newest permit of the
// group. It says whether the gate was closed by it.
func (g *Gate) Answered(now int64, permit, newest uint64, o *Outcome) bool {
	pilot := g.pilot != 0 && permit == g.pilot
	if pilot {
		g.pilot = 0
	}
	switch wait := o.RetryAfter.Microseconds(); {
	case wait > 0:
		g.Close(now, wait, ReasonParked, newest)
	case o.Backoff && (!g.half || permit > g.closed):
		delay := firstDelay
		for range g.strikes {
			delay = min(delay*2, longestDelay)
		}
		g.Close(now, delay, ReasonBackoff, newest)
		g.strikes = min(g.strikes+1, 10)
	case pilot && o.Well:
		g.half, g.strikes = false, 0
		return false
	default:
		return false
	}
	return true
}

// Close closes the gate for some time; a longer pause stands.
func (g *Gate) Close(now, wait int64, why Reason, newest uint64) {
	if until := now + min(wait, longestPark); until > g.until {
		g.until, g.why = until, why
	}
	g.half, g.closed = true, max(newest, g.closed)
}

// Lift ends a pause: one call goes first. A gate that nobody waits for any more stays
// open.
func (g *Gate) Lift() {
	if g.half {
		*g = Gate{half: true, closed: g.closed}
	}
}

// Idle says whether nothing is known of it that matters.
func (g *Gate) Idle(now int64) bool { return !g.half && now >= g.until }

// State is until when the gate is closed and why, "" if it is open.
func (g *Gate) State(now int64) (until int64, why Reason) {
	if now < g.until {
		return g.until, g.why
	}
	return 0, ""
}
