package refresh_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"sluice/internal/backoff"
	"sluice/internal/domain"
	"sluice/internal/refresh"
)

func names(n int) []string {
	keys := make([]string, n)
	for i := range keys {
		keys[i] = fmt.Sprintf("key-%d", i)
	}
	return keys
}

// TestStoreIsDown: what was called for is held, nothing more is called for, and
// nothing is lost or given up.
func TestStoreIsDown(t *testing.T) {
	for name, fault := range map[string]error{
		"unavailable": errDown, "a bug": errors.New("odd"), "too slow": context.DeadlineExceeded,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const places = 10
				up := always(`"v"`)
				s := newStand(t, up, func(s *stand) { s.settings.HighInFlight, s.settings.LowInFlight = places, places })
				s.breaks(func(context.Context) error { return fault }, "Save", "SetStatus", "AddDeadLetters")
				s.start()
				keys := names(100)
				_, err := s.ask(high, keys...)
				s.check(err)
				s.pass(10 * time.Minute)
				if up.all() != places || s.paused() != 1 || len(s.letters()) != 0 || s.Worker().Counters().Dead.Load() != 0 {
					t.Errorf("%d calls, %d consumers paused, %d letters", up.all(), s.paused(), len(s.letters()))
				}
				if state := s.Breakers()["store"]; state == backoff.BreakerClosed && name != "a bug" {
					t.Errorf("the breaker is %s", state)
				}
				tried := s.times("Save")
				if name != "a bug" && tried > 100 {
					t.Errorf("a store that is down was asked %d times", tried)
				}
				s.breaks(nil, "Save", "SetStatus", "AddDeadLetters")
				s.until("all are stored", s.stored(keys...))
				if up.all() != len(keys) || s.paused() != 0 || len(s.letters()) != 0 || s.Breakers()["store"] != backoff.BreakerClosed {
					t.Errorf("%d calls, %d paused, %d letters, breaker %s", up.all(), s.paused(), len(s.letters()), s.Breakers()["store"])
				}
			})
		})
	}
}

// TestStoreRefusesOne: the others of the same transaction are stored.
func TestStoreRefusesOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStand(t, always(`"v"`))
		odd := "odd"
		for len(odd) < 2000 { // longer than a key may be
			odd += odd
		}
		keys := names(30)
		_, err := s.ask(high, append(keys, odd)...)
		s.check(err)
		s.start()
		s.until("the others are stored", s.stored(keys...))
		s.until("it is a dead letter", func() bool { return s.Worker().Counters().Dead.Load() == 1 })
		s.wantCounts(map[string]int64{"REFUSED_BY_STORE": 1})
	})
}

func TestStoreIsSlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStand(t, always(`"v"`), func(s *stand) { s.settings.FreshFor = time.Hour })
		s.start()
		keys := names(3)
		_, err := s.ask(high, keys...)
		s.check(err)
		s.until("all are stored", s.stored(keys...))
		for _, key := range keys {
			_, err := s.Get(t.Context(), entity(key))
			s.check(err)
		}
		read := func(freshness refresh.Freshness, most time.Duration) {
			t.Helper()
			for _, key := range keys {
				began := time.Now()
				a, err := s.Get(t.Context(), entity(key))
				if took := time.Since(began); err != nil || string(a.Snapshot) != `"v"` || a.Freshness != freshness || took > most {
					t.Errorf("after %s: %+v, %v", took, a, err)
				}
			}
		}
		s.breaks(hang(10*time.Second), "Snapshot", "Save", "SetStatus")
		read(refresh.Fresh, 0)
		s.pass(10 * time.Minute) // longer than values are cached for
		read(refresh.Fresh, 100*time.Millisecond)
		s.breaks(down, "Snapshot", "Save", "SetStatus")
		s.pass(10 * time.Minute)
		read(refresh.Fresh, 100*time.Millisecond)
		s.pass(time.Hour)
		read(refresh.Stale, 100*time.Millisecond)
		s.breaks(nil, "Snapshot", "Save", "SetStatus")
		s.pass(10 * time.Minute)
		read(refresh.Fresh, 100*time.Millisecond)
	})
}

// TestRequestsAreRefusedAtOnce while what carries them is down; reads go on.
func TestRequestsAreRefusedAtOnce(t *testing.T) {
	for _, operation := range []string{"Acquire", "Publish"} {
		t.Run(operation, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStand(t, always(`"v"`))
				s.start()
				s.want(refresh.Published, high, "known")
				s.until("it is stored", s.stored("known"))
				s.breaks(func(context.Context) error {
					time.Sleep(2 * time.Second)
					return errDown
				}, operation)
				for i := range 10 {
					if _, err := s.ask(high, fmt.Sprint(i)); domain.CodeOf(err) != domain.CodeUnavailable {
						t.Fatalf("request %d: %v", i, err)
					}
				}
				if s.Breakers()["redis"] != backoff.BreakerOpen {
					t.Fatalf("the breaker is %s", s.Breakers()["redis"])
				}
				began, tried := time.Now(), s.times(operation)
				_, err := s.ask(high, "another")
				if domain.CodeOf(err) != domain.CodeUnavailable || time.Since(began) > 0 || s.times(operation) != tried {
					t.Errorf("after %s: %v", time.Since(began), err)
				}
				if a, err := s.Get(t.Context(), entity("known")); err != nil || a.Freshness != refresh.Fresh {
					t.Errorf("a read: %+v, %v", a, err)
				}
				s.breaks(nil, operation)
				s.pass(31 * time.Second)
				s.want(refresh.Published, high, "another")
				s.until("it is stored", s.stored("another"))
			})
		})
	}
}

// TestWorkersOutliveTheirLog: they come back when it does.
func TestWorkersOutliveTheirLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStand(t, always(`"v"`))
		s.breaks(down, "Join", "Take", "Versions", "Release")
		s.start()
		keys := names(10)
		_, err := s.ask(high, keys...)
		s.check(err)
		s.pass(time.Minute)
		if joins := s.times("Join"); joins > 60 {
			t.Errorf("a log that is down was asked %d times in a minute", joins)
		}
		s.breaks(nil, "Join", "Take")
		// Neither versions nor locks are needed to carry requests out.
		s.until("all are stored", s.stored(keys...))
		s.breaks(nil, "Versions", "Release")
	})
}

func TestNoCallWithoutTheRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		up := always(`"v"`)
		s := newStand(t, up)
		s.breaks(down, "Reserve")
		s.start()
		keys := names(50)
		_, err := s.ask(high, keys[:25]...)
		s.check(err)
		_, err = s.ask(low, keys[25:]...)
		s.check(err)
		s.pass(time.Minute)
		if up.all() != 0 || s.times("Reserve") > 100 {
			t.Errorf("%d calls; the keeper was asked %d times", up.all(), s.times("Reserve"))
		}
		s.breaks(nil, "Reserve")
		s.until("all are stored", s.stored(keys...))
		if up.all() != 50 {
			t.Errorf("%d calls", up.all())
		}
	})
}
