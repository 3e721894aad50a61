package quotatest

import (
	"time"

	"sluice/internal/quota"
)

func firstResponseCorrects(s *suite) {
	s.start(s.limits(10))
	s.spend(s.upstream(25), ask(alice, core), 1)
	s.wantAvailable(ask(alice, core), 24)
	s.spend(s.upstream(4), ask(bob, core), 1)
	s.wantAvailable(ask(bob, core), 3)
}

func limitChange(s *suite) {
	s.start(s.limits(10))
	u := s.upstream(10)
	s.spend(u, ask(alice, core), 2)
	u.Limit = 20
	s.spend(u, ask(alice, core), 1)
	s.wantAvailable(ask(alice, core), 7)
	s.spend(u, ask(alice, core), 7)
	s.until(s.refused(ask(alice, core), quota.ReasonPrimary))
	s.spend(u, ask(alice, core), 1)
	s.wantAvailable(ask(alice, core), 19)
}

func headersOutOfOrder(s *suite) {
	s.start(s.limits(10))
	u := s.upstream(10)
	var permits []quota.Permit
	var answers []quota.Response
	for range 6 {
		p := s.grant(ask(alice, core))
		permits = append(permits, p)
		answers = append(answers, u.Count(s.Now(), p.Ask))
	}
	for _, i := range []int{5, 0, 3, 1, 4, 2} {
		s.settle(permits[i], answers[i])
		if n := s.available(ask(alice, core)); n > 4 {
			s.Fatalf("%d calls available after answer %d, the upstream has 4", n, i)
		}
	}
	s.wantAvailable(ask(alice, core), 4)
}

// told is a header of the window that ends at reset.
func told(remaining int, reset, date time.Time) quota.Response {
	return quota.Response{Known: true, Limit: 10, Remaining: remaining, Reset: reset, Date: date}
}

// wholeSeconds is an instant on which a window may end.
func (s *suite) wholeSeconds(ahead time.Duration) time.Time {
	return s.Now().Add(ahead).Truncate(time.Second).Add(time.Second)
}

func (s *suite) answer(remaining int, reset time.Time) {
	s.Helper()
	s.settle(s.grant(ask(alice, core)), told(remaining, reset, s.Now().Truncate(time.Second)))
}

func headerNeverRaises(s *suite) {
	s.start(s.limits(10))
	reset := s.wholeSeconds(s.window)
	s.answer(5, reset)
	s.answer(9, reset)
	s.wantAvailable(ask(alice, core), 5)
}

func headerLowers(s *suite) {
	s.start(s.limits(10))
	reset := s.wholeSeconds(s.window)
	s.answer(9, reset)
	s.answer(2, reset)
	s.wantAvailable(ask(alice, core), 2)
	s.answer(0, reset)
	s.wantResetWait(s.refused(ask(alice, core), quota.ReasonPrimary), reset)
}

func resetJitter(s *suite) {
	s.start(s.limits(10))
	reset := s.wholeSeconds(s.window)
	s.answer(5, reset)
	s.answer(8, reset.Add(time.Second))
	s.wantAvailable(ask(alice, core), 5)
	s.answer(0, reset.Add(-time.Second))
	s.wantResetWait(s.refused(ask(alice, core), quota.ReasonPrimary), reset.Add(time.Second))
}

func laterResetOpens(s *suite) {
	s.start(s.limits(10))
	reset := s.wholeSeconds(s.window)
	s.answer(2, reset)
	other := s.grant(ask(alice, core))
	s.answer(8, reset.Add(s.window))
	s.wantAvailable(ask(alice, core), 7)
	// The other call was counted in the old window after all.
	s.settle(other, told(1, reset, s.Now().Truncate(time.Second)))
	s.wantAvailable(ask(alice, core), 8)
}

// carriedOnce: the header that opened the window already holds a call that was
// counted before it.
func carriedOnce(s *suite) {
	s.start(s.limits(10))
	reset := s.wholeSeconds(s.window)
	s.answer(5, reset)
	first := s.grant(ask(alice, core))
	s.answer(8, reset.Add(s.window))
	s.settle(first, told(9, reset.Add(s.window), s.Now().Truncate(time.Second)))
	s.wantAvailable(ask(alice, core), 8)
}

func earlierResetIgnored(s *suite) {
	s.start(s.limits(10))
	reset := s.wholeSeconds(2 * s.window)
	s.answer(7, reset)
	s.answer(0, reset.Add(-s.window))
	if n := s.available(ask(alice, core)); n < 6 || n > 7 {
		s.Fatalf("%d calls available, want the earlier window's header ignored", n)
	}
}

func lostIsCounted(s *suite) {
	s.start(s.limits(10))
	s.settle(s.grant(ask(alice, core)), quota.Response{})
	s.wantAvailable(ask(alice, core), 9)
	u := s.upstream(10)
	u.Foreign(s.Now(), 1)
	s.spend(u, ask(alice, core), 1)
	s.wantAvailable(ask(alice, core), 8)
}

func lossSurvivesOlderHeader(s *suite) {
	s.start(s.limits(10))
	u := s.upstream(10)
	u.Foreign(s.Now(), 5)
	first, lost := s.grant(ask(alice, core)), s.grant(ask(alice, core))
	answer := u.Count(s.Now(), first.Ask)
	u.Count(s.Now(), lost.Ask)
	s.settle(lost, quota.Response{})
	s.settle(first, answer)
	s.wantAvailable(ask(alice, core), 3)
	s.spend(u, ask(alice, core), 3)
	if u.TooMany != 0 {
		s.Fatal("the loss was forgotten")
	}
}

func windowWithoutHeadersEnds(s *suite) {
	s.start(s.limits(2))
	for range 2 {
		s.settle(s.grant(ask(alice, core)), quota.Response{})
	}
	answered := s.Now()
	retryAt := s.refused(ask(alice, core), quota.ReasonPrimary)
	if retryAt.Sub(answered) > s.window+2*time.Second {
		s.Fatalf("RetryAt %v after the last call", retryAt.Sub(answered))
	}
	s.Advance(s.window / 2)
	s.refused(ask(alice, core), quota.ReasonPrimary)
	s.until(retryAt)
	s.grant(ask(alice, core))
}

func refundGivesBack(s *suite) {
	s.start(s.limits(3))
	s.refund(s.grant(ask(alice, core)), quota.Response{})
	s.wantAvailable(ask(alice, core), 3)
	p := s.grant(ask(alice, core))
	s.refund(p, told(1, s.wholeSeconds(s.window), s.Now().Truncate(time.Second)))
	s.wantAvailable(ask(alice, core), 1)
}

func doubleSettle(s *suite) {
	s.start(s.limits(5))
	kept, twice := s.grant(ask(alice, core)), s.grant(ask(alice, core))
	s.refund(twice, quota.Response{})
	s.refund(twice, quota.Response{})
	s.settle(twice, quota.Response{})
	s.wantAvailable(ask(alice, core), 4)
	s.settle(kept, quota.Response{})
	s.wantAvailable(ask(alice, core), 4)
}

func costAboveAsked(s *suite) {
	s.start(s.limits(100))
	dear, other := s.grant(ask(alice, graphql)), s.grant(ask(alice, graphql))
	r := told(70, s.wholeSeconds(s.window), s.Now().Truncate(time.Second))
	r.Limit, r.Cost = 100, 30
	s.settle(dear, r)
	s.wantAvailable(ask(alice, graphql), 69)
	r.Remaining, r.Cost = 69, 1
	s.settle(other, r)
	s.wantAvailable(ask(alice, graphql), 69)
}

func costBelowAsked(s *suite) {
	s.start(s.limits(100))
	a := ask(alice, graphql)
	a.Cost = 10
	p := s.grant(a)
	r := told(99, s.wholeSeconds(s.window), s.Now().Truncate(time.Second))
	r.Limit, r.Cost = 100, 1
	s.settle(p, r)
	s.wantAvailable(ask(alice, graphql), 99)
}

func exhaustedWithRest(s *suite) {
	s.start(s.limits(10))
	reset := s.wholeSeconds(s.window)
	r := told(4, reset, s.Now().Truncate(time.Second))
	r.Exhausted = true
	s.settle(s.grant(ask(alice, core)), r)
	retryAt := s.refused(ask(alice, core), quota.ReasonPrimary)
	s.wantResetWait(retryAt, reset)
	s.until(retryAt)
	s.answer(9, s.wholeSeconds(s.window))
	s.wantAvailable(ask(alice, core), 9)
}

// skewedClock plays upstreams whose clocks are hours off: no call comes before
// their reset, and the first one soon after it.
func skewedClock(s *suite) {
	differences, windows := []time.Duration{-26 * time.Hour, time.Second / 7, -time.Second / 3, 0, 5 * time.Hour}, 3
	if !s.factory.Features.FakeClock {
		// Each of them is waited for.
		differences, windows = differences[:2], 1
	}
	for _, ahead := range differences {
		s.start(s.limits(5))
		u := s.upstream(5)
		u.Ahead = ahead
		for range windows {
			s.spend(u, ask(alice, core), 5)
			retryAt := s.refused(ask(alice, core), quota.ReasonPrimary)
			s.wantResetWait(retryAt, u.Reset(s.Now()))
			s.until(retryAt)
		}
		if u.TooMany != 0 {
			s.Fatalf("upstream %v ahead: %d calls too many", ahead, u.TooMany)
		}
	}
}
