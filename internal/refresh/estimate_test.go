package refresh_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"sluice/internal/domain"
	"sluice/internal/quota/rate"
	"sluice/internal/refresh"
)

// TestEstimateOfSeveralSources: one is quick and idle, the other is slow and has a
// backlog. What is said of either is true, or nothing is said.
func TestEstimateOfSeveralSources(t *testing.T) {
	const other = "other"
	slow := plenty
	slow.Hard, slow.Rate, slow.Burst, slow.LowRate, slow.LowBurst = 40, 20, 1, 20, 1
	synctest.Test(t, func(t *testing.T) {
		s := newStand(t, hanging(80*time.Millisecond), func(s *stand) {
			s.more, s.moreLimits = map[string]refresh.Upstream{other: hanging(300 * time.Millisecond)}, map[string]rate.Limits{other: slow}
		})
		s.start()
		s.pass(2 * time.Second)
		told := 0
		// took demands that an estimate was true, if there was one.
		took := func(when, source, key string) (said bool) {
			t.Helper()
			e := refresh.Entity{Source: source, Key: key}
			began := time.Now()
			a, err := s.Get(t.Context(), e)
			s.check(err)
			for found := false; !found && time.Since(began) < 10*time.Minute; s.pass(max(5*time.Millisecond, time.Since(began)/200)) {
				_, found, _, err = s.parts.Snapshots.Snapshot(t.Context(), e)
				s.check(err)
			}
			if truth := time.Since(began); a.EstimatedWaitMs != nil && !near(a.EstimatedWaitMs, truth) {
				t.Errorf("%s: of %s it said %s, it took %s", when, e, show(a.EstimatedWaitMs), truth)
			}
			return a.EstimatedWaitMs != nil
		}
		// What each takes is learned by itself.
		for i, key := range names(20) {
			for _, source := range []string{game, other} {
				_, err := s.Get(t.Context(), refresh.Entity{Source: source, Key: "warm-" + key})
				s.check(err)
				s.pass(2 * time.Second)
				if i > 15 && took("quiet", source, "quiet-"+key) {
					told++
				}
				s.pass(3 * time.Second)
			}
		}
		if told != 8 {
			t.Errorf("while nobody waited it was said %d times of 8 how long a refresh takes", told)
		}
		q := refresh.Request{Priority: domain.PriorityHigh, Reason: refresh.ReasonUserRequest}
		for _, k := range names(1000) {
			q.Entities = append(q.Entities, refresh.Entity{Source: other, Key: k})
		}
		_, err := s.Request(t.Context(), q)
		s.check(err)
		took("at once", other, "late")
		_, err = s.Request(t.Context(), again(q))
		s.check(err)
		for range 20 {
			s.pass(1300 * time.Millisecond)
			a, err := s.Get(t.Context(), refresh.Entity{Source: other, Key: "in between"})
			s.check(err)
			if ms := a.EstimatedWaitMs; ms != nil && a.UpdateQueued {
				t.Errorf("in the backlog it said %s", show(ms))
			}
		}
	})
}

// hanging is an upstream whose calls take a while.
func hanging(d time.Duration) *script {
	return scripted(func(ctx context.Context, _ string, _ int) refresh.Fetched {
		_ = hang(d)(ctx)
		return is(`"v"`)
	})
}

// again asks for others.
func again(q refresh.Request) refresh.Request {
	for i := range q.Entities {
		q.Entities[i].Key += "-again"
	}
	return q
}
