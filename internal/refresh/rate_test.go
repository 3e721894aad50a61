package refresh_test

import (
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"sluice/internal/quota/rate"
	sim "sluice/internal/simulator/maplestory"
	"sluice/internal/source/maplestory"
)

// gameLimits are those of a service key.
var gameLimits = rate.Limits{
	Hard: 500, Rate: 450, Burst: 25, LowRate: 350, LowBurst: 25, Reserve: 15, Daily: 20_000_000, DailyReserve: 2_000_000,
}

// TestRate lets a backlog be worked off over a network, as fast as it may. What
// is granted is far below the limit: on a machine that others keep busy the server
// finds calls at once that have left one after the other.
func TestRate(t *testing.T) {
	w := &world{Server: sim.New(sim.Options{Characters: 4000, BodySize: 1000, Latency: sim.Latency{Jitter: 50 * time.Millisecond}})}
	server := httptest.NewServer(w.Server)
	t.Cleanup(server.Close)
	var err error
	if w.Source, err = maplestory.New(maplestory.Options{BaseURL: server.URL, Key: sim.DefaultKey}); err != nil {
		t.Fatal(err)
	}
	s := newStand(t, w, func(s *stand) {
		s.limits, s.now = gameLimits, time.Now
		s.limits.Rate, s.limits.LowRate = 200, 100
	})
	keys := w.keys(4000)
	for i := 0; i < len(keys); i += 1000 {
		p := high
		if i >= 2000 {
			p = low
		}
		_, err := s.ask(p, keys[i:i+1000]...)
		s.check(err)
	}
	s.start()
	for w.Audit().Calls < 600 && t.Context().Err() == nil {
		s.pass(50 * time.Millisecond)
	}
	_ = s.Stop(s.Context())
	audit := w.Audit()
	t.Logf("%d calls, at most %d in a second", audit.Calls, audit.LargestSecond)
	if audit.Violations != 0 || audit.LargestSecond > gameLimits.Hard {
		t.Errorf("got %+v", audit)
	}
}

// TestRateOfEach works backlogs off in a time that passes as it should.
func TestRateOfEach(t *testing.T) {
	for name, tc := range map[string]struct {
		highs, lows int
		least, most int64
	}{
		"high":      {highs: 2000, least: 3 * 440, most: 475},
		"low alone": {lows: 2000, least: 3 * 340, most: 375},
		// LOW stands back for as long as a figure of HIGH's lag is used.
		"both": {highs: 1000, lows: 1000, least: 3 * 250, most: 475},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, sim.Options{Characters: 2000, BodySize: 1000, Latency: sim.Latency{Fixed: 100 * time.Millisecond}})
				s := newStand(t, w, func(s *stand) { s.limits = gameLimits })
				keys := w.keys(2000)
				for i := 0; i < len(keys); i += 1000 {
					p := high
					if i >= tc.highs {
						p = low
					}
					_, err := s.ask(p, keys[i:i+1000]...)
					s.check(err)
				}
				s.start()
				s.pass(3 * time.Second)
				a := w.Audit()
				if a.Violations != 0 || int64(a.LargestSecond) > tc.most || a.Calls < tc.least {
					t.Errorf("%d calls in 3 s, at most %d in a second, %d violations", a.Calls, a.LargestSecond, a.Violations)
				}
			})
		})
	}
}

// TestHighGoesFirst: LOW stands back while many HIGH requests wait.
func TestHighGoesFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, sim.Options{Characters: 3000, BodySize: 1000})
		s := newStand(t, w, func(s *stand) { s.limits = gameLimits })
		keys := w.keys(3000)
		for i := 0; i < 2000; i += 1000 {
			_, err := s.ask(high, keys[i:i+1000]...)
			s.check(err)
		}
		_, err := s.ask(low, keys[2000:]...)
		s.check(err)
		s.Lags()
		synctest.Wait()
		s.start()
		s.pass(2 * time.Second)
		usage, err := s.parts.Rate.Usage(t.Context(), game)
		s.check(err)
		if usage.UsedLow > 100 || usage.Used < 800 {
			t.Errorf("of %d calls %d were LOW", usage.Used, usage.UsedLow)
		}
		s.until("LOW has its turn", func() bool { return s.Lags()["LOW"].Records == 0 })
	})
}
