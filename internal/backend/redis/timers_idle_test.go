package redis_test

import (
	"strings"
	"sync"
	"testing"
	"time"

	"sluice/internal/backend/redis"
	"sluice/internal/due"
	"sluice/internal/testkit"
)

func countFields(text, field string) (n int) {
	for one := range strings.FieldsSeq(text) {
		if one == field {
			n++
		}
	}
	return n
}

// TestTimersIdleCost: a process that waits sends one command per MaxWait, however
// many of its calls wait.
func TestTimersIdleCost(t *testing.T) {
	eachKind(t, func(t *testing.T, make kind) {
		url := testkit.StartRedis(t).URL()
		const maxWait, rounds = 400 * time.Millisecond, 6
		trigger := openTrigger(t, make, url, "idle", redis.DueSetOptions{MaxWait: maxWait})
		w := newWatcher(t, url, "idle")
		timersDone(t, trigger, mustTake(t, trigger, due.RebuildID))
		setTimers(t, trigger, time.Now().Add(time.Hour), "far")
		w.until("the subscription", func() bool { return w.subscriptions() == 1 })
		timersNever(t, trigger, "far", 2*maxWait)
		before, began := w.calls(), time.Now()
		var all sync.WaitGroup
		for range 3 {
			all.Go(func() {
				for range rounds {
					if batch, err := trigger.Take(t.Context(), 10); err != nil || len(batch.Taken) > 0 {
						t.Errorf("took %v, %v", batch.Taken, err)
					}
				}
			})
		}
		all.Wait()
		after := w.calls()
		// The measurement's own command, and what scripts call.
		for _, name := range []string{"info", "time", "get", "zrange", "zrangebyscore", "client|list"} {
			delete(after, name)
		}
		sent := 0
		for name, n := range after {
			if n -= before[name]; n > 0 {
				sent += n
				t.Logf("%s: %d", name, n)
			}
		}
		most := int(time.Since(began)/maxWait) + 1
		if sent > most {
			t.Errorf("%d commands in %v, want at most %d", sent, time.Since(began), most)
		}
	})
}

// TestSignals: announcements reach other processes.
func TestSignals(t *testing.T) {
	t.Parallel()
	url, prefix := testkit.Redis(t), testkit.Prefix(t)
	here, there := redis.NewTimerSignals(connect(t, url, prefix), nil), redis.NewTimerSignals(connect(t, url, prefix), nil)
	t.Cleanup(here.Close)
	t.Cleanup(there.Close)
	changed, end := there.Changes(t.Context())
	defer end()
	<-changed // listening begins with a value: something may have changed before
	here.Announce(t.Context())
	<-changed
}
