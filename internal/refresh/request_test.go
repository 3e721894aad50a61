package refresh_test

import (
	"context"
	"crypto/rand"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"sluice/internal/domain"
	"sluice/internal/refresh"
	sim "sluice/internal/simulator/maplestory"
)

const high, low = domain.PriorityHigh, domain.PriorityLow

func TestWhatBecomesOfRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, sim.Options{Characters: 3})
		s := newStand(t, w)
		key := w.keys(1)[0]
		first := s.want(refresh.Published, low, key)
		if again := s.want(refresh.AlreadyProcessing, low, key); again.Version != first.Version {
			t.Errorf("under way is version %d, not %d", again.Version, first.Version)
		}
		second := s.want(refresh.Upgraded, high, key)
		if second.Version <= first.Version {
			t.Errorf("version %d follows %d", second.Version, first.Version)
		}
		s.want(refresh.AlreadyProcessing, high, key)
		s.want(refresh.AlreadyProcessing, low, key)
		s.start()
		s.until("it is stored", s.stored(key))
		s.until("its lock is free", func() bool {
			grants, err := s.ask(high, key)
			return err == nil && grants[0].Result == refresh.Published
		})
		truth, _ := w.Truth(key, time.Time{})
		if got, _, _ := s.snapshot(key); got.Hash != truth.Hash || string(got.Body) != string(truth.Value) {
			t.Errorf("stored is %.100s, the truth is %.100s", got.Body, truth.Value)
		}
	})
}

func TestPublishThatFailsFreesTheLock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, sim.Options{Characters: 3})
		s := newStand(t, w)
		keys := w.keys(2)
		s.breaks(down, "Publish")
		if _, err := s.ask(high, keys...); domain.CodeOf(err) != domain.CodeUnavailable {
			t.Fatalf("got %v", err)
		}
		s.breaks(nil, "Publish")
		for _, key := range keys {
			s.want(refresh.Published, high, key)
		}
	})
}

// TestUpgradeThatFailsLosesNothing: a HIGH request that could not be published
// has a newer version than the LOW one that is in the log, and does not replace
// it; not even if its lock could not be given back, and looks as if somebody
// were at work.
func TestUpgradeThatFailsLosesNothing(t *testing.T) {
	for name, broken := range map[string][]string{"Publish": {"Publish"}, "publish and release": {"Publish", "Release"}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, sim.Options{Characters: 1})
				s := newStand(t, w)
				key := w.keys(1)[0]
				s.want(refresh.Published, low, key)
				s.breaks(down, broken...)
				if _, err := s.ask(high, key); err == nil {
					t.Fatal("it was published")
				}
				s.breaks(nil, broken...)
				s.start()
				s.until("what was accepted is stored", s.stored(key))
				s.until("its lock is free", func() bool {
					grants, err := s.ask(low, key)
					return err == nil && grants[0].Result == refresh.Published
				})
			})
		})
	}
}

func TestManyRequestsAreOneCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, sim.Options{Characters: 1, Latency: sim.Latency{Fixed: 100 * time.Millisecond}})
		s := newStand(t, w)
		s.start()
		key := w.keys(1)[0]
		var all sync.WaitGroup
		var mu sync.Mutex
		results := map[refresh.Coalesced]int{}
		for range 1000 {
			all.Go(func() {
				grants, err := s.ask(high, key)
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				defer mu.Unlock()
				results[grants[0].Result]++
			})
		}
		all.Wait()
		s.until("it is stored", s.stored(key))
		if calls := w.Audit().Calls; calls != 1 || results[refresh.Published] != 1 || results[refresh.AlreadyProcessing] != 999 {
			t.Errorf("%d calls for %v", calls, results)
		}
	})
}

// TestUpgradeMakesOneCall: the LOW event is obsolete, whether it is met before
// the HIGH one was carried out or after.
func TestUpgradeMakesOneCall(t *testing.T) {
	for name, slow := range map[string]time.Duration{"before": 2 * time.Second, "after": 0} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, sim.Options{Characters: 1, Latency: sim.Latency{Fixed: slow}})
				s := newStand(t, w)
				key := w.keys(1)[0]
				s.want(refresh.Published, low, key)
				s.want(refresh.Upgraded, high, key)
				// What is answered in the very instant of a request is not an answer to it.
				s.pass(time.Millisecond)
				s.start()
				s.until("it is stored", s.stored(key))
				s.pass(time.Minute)
				counters := s.Worker().Counters()
				if calls := w.Audit().Calls; calls != 1 || counters.Obsolete.Load() != 1 || counters.Taken.Load() != 2 {
					t.Errorf("%d calls, %d obsolete of %d", calls, counters.Obsolete.Load(), counters.Taken.Load())
				}
			})
		})
	}
}

func TestValuesThatDoNotChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, sim.Options{Characters: 1})
		s := newStand(t, w)
		s.start()
		key := w.keys(1)[0]
		s.want(refresh.Published, high, key)
		s.until("it is stored", s.stored(key))
		first, _, _ := s.snapshot(key)
		s.pass(time.Hour)
		s.want(refresh.Published, high, key)
		s.until("it is checked", func() bool { return s.Worker().Counters().Touched.Load() == 1 })
		second, _, _ := s.snapshot(key)
		if !second.CheckedAt.After(first.CheckedAt.Add(time.Hour-time.Second)) || !second.UpdatedAt.Equal(first.UpdatedAt) || second.Version != first.Version {
			t.Errorf("%v became %v", first, second)
		}
		if n := len(s.values()); n != 1 {
			t.Errorf("the history has %d values", n)
		}
		w.Change(key)
		s.pass(time.Hour)
		s.want(refresh.Published, high, key)
		s.until("the new value is stored", func() bool { return s.Worker().Counters().Stored.Load() == 2 })
		third, _, _ := s.snapshot(key)
		truth, _ := w.Truth(key, time.Time{})
		if third.Hash != truth.Hash || third.Hash == first.Hash || !third.UpdatedAt.After(second.UpdatedAt) || len(s.values()) != 2 {
			t.Errorf("stored is %v with %d values", third, len(s.values()))
		}
	})
}

func TestLateResultNeverOverwrites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		answer := make(chan struct{})
		up := scripted(func(_ context.Context, _ string, n int) refresh.Fetched {
			if n == 1 {
				<-answer
				return is(`"old"`)
			}
			return is(`"new"`)
		})
		s := newStand(t, up)
		s.start()
		s.want(refresh.Published, high, "key")
		s.until("it is called", func() bool { return up.called("key") == 1 })
		s.pass(31 * time.Second) // its lock ends by itself
		second := s.want(refresh.Published, high, "key")
		s.until("the second is stored", s.stored("key"))
		close(answer)
		s.until("the first is obsolete", func() bool { return s.Worker().Counters().Obsolete.Load() == 1 })
		got, _, _ := s.snapshot("key")
		if string(got.Body) != `"new"` || got.Version != second.Version || len(s.values()) != 1 {
			t.Errorf("stored is %s of version %d; %d values", got.Body, got.Version, len(s.values()))
		}
	})
}

// TestWhoWaitsForTheStoreGivesUp: with its own context, whoever asks the store
// meanwhile, which does not answer.
func TestWhoWaitsForTheStoreGivesUp(t *testing.T) {
	for _, method := range []string{"VersionMark", "RaiseVersionMark", "Counts"} {
		t.Run(method, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStand(t, always(`"v"`))
				s.breaks(hang(time.Hour), method)
				call := func(ctx context.Context) (err error) {
					if method == "Counts" {
						_, err = s.Overview(ctx)
					} else {
						_, err = s.Request(ctx, refresh.Request{Entities: entitiesOf([]string{rand.Text()}), Priority: high, Reason: refresh.ReasonUserRequest})
					}
					return err
				}
				first := make(chan error)
				go func() { first <- call(t.Context()) }()
				synctest.Wait()
				began := time.Now()
				impatient, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				if err := call(impatient); err == nil || time.Since(began) > 10*time.Second {
					t.Errorf("it ended with %v after %s", err, time.Since(began))
				}
				s.check(<-first)
			})
		})
	}
}
