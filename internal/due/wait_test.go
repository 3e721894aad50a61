package due_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"sluice/internal/due"
)

func TestAlarmRingsAtTheLastInstantItWasSetTo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		var rang []time.Duration
		a := due.NewAlarm(func() { rang = append(rang, time.Since(began)) })
		a.Stop()
		a.Set(began, began.Add(9*time.Second))
		a.Set(began, began.Add(3*time.Second))
		a.Set(began, began.Add(5*time.Second))
		<-time.After(20 * time.Second)
		synctest.Wait()
		if len(rang) != 1 || rang[0] != 5*time.Second {
			t.Fatalf("rang at %v, want once at 5s", rang)
		}

		now := time.Now()
		a.Set(now, now.Add(time.Second))
		a.Stop()
		<-time.After(2 * time.Second)
		synctest.Wait()
		if len(rang) != 1 {
			t.Fatalf("a stopped alarm rang at %v", rang[1:])
		}

		now = time.Now()
		a.Set(now, now.Add(-time.Second))
		synctest.Wait()
		if len(rang) != 2 || rang[1] != 22*time.Second {
			t.Fatalf("rang at %v, want for a past instant at once", rang)
		}
	})
}

func TestSleeper(t *testing.T) {
	cases := []struct {
		name  string
		limit time.Duration
		until time.Duration
		wake  time.Duration
		want  time.Duration
	}{
		{name: "until the instant", until: 5 * time.Second, want: 5 * time.Second},
		{name: "an instant in the past", until: -time.Second},
		{name: "at most the limit", limit: 3 * time.Second, until: 5 * time.Second, want: 3 * time.Second},
		{name: "instant before the limit", limit: 9 * time.Second, until: 5 * time.Second, want: 5 * time.Second},
		{name: "no instant", limit: 3 * time.Second, want: 3 * time.Second},
		{name: "woken", limit: 9 * time.Second, until: 5 * time.Second, wake: time.Second, want: time.Second},
		{name: "woken without instant or limit", wake: 4 * time.Second, want: 4 * time.Second},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := due.NewSleeper(c.limit, nil)
				began := time.Now()
				if c.wake > 0 {
					time.AfterFunc(c.wake, s.Wake)
				}
				var until time.Time
				if c.until != 0 {
					until = began.Add(c.until)
				}
				if err := s.Until(t.Context(), until); err != nil {
					t.Fatal(err)
				}
				if slept := time.Since(began); slept != c.want {
					t.Fatalf("slept %v, want %v", slept, c.want)
				}
			})
		})
	}
}

func TestWakeUpIsNotMissed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := due.NewSleeper(0, nil)
		s.Wake()
		s.Wake()
		began := time.Now()
		for range 2 {
			if err := s.Until(t.Context(), began.Add(time.Second)); err != nil {
				t.Fatal(err)
			}
		}
		if slept := time.Since(began); slept != time.Second {
			t.Fatalf("slept %v, want the wake-ups to end one sleep", slept)
		}
	})
}

func TestSleeperEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := due.NewSleeper(time.Hour, nil)
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		began := time.Now()
		if err := s.Until(ctx, time.Time{}); !errors.Is(err, context.Canceled) || time.Since(began) != time.Second {
			t.Fatalf("slept %v, ended with %v", time.Since(began), err)
		}
		s.Wake()
		if err := s.Until(ctx, time.Time{}); !errors.Is(err, context.Canceled) {
			t.Fatalf("a canceled sleep ended with %v", err)
		}
	})
}
