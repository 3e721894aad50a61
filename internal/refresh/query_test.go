package refresh_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"sluice/internal/domain"
	"sluice/internal/refresh"
	sim "sluice/internal/simulator/maplestory"
	"sluice/internal/source/maplestory"
)

func (s *stand) get(key string) refresh.Answer {
	s.Helper()
	a, err := s.Get(s.Context(), entity(key))
	s.check(err)
	return a
}

func TestAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, sim.Options{Characters: 1, Latency: sim.Latency{Fixed: 3 * time.Second}})
		s := newStand(t, w)
		s.start()
		key := w.keys(1)[0]
		first := s.get(key)
		if first.Freshness != refresh.NotFound || !first.UpdateQueued || first.EstimatedWaitMs != nil || string(first.Snapshot) != "null" || first.ETag != "" {
			t.Errorf("the first reader got %+v", first)
		}
		s.pass(time.Second)
		if second := s.get(key); second.Freshness != refresh.Updating || !second.UpdateQueued {
			t.Errorf("the second reader got %+v", second)
		}
		s.until("it is stored", s.stored(key))
		truth, _ := w.Truth(key, time.Time{})
		fresh := s.get(key)
		if fresh.Freshness != refresh.Fresh || fresh.UpdateQueued || string(fresh.Snapshot) != string(truth.Value) || fresh.ETag == "" ||
			fresh.LastCheckedAt.IsZero() || fresh.LastUpdatedAt.IsZero() || fresh.Status != nil {
			t.Errorf("then %+v", fresh)
		}
		s.pass(time.Hour)
		if stale := s.get(key); stale.Freshness != refresh.Stale || !stale.UpdateQueued || stale.ETag != fresh.ETag || string(stale.Snapshot) != string(truth.Value) {
			t.Errorf("an hour later %+v", stale)
		}
		s.until("it is fresh again", func() bool { return s.get(key).Freshness == refresh.Fresh })
		again := s.get(key)
		if again.ETag != fresh.ETag || !again.LastUpdatedAt.Equal(fresh.LastUpdatedAt) || !again.LastCheckedAt.After(fresh.LastCheckedAt) {
			t.Errorf("and then %+v", again)
		}
		c := &s.Query().Counters
		if c.NotFound.Load() != 1 || c.Updating.Load() != 1 || c.Stale.Load() < 1 || c.Fresh.Load() < 2 {
			t.Error("the counters do not count")
		}
	})
}

func show(ms *int64) string {
	if ms == nil {
		return "nothing"
	}
	return (time.Duration(*ms) * time.Millisecond).String()
}

// TestEstimate comes from what waits and how fast it was worked off.
func TestEstimate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limits := plenty
		limits.Hard, limits.Rate, limits.Burst, limits.LowRate, limits.LowBurst = 40, 20, 1, 20, 1
		s := newStand(t, always(`"v"`), func(s *stand) { s.limits = limits })
		s.start()
		keys := names(1000)
		_, err := s.ask(high, keys...)
		s.check(err)
		if a := s.get("somebody"); a.EstimatedWaitMs != nil {
			t.Errorf("before anything was measured %d ms", *a.EstimatedWaitMs)
		}
		s.pass(20 * time.Second) // 400 are done
		s.get("somebody else")   // renews the figure behind its back
		s.pass(time.Second)
		a := s.get("another")
		if a.EstimatedWaitMs == nil || *a.EstimatedWaitMs < 20_000 || *a.EstimatedWaitMs > 40_000 {
			t.Fatalf("of 1,000 at 20 a second, 580 wait: got %v", show(a.EstimatedWaitMs))
		}
		s.until("it was true", s.stored("another"))
		// An idle time says nothing about how fast they are.
		s.pass(3 * time.Hour)
		s.get("after a while")
		s.pass(10 * time.Second)
		if a := s.get("quick"); a.EstimatedWaitMs == nil || *a.EstimatedWaitMs > 1000 {
			t.Errorf("with nothing ahead %v", show(a.EstimatedWaitMs))
		}
	})
}

// TestReadsNeverWaitForTheLog although it hangs.
func TestReadsNeverWaitForTheLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStand(t, always(`"v"`))
		s.breaks(hang(10*time.Second), "publish", "acquire")
		s.start()
		for _, key := range names(500) {
			began := time.Now()
			if a := s.get(key); a.Freshness != refresh.NotFound || !a.UpdateQueued || time.Since(began) > 0 {
				t.Fatalf("after %s: %+v", time.Since(began), a)
			}
		}
		s.pass(time.Minute)
		s.breaks(nil, "publish", "acquire")
		s.until("all are stored", s.stored(names(500)...))
	})
}

// TestWishesThatCannotBePublished are wished again by the next reader.
func TestWishesThatCannotBePublished(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStand(t, always(`"v"`))
		s.breaks(down, "publish")
		s.start()
		s.get("key")
		s.pass(time.Second)
		s.breaks(nil, "publish")
		s.get("key")
		s.until("it is stored", s.stored("key"))
	})
}

func TestFailedEntitiesAreLeftAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, sim.Options{Characters: 1})
		s := newStand(t, w)
		s.start()
		nobody := maplestory.DefaultPart + ":nobody"
		s.get(nobody)
		s.until("it is given up", func() bool {
			a := s.get(nobody)
			return a.Status != nil && a.Status.Code == refresh.StatusFailed
		})
		for range 59 {
			s.pass(10 * time.Second)
			if a := s.get(nobody); a.UpdateQueued || a.Freshness != refresh.NotFound || a.Status == nil {
				t.Fatalf("got %+v", a)
			}
		}
		if calls := w.Audit().Calls; calls != 1 {
			t.Errorf("%d calls in ten minutes", calls)
		}
		s.pass(time.Minute)
		s.get(nobody)
		s.until("it is asked for again", func() bool { return w.Audit().Calls == 2 })
	})
}

// TestReadersShareOneLoadAndOneCall.
func TestReadersShareOneLoadAndOneCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		up := always(`"v"`)
		s := newStand(t, up)
		s.breaks(hang(time.Second), "snapshot")
		s.start()
		var all sync.WaitGroup
		for range 1000 {
			all.Go(func() {
				if _, err := s.Get(t.Context(), entity("key")); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		s.until("it is stored", s.stored("key"))
		if loads := s.times("snapshot"); loads != 1 || up.all() != 1 {
			t.Errorf("%d loads, %d calls", loads, up.all())
		}
	})
}

// TestReadingDoesNotLoop: what never changes is refreshed once in the time that
// it is fresh for, however often it is read.
func TestReadingDoesNotLoop(t *testing.T) {
	for name, freshFor := range map[string]time.Duration{"an hour": time.Hour, "ten seconds": 10 * time.Second} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				up := scripted(func(ctx context.Context, _ string, _ int) refresh.Fetched {
					_ = hang(200 * time.Millisecond)(ctx)
					return is(`"v"`)
				})
				s := newStand(t, up, func(s *stand) { s.settings.FreshFor = freshFor })
				s.start()
				const spans = 5
				for range spans * 500 {
					s.get("key")
					s.pass(freshFor / 500)
				}
				if calls := up.all(); calls < spans-1 || calls > spans+1 {
					t.Errorf("%d calls in %d times of being fresh", calls, spans)
				}
			})
		})
	}
}

// TestReadersKeepEntitiesHot: what is read is written down, once in a while.
func TestReadersKeepEntitiesHot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStand(t, always(`"v"`))
		s.start()
		_, err := s.ask(low, "read", "unread")
		s.check(err)
		s.until("both are stored", s.stored("read", "unread"))
		for range 100 {
			s.get("read")
		}
		s.pass(5 * time.Second)
		read, _, _ := s.snapshot("read")
		unread, _, _ := s.snapshot("unread")
		if read.Tier != refresh.Hot || unread.Tier != refresh.Cold {
			t.Errorf("tiers %d and %d", read.Tier, unread.Tier)
		}
	})
}

func TestOverview(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStand(t, always(`"v"`))
		s.start()
		_, err := s.ask(high, names(3)...)
		s.check(err)
		s.until("all are stored", s.stored(names(3)...))
		o, err := s.Overview(t.Context())
		s.check(err)
		if len(o.Sources) != 1 || o.Sources[0].Counts.Snapshots != 3 || o.Sources[0].Rate.Used != 3 || len(o.Breakers) != 3 || len(o.Lags) != 2 {
			t.Errorf("got %+v", o)
		}
		if _, err := s.CheckEntity(refresh.Entity{Source: "gone", Key: "k"}); domain.CodeOf(err) != domain.CodeInvalid {
			t.Errorf("got %v", err)
		}
	})
}
