package quotatest

import (
	"time"

	"sluice/internal/domain"
	"sluice/internal/quota"
)

// parkCases are about pauses that last longer than a test may wait.
func parkCases() map[string]func(*suite) {
	return map[string]func(*suite){
		"a limit without an end backs off": backsOff,
		"one call goes first after a park": oneGoesFirst,
		"a park in years is capped":        absurdPark,
		"reset lifts a park":               resetLifts,
		"reset keeps the count":            resetKeepsCount,
	}
}

// hit settles a call with a limit that does not say until when.
func (s *suite) hit(p quota.Permit) {
	s.Helper()
	s.settle(p, quota.Response{Backoff: true})
}

func backsOff(s *suite) {
	s.start(s.limits(1000))
	var flying []quota.Permit
	for range 16 {
		flying = append(flying, s.grant(ask(alice, core)))
	}
	for _, p := range flying {
		s.hit(p) // all of them tell of one limit
	}
	for _, minutes := range []int{1, 2, 4, 8, 16, 16, 16} {
		want := time.Duration(minutes) * time.Minute
		retryAt := s.refused(ask(alice, graphql), quota.ReasonBackoff)
		if wait := retryAt.Sub(s.Now()); wait != want {
			s.Fatalf("backs off for %v, want %v", wait, want)
		}
		s.until(retryAt)
		first := s.grant(ask(alice, core))
		s.refused(ask(alice, core), quota.ReasonTrial)
		s.refused(ask(alice, graphql), quota.ReasonTrial)
		s.hit(first)
	}
	s.until(s.refused(ask(alice, core), quota.ReasonBackoff))
	u := s.upstream(1000)
	s.spend(u, ask(alice, core), 1)
	p := s.grant(ask(alice, core))
	s.grant(ask(alice, core))
	s.hit(p)
	if wait := s.refused(ask(alice, core), quota.ReasonBackoff).Sub(s.Now()); wait != time.Minute {
		s.Fatalf("backs off for %v after a success, want a minute", wait)
	}
}

func oneGoesFirst(s *suite) {
	s.start(s.limits(1000))
	late := s.grant(ask(alice, core))
	s.settle(s.grant(ask(alice, core)), quota.Response{RetryAfter: time.Minute})
	s.until(s.refused(ask(alice, core), quota.ReasonRetryAfter))
	first := s.grant(ask(alice, graphql))
	s.refused(ask(alice, core), quota.ReasonTrial)
	// What was sent before the pause tells nothing about after it.
	s.settle(late, quota.Response{Succeeded: true})
	s.refused(ask(alice, core), quota.ReasonTrial)
	// One that never left leaves its place to another, so does one without an answer.
	s.refund(first, quota.Response{})
	first = s.grant(ask(alice, graphql))
	s.refused(ask(alice, core), quota.ReasonTrial)
	s.settle(first, quota.Response{})
	first = s.grant(ask(alice, graphql))
	s.refused(ask(alice, core), quota.ReasonTrial)
	s.settle(first, quota.Response{Succeeded: true})
	s.grant(ask(alice, core))
	s.grant(ask(alice, core))
}

func absurdPark(s *suite) {
	s.start(s.limits(10))
	s.settle(s.grant(ask(alice, core)), quota.Response{RetryAfter: 63072000 * time.Second})
	retryAt := s.refused(ask(alice, core), quota.ReasonRetryAfter)
	if wait := retryAt.Sub(s.Now()); wait != quota.LongestPark {
		s.Fatalf("parked for %v, want %v", wait, quota.LongestPark)
	}
	s.Crash()
	if again := s.refused(ask(alice, core), quota.ReasonRetryAfter); again.Sub(retryAt).Abs() > time.Millisecond {
		s.Fatalf("parked until %v after a restart, want %v", again, retryAt)
	}
	windows, err := s.Keeper().Windows(s.Context(), alice)
	if err != nil || len(windows) == 0 || windows[0].Parked != quota.ReasonRetryAfter || windows[0].ParkedUntil.IsZero() {
		s.Fatalf("Windows: %+v, %v, want the park and its reason", windows, err)
	}
}

// reset resets an owner.
func (s *suite) reset(owner string) {
	s.Helper()
	if _, err := s.Keeper().Reset(s.Context(), owner); err != nil {
		s.Fatalf("Reset: %v", err)
	}
}

func resetLifts(s *suite) {
	s.startWith(quota.Config{Buckets: both(s.limits(10)), Concurrency: 1})
	u := s.upstream(10)
	s.spend(u, ask(alice, core), 1)
	s.settle(s.grant(ask(alice, core)), quota.Response{RetryAfter: time.Hour})
	s.refused(ask(alice, core), quota.ReasonRetryAfter)
	s.reset(alice)
	s.Crash()
	first := s.grant(ask(alice, core))
	s.settle(first, u.Count(s.Now(), first.Ask))
	s.grant(ask(alice, core))
}

func resetKeepsCount(s *suite) {
	s.start(s.limits(10))
	u := s.upstream(10)
	s.spend(u, ask(alice, core), 10)
	s.reset(alice)
	first := s.grant(ask(alice, core))
	s.refused(ask(alice, core), quota.ReasonTrial)
	s.settle(first, u.Count(s.Now(), first.Ask))
	s.wantClosed(u, 1)
}

func resetUnknown(s *suite) {
	s.start(s.limits(10))
	if _, err := s.Keeper().Reset(s.Context(), "nobody"); domain.CodeOf(err) != domain.CodeNotFound {
		s.Fatalf("Reset of an unknown owner: %v, want not found", err)
	}
}

// floorKeepsAll: such a floor is told apart from a ration that is spent.
func floorKeepsAll(s *suite) {
	s.start(s.limits(10))
	a := ask(alice, core)
	a.Floor = 10
	u := s.upstream(10)
	s.spend(u, a, 1) // while the limit is only assumed
	s.refused(a, quota.ReasonFloorAll)
	windows, err := s.Keeper().Windows(s.Context(), alice)
	if err != nil || len(windows) != 1 || windows[0].Parked != quota.ReasonFloorAll {
		s.Fatalf("Windows: %+v, %v, want the reason", windows, err)
	}
}
