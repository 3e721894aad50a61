package quotatest

import (
	"time"

	"sluice/internal/quota"
)

// Between the upstream's reset and the instant at which the keeper can be sure
// of it, calls of the old window are counted in the new one. Each case makes
// one such call and has the keeper lose sight of it; the new window must still
// not be overdrawn. They stand on a clock that can be placed to the millisecond.

// straddle spends a call in one window and lands another just after its reset.
func (s *suite) straddle() (*Upstream, quota.Permit) {
	s.startWith(quota.Config{Buckets: both(s.limits(2)), Concurrency: 9})
	u := s.upstream(2)
	s.spend(u, ask(alice, core), 1)
	s.until(u.Reset(s.Now()))
	p := s.grant(ask(alice, core))
	u.Count(s.Now(), p.Ask)
	return u, p
}

// drain takes whatever is granted before it sends any of it, so that no answer
// can correct the keeper, and wants the upstream to have it all.
func (s *suite) drain(u *Upstream) {
	s.Helper()
	var held []quota.Permit
	for range 2 * u.Limit {
		if d := s.reserve(ask(alice, core)); d.Granted {
			held = append(held, d.Permit)
		}
	}
	for _, p := range held {
		u.Count(s.Now(), p.Ask)
	}
	if u.TooMany > 0 {
		s.Fatalf("%d calls too many", u.TooMany)
	}
}

// certain is how long after a reset the keeper is sure of it.
const certain = 1100 * time.Millisecond

func lostAtReset(s *suite) {
	u, p := s.straddle()
	s.settle(p, quota.Response{})
	s.Advance(certain)
	s.drain(u)
}

func crashAtReset(s *suite) {
	u, _ := s.straddle()
	s.Crash()
	s.Advance(certain)
	s.drain(u)
}

func crashAfterReset(s *suite) {
	u, _ := s.straddle()
	s.Advance(certain)
	s.Crash()
	s.drain(u)
}

// slowFirstAnswer learns the old window's end only after the call that was
// counted in the new one is lost.
func slowFirstAnswer(s *suite) {
	s.start(s.limits(2))
	u := s.upstream(2)
	unchanged := s.grant(ask(alice, core)) // tells the Date, and no window
	s.refund(unchanged, u.NotModified(s.Now(), unchanged.Ask))
	slow := s.grant(ask(alice, core))
	answer := u.Count(s.Now(), slow.Ask)
	s.until(u.Reset(s.Now()))
	p := s.grant(ask(alice, core))
	u.Count(s.Now(), p.Ask)
	s.settle(p, quota.Response{})
	s.settle(slow, answer)
	s.Advance(certain)
	s.drain(u)
}

// laterHeaderThenLoss learns of the new window from a call that was counted
// before one that is lost.
func laterHeaderThenLoss(s *suite) {
	s.start(s.limits(4))
	u := s.upstream(4)
	s.spend(u, ask(alice, core), 1)
	first, lost := s.grant(ask(alice, core)), s.grant(ask(alice, core))
	s.until(u.Reset(s.Now()))
	answer := u.Count(s.Now(), first.Ask)
	u.Count(s.Now(), lost.Ask)
	s.settle(lost, quota.Response{})
	s.settle(first, answer)
	s.drain(u)
}
