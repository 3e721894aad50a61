package redis_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"sluice/internal/backend/redis"
	"sluice/internal/domain"
	"sluice/internal/quota"
	"sluice/internal/quota/bucketed"
	"sluice/internal/quota/quotatest"
	"sluice/internal/ration/keeper"
	"sluice/internal/ration/rationtest"
	"sluice/internal/testkit"
)

func quotaAsk() quota.Ask {
	return quota.Ask{Owner: "alice", Bucket: "core", Endpoint: "list", Cost: 1, Points: 1}
}

func (s *bucketStand) decide(a quota.Ask) quota.Decision {
	s.Helper()
	d, err := s.keeper.Reserve(s.Context(), a)
	if err != nil {
		s.Fatalf("Reserve: %v", err)
	}
	return d
}

// grant reserves n calls.
func (s *bucketStand) grant(n int) []quota.Permit {
	s.Helper()
	var permits []quota.Permit
	for range n {
		d := s.decide(quotaAsk())
		if !d.Granted {
			s.Fatalf("refused for %s until %v", d.Reason, d.RetryAt)
		}
		permits = append(permits, d.Permit)
	}
	return permits
}

func (s *bucketStand) settle(p quota.Permit, r quota.Response) {
	s.Helper()
	if err := s.keeper.Settle(s.Context(), p, r); err != nil {
		s.Fatalf("Settle: %v", err)
	}
}

// drain makes calls until one is refused, and returns how many and what the
// refusal said.
func (s *bucketStand) drain(u *quotatest.Upstream) (int, quota.Decision) {
	s.Helper()
	for n := 0; ; n++ {
		d := s.decide(quotaAsk())
		if !d.Granted {
			return n, d
		}
		s.settle(d.Permit, u.Count(s.Now(), d.Permit.Ask))
	}
}

func lossConfig(limit, concurrency int) quota.Config {
	return quota.Config{Concurrency: concurrency, Buckets: map[string]quota.Limits{
		"core": {Limit: limit, Window: time.Hour}, "graphql": {Limit: limit, Window: time.Hour},
	}}
}

// TestFlushInTheMiddleOfAWindow: what was stored goes on to count, calls that were under way
// among it; what was stored ahead of being taken is all that is lost.
func TestFlushInTheMiddleOfAWindow(t *testing.T) {
	s := newBucketStand(t, connectOwn(t, testkit.StartRedis(t).URL()), lossConfig(100, 10))
	u := &quotatest.Upstream{Limit: 100, Window: time.Hour}
	for range 10 {
		p := s.grant(1)[0]
		s.settle(p, u.Count(s.Now(), p.Ask))
	}
	flying := s.grant(10)
	var answers []quota.Response
	for _, p := range flying[:5] {
		answers = append(answers, u.Count(s.Now(), p.Ask))
	}
	c := s.db.Client
	if err := c.Do(t.Context(), c.B().Flushall().Build()).Error(); err != nil {
		t.Fatal(err)
	}
	n, _ := s.drain(u)
	for i, r := range answers {
		s.settle(flying[i], r)
		s.settle(flying[i], r) // repeated, as its answer was lost
	}
	for _, p := range flying[5:] {
		s.settle(p, u.Count(s.Now(), p.Ask))
	}
	more, d := s.drain(u)
	if n += more; n < 75 || u.TooMany != 0 || d.Reason != quota.ReasonPrimary {
		t.Fatalf("%d more calls of 80, %d too many, refused for %s", n, u.TooMany, d.Reason)
	}
	s.Advance(2 * time.Hour)
	if n, _ := s.drain(u); n < 90 || u.TooMany != 0 {
		t.Fatalf("%d calls in the next window, %d too many", n, u.TooMany)
	}
}

// TestCallsOutliveShortWindows: a call that was granted when everything is lost may
// arrive after its window and the next one are over.
func TestCallsOutliveShortWindows(t *testing.T) {
	cfg := quota.Config{Concurrency: 4, Buckets: map[string]quota.Limits{"core": {Limit: 3, Window: 2 * time.Second}}}
	s := newBucketStand(t, connectOwn(t, testkit.Redis(t)), cfg)
	u := &quotatest.Upstream{Limit: 3, Window: 2 * time.Second}
	permits := s.grant(2)
	s.settle(permits[0], u.Count(s.Now(), permits[0].Ask))
	s.Advance(8 * time.Second)
	s.forget()
	s.drain(u)
	u.Count(s.Now(), permits[1].Ask)
	if u.TooMany != 0 {
		t.Errorf("%d calls too many", u.TooMany)
	}
}

// TestLossWithNothingUnderWay: what is left of the window is known, and its end.
func TestLossWithNothingUnderWay(t *testing.T) {
	s := newBucketStand(t, connectOwn(t, testkit.Redis(t)), lossConfig(100, 10))
	u := &quotatest.Upstream{Limit: 100, Window: time.Hour}
	for range 10 {
		p := s.grant(1)[0]
		s.settle(p, u.Count(s.Now(), p.Ask))
	}
	s.forget()
	s.Advance(time.Minute)
	n, d := s.drain(u)
	if n < 88 || n > 90 || u.TooMany != 0 {
		t.Fatalf("%d calls of 90 that were left, %d too many", n, u.TooMany)
	}
	for ; !d.Granted; d = s.decide(quotaAsk()) {
		s.Advance(d.RetryAt.Sub(s.Now()))
	}
	if late := s.Now().Sub(u.Usage[0].End); late < 0 || late > 1100*time.Millisecond {
		t.Fatalf("the next call comes %v after the reset, want 0 to 1.1s", late)
	}
}

// TestAnswerOfTheWindowBefore: it tells nothing about what is left of the one
// that Redis lost.
func TestAnswerOfTheWindowBefore(t *testing.T) {
	s := newBucketStand(t, connectOwn(t, testkit.Redis(t)), lossConfig(100, 2))
	u := &quotatest.Upstream{Limit: 100, Window: time.Hour}
	slow := s.grant(1)[0]
	answer := u.Count(s.Now(), slow.Ask)
	first := s.grant(1)[0]
	s.settle(first, u.Count(s.Now(), first.Ask))
	s.Advance(61 * time.Minute)
	for range 95 {
		p := s.grant(1)[0]
		s.settle(p, u.Count(s.Now(), p.Ask))
	}
	s.forget()
	s.settle(slow, answer)
	s.Advance(time.Minute)
	if s.drain(u); u.TooMany != 0 {
		t.Fatalf("an answer of the window before opened this one: %d calls too many", u.TooMany)
	}
}

// TestDeleteWhileManyReserve deletes the state again and again while callers
// reserve and settle.
func TestDeleteWhileManyReserve(t *testing.T) {
	for name, url := range map[string]func(testing.TB) string{"single": testkit.Redis, "cluster": testkit.RedisCluster} {
		t.Run(name, func(t *testing.T) { deleteWhileManyReserve(t, connectOwn(t, url(t))) })
	}
}

func deleteWhileManyReserve(t *testing.T, db *redis.DB) {
	const callers = 20
	s := newBucketStand(t, db, lossConfig(1000, callers))
	u := &quotatest.Upstream{Limit: 1000, Window: time.Hour}
	for _, p := range s.grant(1) {
		s.settle(p, u.Count(s.Now(), p.Ask))
	}
	var counting sync.Mutex
	var all sync.WaitGroup
	deleting := make(chan struct{}, 1)
	for i := range callers {
		all.Go(func() {
			for n := range 40 {
				if err := s.call(u, &counting); err != nil {
					t.Error(err)
				}
				if i == 0 && n%10 == 5 {
					deleting <- struct{}{}
				}
			}
			if i == 0 {
				close(deleting)
			}
		})
	}
	for range deleting {
		s.forget()
	}
	all.Wait()
	if u.TooMany != 0 {
		t.Fatalf("%d calls too many", u.TooMany)
	}
	s.Advance(2 * time.Hour)
	if n, _ := s.drain(u); n < 900 || u.TooMany != 0 {
		t.Fatalf("%d calls in a new window, want 1000; %d too many", n, u.TooMany)
	}
}

// call makes one call if it is granted.
func (s *bucketStand) call(u *quotatest.Upstream, counting sync.Locker) error {
	d, err := s.keeper.Reserve(s.Context(), quotaAsk())
	if err != nil || !d.Granted {
		return err
	}
	counting.Lock()
	r := u.Count(s.Now(), d.Permit.Ask)
	counting.Unlock()
	return s.keeper.Settle(s.Context(), d.Permit, r)
}

func TestQuotaFailsClosed(t *testing.T) {
	server := testkit.StartRedis(t)
	s := newBucketStand(t, connectOwn(t, server.URL()), lossConfig(3, 10))
	permits := s.grant(3)
	server.Kill()
	if d, err := s.keeper.Reserve(t.Context(), quotaAsk()); domain.CodeOf(err) != domain.CodeUnavailable || d.Granted {
		t.Fatalf("Reserve without Redis: %+v, %v", d, err)
	}
	if err := s.keeper.Settle(t.Context(), permits[0], quota.Response{}); domain.CodeOf(err) != domain.CodeUnavailable {
		t.Fatalf("Settle without Redis: %v", err)
	}
	if _, err := s.keeper.Windows(t.Context(), ""); domain.CodeOf(err) != domain.CodeUnavailable {
		t.Fatalf("Windows without Redis: %v", err)
	}
	server.Start()
	// The server begins empty, and all of the window is known to be taken.
	var d quota.Decision
	for {
		var err error
		if d, err = s.keeper.Reserve(t.Context(), quotaAsk()); err == nil {
			break
		}
		if t.Context().Err() != nil {
			t.Fatal(err)
		}
	}
	if d.Granted || d.Reason != quota.ReasonPrimary {
		t.Fatalf("after the restart: %+v, want a refusal", d)
	}
}

// mute is a store that cannot be read.
type mute struct {
	rationtest.Store
	failed error
}

func (m *mute) Load(context.Context, string) ([]keeper.Stored, error) { return nil, m.failed }

func TestNoCallWhenNothingCanBeRestored(t *testing.T) {
	broken := errors.New("the store does not answer")
	rations := redis.NewRations(connectOwn(t, testkit.Redis(t)), redis.RationsOptions{Store: &mute{failed: broken}})
	d, err := bucketed.New(lossConfig(3, 10), rations, bucketed.Options{}).Reserve(t.Context(), quotaAsk())
	if d.Granted || domain.CodeOf(err) != domain.CodeUnavailable || !errors.Is(err, broken) {
		t.Fatalf("Reserve: %+v, %v", d, err)
	}
}

// TestPermitsOfTheDeadEnd: a holder that is gone holds no lane for ever, and
// its call counts as made.
func TestPermitsOfTheDeadEnd(t *testing.T) {
	s := newBucketStand(t, connectOwn(t, testkit.Redis(t)), quota.Config{Concurrency: 2, Buckets: map[string]quota.Limits{
		"core": {Limit: 10, Window: time.Hour, PointsPerMinute: 10}, "graphql": {Limit: 10, Window: time.Hour},
	}})
	s.life = 10 * time.Minute
	s.Crash()
	s.grant(2) // and never given back
	other := quotaAsk()
	other.Bucket = "graphql"
	if d := s.decide(other); d.Granted || d.Reason != quota.ReasonConcurrency {
		t.Fatalf("both lanes are taken: %+v", d)
	}
	s.Advance(10 * time.Minute)
	if d := s.decide(other); !d.Granted {
		t.Fatalf("after ten minutes: %+v", d)
	}
	windows, err := s.keeper.Windows(t.Context(), "alice")
	if err != nil || windows[0].Bucket != "core" || windows[0].Available != 8 || windows[0].InFlight != 0 {
		t.Fatalf("Windows: %+v, %v, want the two calls counted as made", windows, err)
	}
}

// TestManyOwnersAtOnce: callers of one owner share trips, those of different owners do not
// wait for each other.
func TestManyOwnersAtOnce(t *testing.T) {
	s := newBucketStand(t, connectOwn(t, testkit.Redis(t)), lossConfig(3, 20))
	const owners = 500
	var all sync.WaitGroup
	var mu sync.Mutex
	granted := make(map[string]int)
	for i := range 4 * owners {
		all.Go(func() {
			a := quotaAsk()
			a.Owner = fmt.Sprintf("owner %d", i%owners)
			d, err := s.keeper.Reserve(t.Context(), a)
			if err != nil {
				t.Error(err)
				return
			}
			if d.Granted {
				mu.Lock()
				defer mu.Unlock()
				granted[a.Owner]++
			}
		})
	}
	all.Wait()
	for owner, n := range granted {
		if n != 3 {
			t.Errorf("%s was granted %d calls, want 3", owner, n)
		}
	}
	windows, err := s.keeper.Windows(t.Context(), "")
	if err != nil || len(granted) != owners || len(windows) != owners {
		t.Errorf("%d owners were served, %d windows are shown, %v", len(granted), len(windows), err)
	}
}
