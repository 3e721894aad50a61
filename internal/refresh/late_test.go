package refresh_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"sluice/internal/refresh"
	sim "sluice/internal/simulator/maplestory"
)

// dammed is the game behind connections that let nothing through for a while,
// again and again, and then everything at once.
type dammed struct {
	*world
	every, closed time.Duration
	began         time.Time
}

func (d *dammed) Fetch(ctx context.Context, key string, sent func()) refresh.Fetched {
	if since := time.Since(d.began) % d.every; since < d.closed {
		time.Sleep(d.closed - since) // the bubble's clock
	}
	sent()
	return d.world.Fetch(ctx, key, nil)
}

// TestLateCallsHoldOthersBack: what an upstream counts is when calls arrive.
func TestLateCallsHoldOthersBack(t *testing.T) {
	for _, closed := range []time.Duration{40 * time.Millisecond, 200 * time.Millisecond, 450 * time.Millisecond} {
		t.Run(closed.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, sim.Options{Characters: 2000, BodySize: 1000})
				up := &dammed{world: w, every: 1500 * time.Millisecond, closed: closed}
				s := newStand(t, up, func(s *stand) { s.limits = gameLimits })
				keys := w.keys(2000)
				for i := 0; i < len(keys); i += 1000 {
					_, err := s.ask(high, keys[i:i+1000]...)
					s.check(err)
				}
				up.began = time.Now()
				s.start()
				s.pass(3 * time.Second)
				a, late := w.Audit(), s.Worker().Counters().Late.Load()
				if a.Violations != 0 || a.LargestSecond > gameLimits.Hard || a.Calls < 3*250 || (late > 0) != (closed > 50*time.Millisecond) {
					t.Errorf("%d calls in 3 s, %d late, at most %d in a second, %d violations", a.Calls, late, a.LargestSecond, a.Violations)
				}
			})
		})
	}
}
