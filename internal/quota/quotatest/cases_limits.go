package quotatest

import (
	"context"
	"errors"
	"sync"
	"time"

	"sluice/internal/domain"
	"sluice/internal/quota"
)

func limitIsExact(s *suite) {
	s.start(s.limits(10))
	u := s.upstream(10)
	s.spend(u, ask(alice, core), 10)
	retryAt := s.refused(ask(alice, core), quota.ReasonPrimary)
	s.wantResetWait(retryAt, u.Reset(s.Now()))
	s.until(retryAt)
	s.spend(u, ask(alice, core), 10)
	if u.TooMany != 0 {
		s.Fatalf("the upstream refused %d calls", u.TooMany)
	}
}

func floorIsKept(s *suite) {
	l := s.limits(10)
	l.Floor = 3
	s.start(l)
	u := s.upstream(10)
	s.spend(u, ask(alice, core), 7)
	s.wantResetWait(s.refused(ask(alice, core), quota.ReasonFloor), u.Reset(s.Now()))
}

func floorOfTheOwner(s *suite) {
	l := s.limits(10)
	l.Floor = 3
	s.start(l)
	u := s.upstream(10)
	own := ask(alice, core)
	own.Floor = 6
	s.spend(u, own, 4)
	s.wantResetWait(s.refused(own, quota.ReasonFloor), u.Reset(s.Now()))
	s.spend(u, ask(alice, core), 3)
	s.wantResetWait(s.refused(ask(alice, core), quota.ReasonFloor), u.Reset(s.Now()))
}

func floorShrinks(s *suite) {
	l := s.limits(5000)
	l.Floor = 100
	s.start(l)
	u := s.upstream(60)
	s.spend(u, ask(alice, core), 1)
	s.wantAvailable(ask(alice, core), 60-1-60*100/5000)
}

func concurrencyIsBounded(s *suite) {
	s.startWith(quota.Config{Buckets: both(s.limits(100)), Concurrency: 4})
	var first quota.Permit
	for i := range 4 {
		p := s.grant(ask(alice, []string{core, graphql}[i%2]))
		if i == 0 {
			first = p
		}
	}
	s.refused(ask(alice, core), quota.ReasonConcurrency)
	s.refused(ask(alice, graphql), quota.ReasonConcurrency)
	s.grant(ask(bob, core))
	s.settle(first, quota.Response{})
	s.grant(ask(alice, graphql))
	s.refused(ask(alice, graphql), quota.ReasonConcurrency)
}

func (s *suite) startPoints(perPeriod int, shared bool) {
	l := s.limits(1000)
	l.PointsPerMinute, l.PointsShared = perPeriod, shared
	s.start(l)
}

func pointsFallOut(s *suite) {
	s.startPoints(10, false)
	u := s.upstream(1000)
	u.PointsPerPeriod, u.Period = 10, s.period
	s.spend(u, ask(alice, core), 4)
	fourAt := s.Now()
	s.Advance(s.period / 2)
	s.spend(u, ask(alice, core), 6)

	retryAt := s.refused(ask(alice, core), quota.ReasonPoints)
	if s.factory.Features.FakeClock && !retryAt.Equal(fourAt.Add(s.period)) {
		s.Fatalf("RetryAt %v, want %v, when the first four fall out", retryAt, fourAt.Add(s.period))
	}
	s.until(retryAt)
	s.spend(u, ask(alice, core), 4)
	s.refused(ask(alice, core), quota.ReasonPoints)
	if u.TooDense != 0 {
		s.Fatalf("%d calls were too dense", u.TooDense)
	}
}

func pointsPerEndpoint(s *suite) {
	s.startPoints(5, false)
	a := ask(alice, core)
	a.Points = 5
	s.grant(a)
	s.refused(ask(alice, core), quota.ReasonPoints)
	a.Endpoint = "detail"
	s.grant(a)
	s.grant(ask(alice, graphql))
	s.grant(ask(bob, core))
}

func pointsShared(s *suite) {
	s.startPoints(5, true)
	a := ask(alice, core)
	a.Points = 5
	s.grant(a)
	a.Endpoint, a.Points = "detail", 1
	s.refused(a, quota.ReasonPoints)
	s.grant(ask(alice, graphql))
}

// The upstream may count a call as late as its answer.
func pointsOutlastSlowAnswers(s *suite) {
	s.startPoints(2, false)
	slow := s.grant(ask(alice, core))
	s.grant(ask(alice, core))
	s.Advance(s.period / 2)
	u := s.upstream(1000)
	landed := s.Now()
	s.settle(slow, u.Count(landed, slow.Ask))
	retryAt := s.refused(ask(alice, core), quota.ReasonPoints)
	if retryAt.Before(landed.Add(s.period)) {
		s.Fatalf("RetryAt %v is before %v", retryAt, landed.Add(s.period))
	}
	s.Advance(s.period - s.period/4)
	s.refused(ask(alice, core), quota.ReasonPoints)
	s.until(retryAt)
	s.grant(ask(alice, core))
}

func retryAfterParks(s *suite) {
	s.start(s.limits(10))
	p := s.grant(ask(alice, core))
	pause := s.window / 2
	r := s.upstream(10).Count(s.Now(), p.Ask)
	r.RetryAfter = pause
	s.settle(p, r)
	parked := s.Now().Add(pause)
	for _, bucket := range []string{core, graphql} {
		retryAt := s.refused(ask(alice, bucket), quota.ReasonRetryAfter)
		if d := parked.Sub(retryAt); d < 0 || d > time.Second || s.factory.Features.FakeClock && d != 0 {
			s.Fatalf("RetryAt %v, want %v", retryAt, parked)
		}
	}
	s.grant(ask(bob, core))
	s.until(parked.Add(time.Millisecond))
	s.spend(s.upstream(10), ask(alice, graphql), 1)
	s.grant(ask(alice, core))
	s.grant(ask(alice, graphql))
}

func coldStart(s *suite) {
	s.start(s.limits(60))
	var wg sync.WaitGroup
	results := make(chan quota.Decision, 100)
	for range 100 {
		wg.Go(func() {
			d, err := s.Keeper().Reserve(s.Context(), ask(alice, core))
			if err != nil {
				s.Errorf("Reserve: %v", err)
			}
			results <- d
		})
	}
	wg.Wait()
	close(results)
	granted := 0
	for d := range results {
		if d.Granted {
			granted++
		}
	}
	if granted != 60 {
		s.Fatalf("%d of 100 callers were granted, want 60", granted)
	}
}

func ownersIsolated(s *suite) {
	s.start(s.limits(3))
	s.spend(s.upstream(3), ask(alice, core), 3)
	s.refused(ask(alice, core), quota.ReasonPrimary)
	s.wantAvailable(ask(alice, graphql), 3)
	s.wantAvailable(ask(bob, core), 3)
}

func canceledContext(s *suite) {
	s.start(s.limits(3))
	p := s.grant(ask(alice, core))
	if _, err := s.Keeper().Reserve(s.canceled(), ask(alice, core)); !errors.Is(err, context.Canceled) {
		s.Fatalf("Reserve with a canceled context: %v, want context.Canceled", err)
	}
	// The call was made; stopping its caller does not unmake it.
	if err := s.Keeper().Settle(s.canceled(), p, quota.Response{}); err != nil {
		s.Fatalf("Settle with a canceled context: %v", err)
	}
	s.wantAvailable(ask(alice, core), 2)
}

func unknownBucket(s *suite) {
	s.start(s.limits(3))
	_, err := s.Keeper().Reserve(s.Context(), ask(alice, "nonsense"))
	if domain.CodeOf(err) != domain.CodeInvalid {
		s.Fatalf("Reserve in an unknown bucket: %v, want code invalid", err)
	}
}

func windowsListed(s *suite) {
	l := s.limits(10)
	l.Floor = 2
	s.start(l)
	u := s.upstream(10)
	s.spend(u, ask(alice, core), 3)
	s.grant(ask(alice, core))
	s.grant(ask(bob, graphql))
	got, err := s.Keeper().Windows(s.Context(), alice)
	if err != nil || len(got) != 1 {
		s.Fatalf("Windows(alice) = %+v, %v, want one", got, err)
	}
	w := got[0]
	if w.Owner != alice || w.Bucket != core || w.Limit != 10 || w.Available != 4 || w.InFlight != 1 {
		s.Fatalf("Windows(alice) = %+v", w)
	}
	s.wantResetWait(w.Reset, u.Reset(s.Now()))
	all, err := s.Keeper().Windows(s.Context(), "")
	if err != nil || len(all) != 2 {
		s.Fatalf("Windows of all = %+v, %v, want two", all, err)
	}
}

// concurrentCallers is for the race detector as much as for the count.
func concurrentCallers(s *suite) {
	const limit, callers = 500, 16
	s.startWith(quota.Config{Buckets: both(s.limits(limit)), Concurrency: callers})
	u := s.upstream(limit)
	var mu sync.Mutex
	var wg sync.WaitGroup
	for i := range callers {
		wg.Go(func() {
			for n := 0; ; n++ {
				d, err := s.Keeper().Reserve(s.Context(), ask(alice, core))
				if err != nil {
					s.Errorf("Reserve: %v", err)
					return
				}
				if !d.Granted {
					return
				}
				if n%20 == i {
					err = s.Keeper().Refund(s.Context(), d.Permit, quota.Response{})
				} else {
					mu.Lock()
					r := u.Count(s.Now(), d.Permit.Ask)
					mu.Unlock()
					err = s.Keeper().Settle(s.Context(), d.Permit, r)
				}
				if err != nil {
					s.Errorf("give back: %v", err)
				}
			}
		})
	}
	wg.Wait()
	s.spend(u, ask(alice, core), s.available(ask(alice, core)))
	if u.TooMany != 0 || u.Usage[0].Used != limit {
		s.Fatalf("used %d of %d, %d too many", u.Usage[0].Used, limit, u.TooMany)
	}
}
