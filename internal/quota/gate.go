package quota

import (
	"time"

	"sluice/internal/backoff"
)

const (
	// LongestPark is how long an owner is parked at most, whatever the upstream
	// says: one call goes first then, so that asking once in two hours is all that
	// a longer pause costs.
	LongestPark = 2 * time.Hour
)

// limitDelays are how long an owner stays away after a limit that does not say
// until when; they begin again when a call is answered well.
var limitDelays = backoff.Delays{First: time.Minute, Longest: 16 * time.Minute}

// Gate holds an owner back that the upstream told to stay away. When the pause
// is over it is half open: one call goes first, and the others follow when it
// was answered well. It reads no clock and takes no lock.
type Gate struct {
	until time.Time
	why   Reason
	// half is set from the pause on until a call is answered well, and pilot is
	// the permit of the one that is out, if any.
	half  bool
	pilot uint64
	// closed is the newest permit of when the pause began: what answers to it and
	// to earlier ones say of a limit is no news.
	closed uint64
	// strikes is how often in a row a limit was hit that does not say when it ends.
	strikes int
}

// Check says until when and why no call may go, or "".
func (g *Gate) Check(now time.Time) (retryAt time.Time, why Reason) {
	if until := now.Add(LongestPark); g.until.After(until) {
		// The clock was set back, or the pause was stored under a wrong one.
		g.until = until
	}
	switch {
	case now.Before(g.until):
		return g.until, g.why
	case g.half && g.pilot != 0:
		return now.Add(settleSoon), ReasonTrial
	}
	return time.Time{}, ""
}

// Granted notes a call that Check let through.
func (g *Gate) Granted(id uint64) {
	if g.half {
		g.pilot = id
	}
}

// Answered learns from the answer to a call. newest is the newest permit that
// the owner was granted.
func (g *Gate) Answered(now time.Time, permit, newest uint64, r Response) {
	pilot := g.pilot != 0 && permit == g.pilot
	if pilot {
		g.pilot = 0
	}
	switch {
	case r.RetryAfter > 0:
		g.close(now.Add(min(r.RetryAfter, LongestPark)), ReasonRetryAfter, newest)
	case r.Backoff && (!g.half || permit > g.closed):
		g.close(now.Add(limitDelays.Delay(g.strikes)), ReasonBackoff, newest)
		g.strikes++
	case pilot && r.well():
		g.half, g.strikes = false, 0
	}
}

func (g *Gate) close(until time.Time, why Reason, newest uint64) {
	if until.After(g.until) {
		g.until, g.why = until, why
	}
	g.half, g.closed = true, max(newest, g.closed)
}

// Restore goes on with a pause that was stored.
func (g *Gate) Restore(until time.Time) { g.close(until, ReasonRetryAfter, 0) }

// Lift ends a pause: one call goes first.
func (g *Gate) Lift() {
	if !g.until.IsZero() {
		*g = Gate{half: true, closed: g.closed}
	}
}

// Until is when the pause ends, zero if there was none.
func (g *Gate) Until() time.Time { return g.until }
