package refresh

import (
	"context"
	"sync"
	"time"
)

// lateAllowed is how much later than granted a call may leave. What an upstream
// counts is when calls arrive: those that were granted over a while and leave
// together, because a connection had to be made first or the processors were
// busy, arrive in one second together with those that are granted next. The
// rate and the burst leave a twentieth of the limit for that.
const lateAllowed = 50 * time.Millisecond

// lateness knows until when the upstreams are left alone for calls that were
// late.
type lateness struct {
	mu    sync.Mutex
	until map[string]time.Time
}

// extend reports whether until is later than what was known.
func (l *lateness) extend(source string, until time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !until.After(l.until[source]) {
		return false
	}
	if l.until == nil {
		l.until = map[string]time.Time{}
	}
	l.until[source] = until
	return true
}

// sent notes that a call has left. If it is late, nothing is granted for as long
// as it is late: then no second gets more than if it had left at once.
func (c *consumer) sent(ctx context.Context, source string, grantedAt time.Time) {
	now := c.Now()
	late := now.Sub(grantedAt)
	if late <= lateAllowed {
		return
	}
	c.counters.Late.Add(1)
	// Many calls are late together, and say the same to the millisecond.
	until := now.Add(late).Truncate(time.Millisecond)
	if !c.late.extend(source, until) {
		return
	}
	// Whoever sends must not wait for this.
	c.work.Go(func() {
		if err := c.Rate.Pause(ctx, source, until); err != nil && ctx.Err() == nil {
			c.Slog.Warn("calls leave late, and the rate cannot be corrected", "source", source, "late", late, "error", err)
		}
	})
}
