package refresh_test

import (
	"context"
	"fmt"
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
		if first.Freshness != refresh.NotFound || !first.UpdateQueued || string(first.Snapshot) != "null" || first.ETag != "" {
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
		c := &s.Reader().Counters
		if c.NotFound.Load() != 1 || c.Updating.Load() != 1 || c.Stale.Load() < 1 || c.Fresh.Load() < 2 {
			t.Error("the counters do not count")
		}
	})
}

// TestUpdatingInEveryProcess: whoever is asked tells that a request was accepted,
// also by another process, and also if somebody has read before that there is
// nothing.
func TestUpdatingInEveryProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, sim.Options{Characters: 2, Latency: sim.Latency{Fixed: 3 * time.Second}})
		s := newStand(t, w, func(s *stand) {
			s.wrapLog = func(inside refresh.EventLog) refresh.EventLog { return &lossy{EventLog: inside} }
		})
		s.start()
		settings := s.settings
		settings.Works = false
		other, err := refresh.NewPipeline(s.parts, settings)
		s.check(err)
		s.check(other.Start(t.Context()))
		defer func() { _ = other.Stop(t.Context()) }()
		for i, key := range w.keys(2) {
			_, err := s.ask([]domain.Priority{high, low}[i], key)
			s.check(err)
			if a, err := other.Get(t.Context(), entity(key)); err != nil || a.Freshness != refresh.Updating || !a.UpdateQueued {
				t.Errorf("after a request elsewhere: %+v, %v", a, err)
			}
			s.until("it is stored", s.stored(key))
			if a, err := other.Get(t.Context(), entity(key)); err != nil || a.Freshness != refresh.Fresh {
				t.Errorf("when it is there: %+v, %v", a, err)
			}
		}
	})
}

func show(ms *int64) string {
	if ms == nil {
		return "nothing"
	}
	return (time.Duration(*ms) * time.Millisecond).String()
}

// near reports whether an estimate is within 30 % of the truth.
func near(ms *int64, truth time.Duration) bool {
	if ms == nil {
		return false
	}
	said := time.Duration(*ms) * time.Millisecond
	return said >= truth*7/10 && said <= truth*13/10
}

// TestEstimate is about how long it takes, in a process that works and in one
// that only answers: before a backlog, in it, and after it.
func TestEstimate(t *testing.T) {
	for _, works := range []bool{true, false} {
		t.Run(fmt.Sprintf("works=%t", works), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				limits := plenty
				limits.Hard, limits.Rate, limits.Burst, limits.LowRate, limits.LowBurst = 40, 20, 1, 20, 1
				up := scripted(func(ctx context.Context, _ string, _ int) refresh.Fetched {
					_ = hang(80 * time.Millisecond)(ctx)
					return is(`"v"`)
				})
				s := newStand(t, up, func(s *stand) { s.limits = limits })
				s.start()
				reader := s.Pipeline
				if !works {
					settings := s.settings
					settings.Works = false
					var err error
					reader, err = refresh.NewPipeline(s.parts, settings)
					s.check(err)
					_ = reader.Start(t.Context())
					defer func() { _ = reader.Stop(t.Context()) }()
				}
				s.estimates(reader)
			})
		})
	}
}

func (s *stand) estimates(reader *refresh.Pipeline) {
	s.Helper()
	get := func(key string) refresh.Answer {
		a, err := reader.Get(s.Context(), entity(key))
		s.check(err)
		return a
	}
	// took demands that an estimate was true.
	took := func(when, key string) {
		s.Helper()
		began, a := time.Now(), get(key)
		for time.Since(began) < 10*time.Minute && !s.stored(key)() {
			// What takes longer is looked at less often: looking costs, time does not.
			s.pass(max(5*time.Millisecond, time.Since(began)/200))
		}
		if truth := time.Since(began); !near(a.EstimatedWaitMs, truth) {
			s.Errorf("%s: said %s, it took %s", when, show(a.EstimatedWaitMs), truth)
		}
	}
	synctest.Wait()
	if a := get("first"); a.EstimatedWaitMs == nil {
		s.Error("the first who asks is told nothing")
	}
	s.pass(2 * time.Second)
	get("first")
	took("quiet", "quiet")
	s.pass(40 * time.Second)
	keys := names(1000)
	_, err := reader.Request(s.Context(), refresh.Request{Entities: entitiesOf(keys), Priority: high, Reason: refresh.ReasonUserRequest})
	s.check(err)
	took("right after many", "late")
	s.pass(time.Minute)
	took("after a backlog", "quick")
}

func entitiesOf(keys []string) []refresh.Entity {
	out := make([]refresh.Entity, len(keys))
	for i, key := range keys {
		out[i] = entity(key)
	}
	return out
}

// TestReadsNeverWaitForTheLog although it hangs.
func TestReadsNeverWaitForTheLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStand(t, always(`"v"`))
		s.breaks(hang(10*time.Second), "Publish", "Acquire")
		s.start()
		for _, key := range names(500) {
			began := time.Now()
			if a := s.get(key); a.Freshness != refresh.NotFound || !a.UpdateQueued || time.Since(began) > 0 {
				t.Fatalf("after %s: %+v", time.Since(began), a)
			}
		}
		s.pass(time.Minute)
		s.breaks(nil, "Publish", "Acquire")
		s.until("all are stored", s.stored(names(500)...))
	})
}

// TestWishesThatCannotBePublished are made again by the next reader.
func TestWishesThatCannotBePublished(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStand(t, always(`"v"`))
		s.breaks(down, "Publish")
		s.start()
		s.get("key")
		s.pass(time.Second)
		s.breaks(nil, "Publish")
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
		s.breaks(hang(time.Second), "Snapshot")
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
		if loads := s.times("Snapshot"); loads != 1 || up.all() != 1 {
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

// TestReadersSeeWhatWasAskedFor by others: there is none yet, or it is fresh.
func TestReadersSeeWhatWasAskedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		up := scripted(func(ctx context.Context, _ string, _ int) refresh.Fetched {
			_ = hang(time.Second)(ctx)
			return is(`"v"`)
		})
		s := newStand(t, up)
		s.start()
		for _, want := range []refresh.Freshness{refresh.Updating, refresh.Fresh} {
			s.want(refresh.Published, high, "key")
			s.pass(time.Millisecond)
			if a := s.get("key"); a.Freshness != want || !a.UpdateQueued {
				t.Errorf("while it is under way: %+v, want %s", a, want)
			}
			s.pass(10 * time.Second)
			if a := s.get("key"); a.Freshness != refresh.Fresh || a.UpdateQueued {
				t.Errorf("then %+v", a)
			}
		}
	})
}

// TestOverviewWithoutTheRate: it answers just when one wants to know why.
func TestOverviewWithoutTheRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStand(t, always(`"v"`))
		s.breaks(down, "Usage")
		o, err := s.Overview(t.Context())
		if err != nil || len(o.Sources) != 1 || o.Sources[0].RateError == "" {
			t.Fatalf("got %+v, %v", o, err)
		}
		for range 100 {
			_, err := s.Overview(t.Context())
			s.check(err)
		}
		if n := s.times("Counts"); n != 1 {
			t.Errorf("a hundred looks counted all snapshots %d times", n)
		}
	})
}
