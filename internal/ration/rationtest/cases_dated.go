package rationtest

import (
	"time"

	"sluice/internal/domain"
	"sluice/internal/ration"
	"sluice/internal/ration/keeper"
)

// datedUpstream dates its windows by a clock that is ahead of ours.
type datedUpstream struct {
	s           *suite
	limit, used int
	ahead       time.Duration
	end         time.Time
}

// answers counts a call and tells of it.
func (u *datedUpstream) answers() keeper.Outcome {
	u.s.Helper()
	now := u.s.clock.Now().Add(u.ahead)
	if !now.Before(u.end) {
		u.end, u.used = now.Add(time.Hour).Truncate(time.Second).Add(time.Second), 0
	}
	if u.used++; u.used > u.limit {
		u.s.Fatalf("%d calls of %d", u.used, u.limit)
	}
	return keeper.Outcome{Well: true, Date: now.Truncate(time.Second), Answers: []keeper.Answer{{
		Served: true, HasLeft: true, Left: u.limit - u.used, Limit: u.limit, Reset: u.end,
	}}}
}

func (u *datedUpstream) call(a keeper.Ask, n int) {
	u.s.Helper()
	for range n {
		p := u.s.grant(a)
		u.s.settle(p, u.answers())
	}
}

// reset is when the window ends by our clock.
func (u *datedUpstream) reset() time.Time { return u.end.Add(-u.ahead) }

func datedHour(calls int) *ration.Ration {
	r := make1("hour", ration.Fixed, calls, time.Hour)
	r.Dated = true
	return r
}

// datedWindow: it ends when the upstream says so by its clock, and the next one opens with
// an answer.
func datedWindow(s *suite) {
	r, u := datedHour(10), &datedUpstream{s: s, limit: 10, ahead: 90 * time.Minute}
	u.call(ask(r), 10)
	d := s.refuse(ask(r))
	if late := d.RetryAt.Sub(u.reset()); late < 0 || late > 1100*time.Millisecond || d.Reason != keeper.ReasonSpent {
		s.Errorf("refused with %+v, %v after the reset", d, late)
	}
	s.clock.Advance(d.RetryAt.Sub(s.clock.Now()))
	first := s.grant(ask(r))
	if d := s.refuse(ask(r)); d.Reason != keeper.ReasonTrial {
		s.Errorf("refused with %+v before the first answer", d)
	}
	s.settle(first, u.answers())
	u.call(ask(r), 9)
	s.refuse(ask(r))
}

// datedLoss: what was drawn outlives every loss, but for what was written down ahead.
func datedLoss(s *suite) {
	r, u := datedHour(1000), &datedUpstream{s: s, limit: 1000, ahead: -time.Hour}
	u.call(ask(r), 500)
	for _, lose := range []func(){s.Lose, func() { s.Restart(0) }, s.Lose} {
		lose()
		u.call(ask(r), 100)
	}
	for s.decide(ask(r)).Granted {
		u.used++
	}
	if u.used > 1000 || u.used < 950 {
		s.Errorf("%d calls were made of 1000", u.used)
	}
}

// datedLostWindow: a window that ended while nobody looked opens for one call.
func datedLostWindow(s *suite) {
	r, u := datedHour(10), &datedUpstream{s: s, limit: 10}
	u.call(ask(r), 10)
	s.clock.Advance(3 * time.Hour)
	s.Lose()
	first := s.grant(ask(r))
	s.refuse(ask(r))
	s.settle(first, u.answers())
	u.call(ask(r), 9)
}

// datedBulk: who does not say what was answered takes nothing.
func datedBulk(s *suite) {
	if g, err := s.first().Take(s.Context(), ask(datedHour(10)), 2); domain.CodeOf(err) != domain.CodeInvalid {
		s.Errorf("calls in bulk are %+v, %v", g, err)
	}
}

// datedFloor: an owner may keep all of it, which is told apart from a ration that is
// spent. While nothing is known of the limit one call goes.
func datedFloor(s *suite) {
	r, u := datedHour(10), &datedUpstream{s: s, limit: 10}
	own := ask(r)
	own.Draws[0].Keep = 10
	u.call(own, 1)
	if d := s.refuse(own); d.Reason != keeper.ReasonKeptAll {
		s.Errorf("refused with %+v", d)
	}
	own.Draws[0].Keep = 7
	u.call(own, 2)
	if d := s.refuse(own); d.Reason != keeper.ReasonKept {
		s.Errorf("refused with %+v", d)
	}
	if w := s.windows()["hour/alice"]; w.Kept != 7 || w.Available != 0 || w.Limit != 10 || w.Untouched {
		s.Errorf("it shows %+v", w)
	}
}

// datedLater: a ration that is dated from now on, or no more, goes on with what was taken.
func datedLater(s *suite) {
	dated, plain := datedHour(10), make1("hour", ration.Fixed, 10, time.Hour)
	s.spend(4, ask(plain))
	s.spend(3, ask(dated))
	s.spend(2, ask(plain))
	s.spend(1, ask(dated))
	s.refuse(ask(dated))
	s.refuse(ask(plain))
}
