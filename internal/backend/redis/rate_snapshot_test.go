package redis_test

import (
	"testing"
	"time"

	"sluice/internal/domain"
	"sluice/internal/quota/rate"
	"sluice/internal/quota/rate/ratetest"
	"sluice/internal/testkit"
)

// TestRateOldSnapshotIsNotBelieved: a Redis that is started again from a snapshot has
// forgotten calls of this second and of this day. Whoever asks first is granted
// nothing for a second, and the day goes on from what is written down.
func TestRateOldSnapshotIsNotBelieved(t *testing.T) {
	server := testkit.StartRedis(t)
	clock := ratetest.NewClock(ratetest.Morning)
	s := newRateStand(t, connectOwn(t, server.URL()), ratetest.Maple(), clock, &ratetest.Store{})
	granted := int64(reserveCalls(t, s.keepers[0], high, 1).Calls)
	clock.Advance(time.Second)
	for _, k := range s.keepers {
		granted += int64(reserveCalls(t, k, high, 2).Calls)
	}
	clock.Advance(2 * time.Second)
	for _, k := range s.keepers {
		granted += int64(reserveCalls(t, k, high, 2).Calls)
	}
	if err := s.db.Client.Do(t.Context(), s.db.Client.B().Save().Build()).Error(); err != nil {
		t.Fatal(err)
	}
	for range 50 { // seen by the first process alone
		granted += int64(reserveCalls(t, s.keepers[0], high, 20).Calls)
		clock.Advance(50 * time.Millisecond)
	}
	server.Kill()
	server.Start()
	for i := len(s.keepers) - 1; i >= 0; i-- {
		g, err := s.keepers[i].Reserve(t.Context(), ratetest.Upstream, high, 5)
		for domain.CodeOf(err) == domain.CodeUnavailable && t.Context().Err() == nil {
			g, err = s.keepers[i].Reserve(t.Context(), ratetest.Upstream, high, 5)
		}
		if err != nil || g.Calls != 0 || g.Reason != rate.ReasonRate {
			t.Fatalf("process %d right after the restart: %+v, %v, want nothing", i, g, err)
		}
	}
	clock.Advance(time.Second)
	u, err := s.keepers[2].Usage(t.Context(), ratetest.Upstream)
	if err != nil || u.Used < granted {
		t.Fatalf("usage %+v, %v, want at least the %d calls that were granted", u, err, granted)
	}
	if g := reserveCalls(t, s.keepers[2], high, 5); g.Calls != 5 {
		t.Fatalf("a second after the restart: %+v", g)
	}
}
