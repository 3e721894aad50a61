package refresh_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"sluice/internal/quota/rate"
	"sluice/internal/refresh"
)

// prefetching is a stand whose entities were stored at once, a long time ago.
func prefetching(t *testing.T, up refresh.Upstream, n, perSecond int, change ...func(*stand)) *stand {
	t.Helper()
	s := newStand(t, up, append([]func(*stand){func(s *stand) {
		s.settings.Prefetches, s.settings.PerSecond = true, func(int) int { return perSecond }
	}}, change...)...)
	rows := make([]refresh.Refreshed, n)
	for i := range rows {
		f := is(`"v"`)
		rows[i] = refresh.Refreshed{Entity: entity(fmt.Sprintf("key-%d", i)), Version: 1, At: s.now(), Body: f.Body, Hash: f.Hash}
	}
	_, err := s.parts.Snapshots.Save(t.Context(), rows)
	s.check(err)
	return s
}

func TestPrefetchByTier(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		up := always(`"v"`)
		s := prefetching(t, up, 2, 50)
		s.start()
		s.get("key-0")
		s.pass(59 * time.Minute)
		if up.all() != 0 {
			t.Errorf("%d calls before anything was due", up.all())
		}
		s.pass(12 * time.Hour)
		if n := up.called("key-0"); n < 11 || n > 13 || up.called("key-1") != 0 {
			t.Errorf("in 13 hours the hot one was called for %d times, the cold one %d times", n, up.called("key-1"))
		}
		s.pass(12 * time.Hour)
		if n := up.called("key-1"); n != 1 {
			t.Errorf("in 25 hours the cold one was called for %d times", n)
		}
	})
}

func TestPrefetchIsPacedAndNeverDoubles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		up := always(`"v"`)
		const n, perSecond = 1000, 50
		s := prefetching(t, up, n, perSecond)
		s.pass(25 * time.Hour)
		s.start()
		s.pass(4 * time.Second)
		first := up.all()
		if first < 3*perSecond || first > 4*perSecond+perSecond/5 {
			t.Errorf("%d calls in four seconds", first)
		}
		// What cannot be published is not forgotten for a day.
		s.breaks(down, "Publish")
		s.pass(time.Second)
		s.breaks(nil, "Publish")
		s.until("all are refreshed", func() bool { return up.all() >= n })
		s.pass(time.Hour)
		for i := range n {
			if calls := up.called(fmt.Sprintf("key-%d", i)); calls != 1 {
				t.Fatalf("%d was called for %d times", i, calls)
			}
		}
	})
}

func TestPrefetchStandsBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hold := make(chan struct{})
		up := scripted(func(_ context.Context, key string, _ int) refresh.Fetched {
			if key[0] == 'h' {
				<-hold
			}
			return is(`"v"`)
		})
		s := prefetching(t, up, 100, 50)
		s.pass(25 * time.Hour)
		var urgent []string
		for i := range 1000 {
			urgent = append(urgent, fmt.Sprintf("high-%d", i))
		}
		_, err := s.ask(high, urgent...)
		s.check(err)
		s.Lags()
		synctest.Wait() // the figure is there
		s.start()
		s.pass(5 * time.Minute)
		for i := range 100 {
			if n := up.called(fmt.Sprintf("key-%d", i)); n != 0 {
				t.Fatalf("prefetched while 1,000 others wait: key-%d", i)
			}
		}
		close(hold)
		s.until("then it goes on", func() bool { return up.called("key-99") == 1 })
	})
}

func TestPrefetchLeavesAReserve(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		up := always(`"v"`)
		s := prefetching(t, up, 1000, 50, func(s *stand) {
			s.limits.Daily, s.limits.DailyReserve, s.settings.DailyReserve = 500, 200, 200
		})
		s.pass(25 * time.Hour)
		s.start()
		s.pass(3 * time.Hour)
		if calls := up.all(); calls < 280 || calls > 300 {
			t.Errorf("%d calls of a day of 500 with a reserve of 200", calls)
		}
		s.want(refresh.Published, high, "reader")
		s.until("the reserve is there for readers", s.stored("reader"))
	})
}

// zoned is an upstream that says where its days are.
type zoned struct {
	*script
	limits rate.Limits
}

func (z zoned) Limits() rate.Limits { return z.limits }

// TestPrefetchHoursAreTheUpstreams: whatever zone the machine is in; but what people
// have configured comes first.
func TestPrefetchHoursAreTheUpstreams(t *testing.T) {
	seoul, err := time.LoadLocation("Asia/Seoul")
	if err != nil {
		t.Fatal(err)
	}
	chosen := time.FixedZone("somewhere", 5*3600)
	for name, tc := range map[string]struct {
		declared, configured *time.Location
		hour                 int
	}{
		"declared": {declared: seoul, hour: 19}, "none": {hour: 10}, "configured": {declared: seoul, configured: chosen, hour: 15},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				limits := plenty
				limits.Zone = tc.declared
				begin := time.Now()
				var hours sync.Map
				s := newStand(t, zoned{always(`"v"`), limits}, func(s *stand) {
					s.limits, s.settings.Prefetches, s.settings.Zone = limits, true, tc.configured
					s.settings.PerSecond = func(hour int) int { hours.Store(hour, true); return 1 }
					s.now = func() time.Time {
						return time.Date(2026, 10, 16, 10, 30, 0, 0, time.UTC).Add(time.Since(begin)).In(time.FixedZone("the machine", -7*3600))
					}
				})
				s.start()
				s.pass(10 * time.Minute)
				seen := 0
				hours.Range(func(hour, _ any) bool {
					if seen++; hour != tc.hour {
						t.Errorf("half past ten is taken for the hour %v, want %d", hour, tc.hour)
					}
					return true
				})
				if seen != 1 {
					t.Errorf("%d hours in ten minutes", seen)
				}
			})
		})
	}
}

// TestEveningIsLeftToReaders: unless somebody says otherwise.
func TestEveningIsLeftToReaders(t *testing.T) {
	for hour, most := range map[int]int{18: 250, 19: 150, 23: 150, 0: 250} {
		synctest.Test(t, func(t *testing.T) {
			begin := time.Now()
			up := always(`"v"`)
			s := prefetching(t, up, 3000, 0, func(s *stand) {
				s.settings.PerSecond = nil
				s.now = func() time.Time { return time.Date(2026, 10, 16, hour, 0, 0, 0, time.UTC).Add(time.Since(begin)) }
			})
			s.pass(24*time.Hour + time.Minute)
			s.start()
			s.pass(6 * time.Second)
			if n := up.all(); n < 4*most || n > 7*most {
				t.Errorf("at %d in six seconds %d calls, want about %d a second", hour, n, most)
			}
		})
	}
}
