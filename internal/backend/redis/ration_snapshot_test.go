package redis_test

import (
	"testing"
	"time"

	"sluice/internal/backend/redis"
	"sluice/internal/domain"
	"sluice/internal/ration"
	"sluice/internal/ration/keeper"
	"sluice/internal/ration/rationtest"
	"sluice/internal/testkit"
)

// rationsOnSnapshots are three rations of 60 an hour, one of each shape that comes
// back, and one of 60 a second.
func rationsOnSnapshots() keeper.Ask {
	ask := keeper.Ask{Group: rationtest.Group}
	for _, shape := range []ration.Shape{ration.Sliding, ration.Fixed, ration.Bucket} {
		ask.Draws = append(ask.Draws, drawOf(string(shape), shape, time.Hour))
	}
	ask.Draws = append(ask.Draws, drawOf("brief", ration.Sliding, time.Second))
	return ask
}

func drawOf(name string, shape ration.Shape, every time.Duration) keeper.Draw {
	return keeper.Draw{Cost: 1, Ration: &ration.Ration{
		Name: name, Per: []ration.Dimension{ration.PerSource}, Unit: ration.UnitCalls, Shape: shape, Calls: 60, Every: ration.Period{Length: every},
	}}
}

// rationCalls lets a process make up to n calls. It asks until Redis answers: a
// connection learns of a restart by failing.
func rationCalls(t *testing.T, k keeper.Keeper, ask keeper.Ask, n int) (granted int) {
	t.Helper()
	for granted < n {
		d, err := k.Reserve(t.Context(), ask)
		if domain.CodeOf(err) == domain.CodeUnavailable && t.Context().Err() == nil {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if !d.Granted {
			return granted
		}
		if err := k.Settle(t.Context(), d.Permit, keeper.Outcome{Well: true}); err != nil {
			t.Fatal(err)
		}
		granted++
	}
	return granted
}

// TestRationOldSnapshotIsNotBelieved: a Redis that is started again from a snapshot
// has forgotten what was granted since. Whoever asks first, and whatever he has seen,
// what is stored holds.
func TestRationOldSnapshotIsNotBelieved(t *testing.T) {
	for name, first := range map[string]int{"by who saw the last call": 0, "by who saw less than the snapshot": 1, "by who never saw the group": 2} {
		t.Run(name, func(t *testing.T) {
			server := testkit.StartRedis(t)
			clock, store := rationtest.NewClock(rationtest.Morning), &rationtest.Store{}
			s := newRationStand(t, connectOwn(t, server.URL()), clock, store)
			ask := rationsOnSnapshots()
			for _, k := range s.keepers[:2] {
				if d, err := k.Reserve(t.Context(), ask); err != nil || d.Granted {
					t.Fatalf("in the first second: %+v, %v", d, err)
				}
			}
			clock.Advance(2 * time.Second)
			total := rationCalls(t, s.keepers[1], ask, 5) + rationCalls(t, s.keepers[0], ask, 5)
			if err := s.db.Client.Do(t.Context(), s.db.Client.B().Save().Build()).Error(); err != nil {
				t.Fatal(err)
			}
			total += rationCalls(t, s.keepers[0], ask, 40)
			server.Kill()
			server.Start()
			if n := rationCalls(t, s.keepers[first], ask, 60); n != 0 {
				t.Fatalf("%d calls were granted although what was granted in this second is not known", n)
			}
			clock.Advance(2 * time.Second)
			for _, k := range s.keepers {
				total += rationCalls(t, k, ask, 60)
			}
			// A bucket has got 60 · 4/3600 back meanwhile, which is none.
			if total > 60 || total < 50 {
				t.Fatalf("%d calls were granted of 60", total)
			}
		})
	}
}

// TestRationStateWithALowerNumberIsNotBelieved, even if the same server has it: one
// that was cut off may come back with what it had.
func TestRationStateWithALowerNumberIsNotBelieved(t *testing.T) {
	db := connectOwn(t, testkit.Redis(t))
	key := db.OwnKey(rationtest.Group, "ration")
	for name, newcomer := range map[string]bool{"by who saw a later one": false, "by who never saw the group": true} {
		t.Run(name, func(t *testing.T) {
			clock, store := rationtest.NewClock(rationtest.Morning), &rationtest.Store{}
			s := newRationStand(t, db, clock, store)
			ask := rationsOnSnapshots()
			ask.Draws = ask.Draws[:3]
			k := s.keepers[0]
			total := rationCalls(t, k, ask, 10)
			old := dump(t, db, key)
			total += rationCalls(t, k, ask, 40)
			restoreDump(t, db, key, old)
			if newcomer {
				k = redis.NewRations(db, redis.RationsOptions{Store: store, Clock: clock.Now, Passed: clock.Passed})
			}
			if total += rationCalls(t, k, ask, 60); total > 60 || total < 50 {
				t.Fatalf("%d calls were granted of 60", total)
			}
		})
	}
}
