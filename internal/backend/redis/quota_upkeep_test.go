package redis_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"sluice/internal/backend/redis"
	"sluice/internal/quota"
	"sluice/internal/quota/quotatest"
	"sluice/internal/testkit"
)

// TestPermitsOfTheDeadEnd: a holder that is gone holds no lane for ever, and
// its call counts as made.
func TestPermitsOfTheDeadEnd(t *testing.T) {
	s := newQuotaStand(t, connectOwn(t, testkit.Redis(t)), quota.Config{Concurrency: 2, Buckets: map[string]quota.Limits{
		"core": {Limit: 10, Window: time.Hour, PointsPerMinute: 10}, "graphql": {Limit: 10, Window: time.Hour},
	}}, noon)
	s.life = 10 * time.Minute
	s.keeper = s.newKeeper()
	s.grant(2) // and never given back
	other := quotaAsk()
	other.Bucket = "graphql"
	if d := s.decide(other); d.Granted || d.Reason != quota.ReasonConcurrency {
		t.Fatalf("both lanes are taken: %+v", d)
	}
	s.Advance(10 * time.Minute)
	// The first to ask finds out that something is to be swept.
	s.decide(other)
	if d := s.decide(other); !d.Granted {
		t.Fatalf("after ten minutes: %+v", d)
	}
	windows, err := s.keeper.Windows(t.Context(), "alice")
	if err != nil || windows[0].Bucket != "core" || windows[0].Available != 8 || windows[0].InFlight != 0 {
		t.Fatalf("Windows: %+v, %v, want the two calls counted as made", windows, err)
	}
}

// TestStorageIsQuiet: only what a rebuild needs is handed out to be stored.
func TestStorageIsQuiet(t *testing.T) {
	s := newQuotaStand(t, connectOwn(t, testkit.Redis(t)), lossConfig(10_000, 20), noon)
	u := &quotatest.Upstream{Limit: 10_000, Window: time.Hour}
	call := func(change func(*quota.Response)) (stored []string) {
		d := s.decide(quotaAsk())
		if d.Window != nil {
			stored = append(stored, "before the call")
		}
		r := u.Count(s.Now(), d.Permit.Ask)
		change(&r)
		w, err := s.keeper.Settle(t.Context(), d.Permit, r)
		if err != nil {
			t.Fatal(err)
		}
		if w != nil {
			stored = append(stored, "after it")
		}
		return stored
	}
	same := func(*quota.Response) {}
	wants := func(what string, got []string, want string) {
		t.Helper()
		if fmt.Sprint(got) != want {
			t.Errorf("%s: a window was handed out %v, want %s", what, got, want)
		}
	}
	wants("the first call", call(same), "[before the call after it]")
	for range 200 {
		s.Advance(time.Millisecond)
		wants("an ordinary call", call(same), "[]")
	}
	wants("a limit that changes", call(func(r *quota.Response) { r.Limit = 9000 }), "[after it]")
	wants("a reset that moves", call(func(r *quota.Response) { r.Limit = 9000; r.Reset = r.Reset.Add(time.Second) }), "[after it]")
	wants("a pause", call(func(r *quota.Response) { r.Limit = 9000; r.RetryAfter = time.Second }), "[after it]")
	s.Advance(2 * time.Hour)
	u.Limit = 9000
	wants("the next window", call(same), "[before the call after it]")
	wants("its second call", call(same), "[]")
}

// TestWindowIsHandedOutUntilItIsStored: a call proves that its window was
// stored before it; until then every grant carries the window.
func TestWindowIsHandedOutUntilItIsStored(t *testing.T) {
	s := newQuotaStand(t, connectOwn(t, testkit.Redis(t)), lossConfig(100, 20), noon)
	first, second := s.decide(quotaAsk()), s.decide(quotaAsk())
	if first.Window == nil || second.Window == nil || second.Window.Seq <= first.Window.Seq {
		t.Fatalf("windows %+v and %+v, want two that rise", first.Window, second.Window)
	}
	if _, err := s.keeper.Refund(t.Context(), first.Permit, quota.Response{}); err != nil {
		t.Fatal(err)
	}
	if d := s.decide(quotaAsk()); d.Window == nil {
		t.Fatal("a call that was never made proves nothing")
	}
	s.settle(second.Permit, quota.Response{})
	if d := s.decide(quotaAsk()); d.Window != nil {
		t.Fatalf("handed out again: %+v", d.Window)
	}
}

func TestOwnersDoNotStayForEver(t *testing.T) {
	s := newQuotaStand(t, connectOwn(t, testkit.Redis(t)), lossConfig(100, 20), time.Time{})
	c := s.db.Client
	life := func() time.Duration {
		t.Helper()
		n, err := c.Do(t.Context(), c.B().Pttl().Key(s.keeper.Key("alice")).Build()).AsInt64()
		if err != nil {
			t.Fatal(err)
		}
		return time.Duration(n) * time.Millisecond
	}
	p := s.grant(1)[0]
	if d := life(); d < 2*time.Hour || d > 3*time.Hour {
		t.Errorf("an owner lives for %v, want a little more than two windows", d)
	}
	s.settle(p, quota.Response{RetryAfter: 24 * time.Hour})
	if d := life(); d < 4*time.Hour || d > 5*time.Hour {
		t.Errorf("a parked owner lives for %v, want two windows beyond its parking", d)
	}
}

func TestListForgetsOwnersThatAreGone(t *testing.T) {
	for name, url := range map[string]func(testing.TB) string{"single": testkit.Redis, "cluster": testkit.RedisCluster} {
		t.Run(name, func(t *testing.T) {
			s := newQuotaStand(t, connectOwn(t, url(t)), lossConfig(100, 20), noon)
			c := s.db.Client
			for i := range 200 {
				a := quotaAsk()
				a.Owner = fmt.Sprintf("owner %d", i)
				s.decide(a)
			}
			if err := c.Do(t.Context(), c.B().Del().Key(s.keeper.Key("owner 7")).Build()).Error(); err != nil {
				t.Fatal(err)
			}
			for range 2 {
				windows, err := s.keeper.Windows(t.Context(), "")
				if err != nil || len(windows) != 199 {
					t.Fatalf("%d windows, %v, want 199", len(windows), err)
				}
			}
			left, err := c.Do(t.Context(), c.B().Scard().Key(s.keeper.ListKey()).Build()).AsInt64()
			if err != nil || left != 199 {
				t.Fatalf("%d owners are listed, %v, want 199", left, err)
			}
		})
	}
}

// TestManyOwnersAtOnce: callers of one owner share trips, those of different
// owners do not wait for each other, and what idles is forgotten.
func TestManyOwnersAtOnce(t *testing.T) {
	s := newQuotaStand(t, connectOwn(t, testkit.Redis(t)), lossConfig(3, 20), noon)
	owners := redis.MostIdle + 200
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
	if len(granted) != owners || s.keeper.Groups() > redis.MostIdle {
		t.Errorf("%d owners were served, %d groups are kept", len(granted), s.keeper.Groups())
	}
}
