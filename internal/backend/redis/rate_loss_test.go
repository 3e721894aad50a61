package redis_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"sluice/internal/backend/redis"
	"sluice/internal/domain"
	"sluice/internal/quota/rate"
	"sluice/internal/quota/rate/ratetest"
	"sluice/internal/testkit"
)

const high, low = domain.PriorityHigh, domain.PriorityLow

func reserveCalls(t *testing.T, k rate.Keeper, p domain.Priority, n int) rate.Grant {
	t.Helper()
	g, err := k.Reserve(t.Context(), ratetest.Upstream, p, n)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// TestRateByTheServersClock lets processes draw on one upstream for a while, as fast
// as they can, on the real clock.
func TestRateByTheServersClock(t *testing.T) {
	for name, url := range map[string]func(testing.TB) string{"single": testkit.Redis, "cluster": testkit.RedisCluster} {
		t.Run(name, func(t *testing.T) {
			l := ratetest.Maple()
			s := newRateStand(t, connectOwn(t, url(t)), l, nil, &ratetest.Store{})
			first := time.Now().Add(time.Second) // nothing is granted earlier
			if g := reserveCalls(t, s.keepers[0], high, 1); g.Calls != 0 {
				t.Fatalf("granted although nothing is known: %+v", g)
			}
			last, granted := draw(t.Context(), s.keepers, 1200)
			took := last.Sub(first).Seconds()
			if most := int(float64(l.Rate)*took) + l.Burst; granted > most {
				t.Fatalf("%d calls in %.2f s, want at most %d", granted, took, most)
			}
			t.Logf("%d calls in %.2f s", granted, took)
		})
	}
}

// draw lets ten callers of every process wait for calls until so many were
// granted. It returns when the last was granted, and how many.
func draw(ctx context.Context, keepers []rate.Keeper, enough int) (last time.Time, granted int) {
	var mu sync.Mutex
	var all sync.WaitGroup
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for i := range 10 * len(keepers) {
		p := []domain.Priority{high, low}[i/len(keepers)%2]
		all.Go(func() {
			for {
				n, err := rate.Wait(ctx, keepers[i%len(keepers)], ratetest.Upstream, p, 2)
				if err != nil {
					return
				}
				mu.Lock()
				if last, granted = time.Now(), granted+n; granted >= enough {
					cancel()
				}
				mu.Unlock()
			}
		})
	}
	all.Wait()
	return last, granted
}

// TestRateFlush: a Redis that is emptied while processes draw on it stops them all
// for a second.
func TestRateFlush(t *testing.T) {
	server := testkit.StartRedis(t)
	db := connectOwn(t, server.URL())
	clock, store := ratetest.NewClock(ratetest.Morning), &ratetest.Store{}
	s := newRateStand(t, db, ratetest.Maple(), clock, store)
	reserveCalls(t, s.keepers[0], high, 1)
	clock.Advance(time.Second)
	for _, k := range s.keepers {
		reserveCalls(t, k, high, 5)
	}
	flush(t, db)
	for _, k := range s.keepers {
		if g := reserveCalls(t, k, high, 1); g.Calls != 0 || g.Reason != rate.ReasonRate {
			t.Fatalf("right after the loss: %+v", g)
		}
	}
	clock.Advance(time.Second)
	for _, k := range s.keepers {
		if g := reserveCalls(t, k, high, 5); g.Calls != 5 {
			t.Fatalf("a second after the loss: %+v", g)
		}
	}
	u, err := s.keepers[0].Usage(t.Context(), ratetest.Upstream)
	if err != nil || u.Used < 30 {
		t.Fatalf("usage %+v, %v", u, err)
	}
}

func flush(t *testing.T, db *redis.DB) {
	t.Helper()
	if err := db.Client.Do(t.Context(), db.Client.B().Flushall().Build()).Error(); err != nil {
		t.Fatal(err)
	}
}

// TestPauseSurvivesALoss: one that lasts longer than whoever forgets everything waits.
func TestPauseSurvivesALoss(t *testing.T) {
	clock := ratetest.NewClock(ratetest.Morning)
	s := newRateStand(t, connectOwn(t, testkit.Redis(t)), ratetest.Maple(), clock, &ratetest.Store{})
	until := clock.Now().Add(time.Hour)
	if err := s.keepers[0].Pause(t.Context(), ratetest.Upstream, until); err != nil {
		t.Fatal(err)
	}
	for i := range s.keepers {
		if g := reserveCalls(t, s.keepers[i], high, 1); g.Reason != rate.ReasonPause || !g.RetryAt.Equal(until) {
			t.Fatalf("paused: %+v", g)
		}
		s.Lose() // and the next process tells Redis
		if i+1 == len(s.keepers) {
			break
		}
		if g := reserveCalls(t, s.keepers[i], high, 1); g.Reason != rate.ReasonPause || !g.RetryAt.Equal(until) {
			t.Fatalf("after the loss: %+v", g)
		}
	}
}

// TestStateOfBefore: a server that lacks the last calls, as a replica may that
// takes over, is noticed by a process that knows of them.
func TestStateOfBefore(t *testing.T) {
	clock := ratetest.NewClock(ratetest.Morning)
	db := connectOwn(t, testkit.Redis(t))
	s := newRateStand(t, db, ratetest.Maple(), clock, &ratetest.Store{})
	k := s.keepers[0]
	reserveCalls(t, k, high, 1)
	clock.Advance(time.Second)
	reserveCalls(t, k, high, 1)
	before := dump(t, db, rateKey(db))
	if g := reserveCalls(t, k, high, 24); g.Calls != 24 {
		t.Fatalf("%+v", g)
	}
	restoreDump(t, db, rateKey(db), before)
	if g := reserveCalls(t, k, high, 1); g.Calls != 0 {
		t.Fatalf("calls that the server does not know of were granted again: %+v", g)
	}
	clock.Advance(time.Second)
	if g := reserveCalls(t, k, high, 25); g.Calls != 25 {
		t.Fatalf("a second later: %+v", g)
	}
	u, err := k.Usage(t.Context(), ratetest.Upstream)
	if err != nil || u.Used < 50 {
		t.Fatalf("usage %+v, %v", u, err)
	}
}

func TestRateFailsClosed(t *testing.T) {
	server := testkit.StartRedis(t)
	s := newRateStand(t, connectOwn(t, server.URL()), ratetest.Maple(), nil, &ratetest.Store{})
	k := s.keepers[0]
	if _, err := rate.Wait(t.Context(), k, ratetest.Upstream, high, 1); err != nil {
		t.Fatal(err)
	}
	server.Kill()
	if g, err := k.Reserve(t.Context(), ratetest.Upstream, high, 1); domain.CodeOf(err) != domain.CodeUnavailable || g.Calls != 0 {
		t.Fatalf("Reserve without Redis: %+v, %v", g, err)
	}
	if _, err := k.Usage(t.Context(), ratetest.Upstream); domain.CodeOf(err) != domain.CodeUnavailable {
		t.Fatalf("Usage without Redis: %v", err)
	}
	if err := k.Refund(t.Context(), ratetest.Upstream, high, 1); domain.CodeOf(err) != domain.CodeUnavailable {
		t.Fatalf("Refund without Redis: %v", err)
	}
	server.Start()
	for {
		g, err := k.Reserve(t.Context(), ratetest.Upstream, high, 1)
		if err == nil {
			if g.Calls != 0 {
				t.Fatalf("granted by a server that knows nothing: %+v", g)
			}
			return
		}
		if t.Context().Err() != nil {
			t.Fatal(err)
		}
	}
}
