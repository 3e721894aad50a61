package quotatest

import (
	"time"

	"sluice/internal/quota"
)

func restartKeepsCount(s *suite) {
	s.startWith(quota.Config{Buckets: both(s.limits(10)), Concurrency: 2})
	u := s.upstream(10)
	s.spend(u, ask(alice, core), 3)
	p := s.grant(ask(alice, core))
	u.Count(s.Now(), p.Ask)
	s.grant(ask(alice, core)) // never sent; nobody can know
	s.Crash()
	s.spend(u, ask(alice, core), 5)
	s.wantResetWait(s.refused(ask(alice, core), quota.ReasonPrimary), u.Reset(s.Now()))
	s.Crash()
	retryAt := s.refused(ask(alice, core), quota.ReasonPrimary)
	s.wantResetWait(retryAt, u.Reset(s.Now()))
	s.until(retryAt)
	s.spend(u, ask(alice, core), 1)
	if u.TooMany != 0 {
		s.Fatalf("%d calls too many", u.TooMany)
	}
}

func restartThenLater(s *suite) {
	s.start(s.limits(10))
	reset := s.wholeSeconds(s.window)
	s.answer(3, reset)
	s.Crash()
	s.answer(8, reset.Add(s.window+5*time.Second))
	s.wantAvailable(ask(alice, core), 8)
}

func restartKeepsPark(s *suite) {
	s.start(s.limits(10))
	p := s.grant(ask(alice, core))
	s.settle(p, quota.Response{RetryAfter: s.window / 2})
	s.Crash()
	retryAt := s.refused(ask(alice, graphql), quota.ReasonRetryAfter)
	s.until(retryAt)
	s.spend(s.upstream(10), ask(alice, graphql), 1)
	s.grant(ask(alice, core))
}

func restartAfterEnd(s *suite) {
	s.start(s.limits(10))
	u := s.upstream(10)
	s.spend(u, ask(alice, core), 10)
	s.Advance(2*s.window + 5*time.Second)
	s.Crash()
	s.spend(u, ask(alice, core), 1)
	s.wantAvailable(ask(alice, core), 9)
}

func restartKeepsPoints(s *suite) {
	s.startPoints(3, false)
	u := s.upstream(1000)
	s.spend(u, ask(alice, core), 3)
	s.Crash()
	retryAt := s.refused(ask(alice, core), quota.ReasonPoints)
	if wait := retryAt.Sub(s.Now()); wait > s.period {
		s.Fatalf("waits %v, more than a period", wait)
	}
	s.until(retryAt)
	s.spend(u, ask(alice, core), 3)
}
