package refresh_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"sluice/internal/domain"
	"sluice/internal/refresh"
	sim "sluice/internal/simulator/maplestory"
	"sluice/internal/source/maplestory"
	"sluice/internal/testkit"
)

// seeded returns a random source whose seed is printed, and can be given with
// SLUICE_TEST_SEED.
func seeded(t *testing.T) *rand.Rand {
	t.Helper()
	seed := testkit.Seed(t)
	return rand.New(rand.NewPCG(seed, seed))
}

// TestCrashes: whatever was accepted ends stored or a dead letter, however often the
// process dies on the way, and what is stored is the truth.
func TestCrashes(t *testing.T) {
	random := seeded(t)
	synctest.Test(t, func(t *testing.T) {
		const characters = 400
		rounds := testkit.Effort(5, 40)
		w := newWorld(t, sim.Options{Seed: 7, Characters: characters, Latency: sim.Latency{Fixed: 30 * time.Millisecond, Jitter: 100 * time.Millisecond}})
		faulty := rand.New(rand.NewPCG(random.Uint64(), 1)) // the simulator asks one at a time
		w.OnRequest(func(*http.Request, int64) *sim.Fault {
			if faulty.IntN(20) > 0 {
				return nil
			}
			f := sim.HTMLErrorPage(http.StatusBadGateway)
			return &f
		})
		limits := plenty
		limits.Hard, limits.Rate, limits.Burst, limits.LowRate, limits.LowBurst = 200, 100, 50, 80, 40
		s := newStand(t, w, func(s *stand) { s.limits, s.settings.HighInFlight, s.settings.LowInFlight = limits, 20, 20 })
		keys := w.keys(characters)
		accepted := map[string]bool{}
		for round := range rounds {
			if round > 0 {
				s.open()
			}
			s.start()
			instant := s.now().Add(time.Second + rand64(random, 2*time.Second))
			for s.now().Before(instant) {
				s.askAtRandom(random, w, keys, accepted)
				s.pass(rand64(random, 300*time.Millisecond))
			}
			s.crash()
		}
		s.open()
		s.start()
		s.checkAccepted(w, accepted)
	})
}

func rand64(r *rand.Rand, most time.Duration) time.Duration {
	return time.Duration(r.Int64N(int64(most)))
}

// askAtRandom asks for a few, of whom some are nobody and some change.
func (s *stand) askAtRandom(random *rand.Rand, w *world, keys []string, accepted map[string]bool) {
	var some []string
	met := map[string]bool{}
	for range 1 + random.IntN(10) {
		key := keys[random.IntN(len(keys))]
		switch random.IntN(20) {
		case 0:
			key = maplestory.DefaultPart + ":nobody" + fmt.Sprint(random.IntN(20))
		case 1:
			w.Change(key)
		}
		if !met[key] {
			met[key] = true
			some = append(some, key)
		}
	}
	p := []domain.Priority{high, low}[random.IntN(2)]
	if _, err := s.ask(p, some...); err != nil {
		return
	}
	for _, key := range some {
		accepted[key] = true
	}
}

// had says whether a value was the truth at some instant between two.
func (w *world) had(key string, hash refresh.Hash, from, until time.Time) bool {
	for at := from; !at.After(until); at = at.Add(time.Millisecond) {
		if truth, ok := w.Truth(key, at); ok && truth.Hash == hash {
			return true
		}
	}
	return false
}

func (s *stand) checkAccepted(w *world, accepted map[string]bool) {
	s.Helper()
	s.until("everything is dealt with", func() bool {
		dead := map[string]bool{}
		for _, l := range s.letters() {
			dead[l.Key] = true
		}
		for key := range accepted {
			if _, found, _ := s.snapshot(key); !found && !dead[key] {
				return false
			}
		}
		return true
	})
	// Nothing is under way any more: what is asked for now is the truth of now.
	s.pass(5 * time.Minute)
	stored := 0
	for key := range accepted {
		got, found, _ := s.snapshot(key)
		if !found {
			continue
		}
		stored++
		truth, ok := w.Truth(key, got.CheckedAt)
		if !ok || truth.Hash != got.Hash || string(truth.Value) != string(got.Body) {
			// It may have changed while the answer was under way, more than once.
			if !w.had(key, got.Hash, got.CheckedAt.Add(-time.Second), got.CheckedAt) {
				s.Errorf("%s is %.100s, the truth %.100s", key, got.Body, truth.Value)
			}
		}
	}
	s.Logf("%d accepted, %d stored, %d letters, %d calls", len(accepted), stored, len(s.letters()), w.Audit().Calls)
	if stored < len(accepted)/2 || len(s.letters()) == 0 {
		s.Error("the test does not test")
	}
}
