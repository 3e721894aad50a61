package quota

import "time"

const (
	// dateStep is how coarse an HTTP Date is: it is truncated, so the
	// upstream's clock stood at Date or up to a second later.
	dateStep = time.Second
	// resetMargin is waited beyond a computed reset, for clocks that drift
	// between the last response and the reset.
	resetMargin = 20 * time.Millisecond
	// skewMemory is how long a bound is trusted while newer ones come in.
	skewMemory = 10 * time.Minute
)

// Skew bounds how far the upstream's clock is ahead of the local one, from
// the Date of its answers. An answer dated d and received at local time r
// proves that the upstream is at least d−r ahead: it said d before r. The
// largest such bound is the tightest, and translating a reset with a lower
// bound can only place it too late, never too early.
//
// The zero Skew assumes that the clocks agree.
type Skew struct {
	current, previous bound
	since             time.Time
}

type bound struct {
	known bool
	ahead time.Duration
	// slack is how far the truth may lie above ahead.
	slack time.Duration
}

// Observe learns from an answer dated date to a call that was sent after
// sent and whose answer was received at received, both on the local clock.
func (s *Skew) Observe(date, sent, received time.Time) {
	if date.IsZero() {
		return
	}
	seen := bound{known: true, ahead: date.Sub(received), slack: dateStep + received.Sub(sent)}
	if best := s.best(); best.known && best.ahead >= seen.ahead+seen.slack {
		// Both cannot be true: the local clock was set forward since.
		*s = Skew{}
	}
	if !s.current.known || received.Sub(s.since) > skewMemory || received.Before(s.since) {
		s.previous, s.current, s.since = s.current, seen, received
		return
	}
	if seen.ahead > s.current.ahead {
		s.current = seen
	}
}

func (s *Skew) best() bound {
	if s.previous.known && s.previous.ahead > s.current.ahead {
		return s.previous
	}
	return s.current
}

// Latest is the local instant by which the upstream's clock has certainly
// reached t.
func (s *Skew) Latest(t time.Time) time.Time {
	return t.Add(resetMargin - s.best().ahead)
}

// Earliest is the local instant before which the upstream's clock cannot have
// reached t.
func (s *Skew) Earliest(t time.Time) time.Time {
	b := s.best()
	if !b.known {
		b.slack = dateStep
	}
	return t.Add(-b.ahead - b.slack)
}
