package due_test

import (
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
