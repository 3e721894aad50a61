package keeper

const (
	// dateStep is how coarse an HTTP Date is: it is truncated, so the upstream's clock
	// stood at Date or up to a second later.
	dateStep = second
	// resetMargin is waited beyond a computed reset, for clocks that drift between the
	// last answer and the reset.
	resetMargin = second / 50
	// skewMemory is how long a bound is trusted while newer ones come in.
	skewMemory = 600 * second
)

// Skew bounds how far the upstream's clock is ahead of ours, from the Date of its
// answers. An answer dated d and received at r of our clock proves that the upstream is
// at least d−r ahead: it said d before r. The largest such bound is the tightest, and
// translating a reset with a lower bound can only place it too late, never too early.
// Times are microseconds since 1970.
//
// The zero Skew assumes that the clocks agree.
type Skew struct {
	current, previous bound
	since             int64
}

type bound struct {
	known bool
	ahead int64
	// slack is how far the truth may lie above ahead.
	slack int64
}

// Observe learns from an answer dated date, 0 if it was not, to a call that was sent
// after sent and whose answer was received at received, both on our clock.
func (s *Skew) Observe(date, sent, received int64) {
	if date == 0 {
		return
	}
	seen := bound{known: true, ahead: date - received, slack: dateStep + received - sent}
	if best := s.best(); best.known && best.ahead >= seen.ahead+seen.slack {
		// Both cannot be true: our clock was set forward since.
		*s = Skew{}
	}
	if !s.current.known || received-s.since > skewMemory || received < s.since {
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

// Latest is the instant of our clock by which the upstream's has certainly reached t.
func (s *Skew) Latest(t int64) int64 { return t + resetMargin - s.best().ahead }

// Earliest is the instant of our clock before which the upstream's cannot have reached
// t.
func (s *Skew) Earliest(t int64) int64 {
	b := s.best()
	if !b.known {
		b.slack = dateStep
	}
	return t - b.ahead - b.slack
}
