package redis_test

import (
	"testing"
	"time"

	"sluice/internal/backend/redis"
	"sluice/internal/testkit"
)

// TestChangesReachOthers: every process that listens hears of a change, and
// many changes are few messages.
func TestChangesReachOthers(t *testing.T) {
	t.Parallel()
	url := testkit.StartRedis(t).URL()
	here, there, w := openDispatcher(t, url, "changes", redis.DispatcherOptions{}), openDispatcher(t, url, "changes", redis.DispatcherOptions{}), newWatcher(t, url, "changes")
	subscribed := func(n int64) func() bool {
		return func() bool {
			all, err := w.do("PUBSUB", "NUMSUB", w.key("changed")).AsIntMap()
			return err == nil && all[w.key("changed")] == n
		}
	}
	first, endFirst := there.Changes(t.Context())
	second, endSecond := there.Changes(t.Context())
	w.until("the subscription", subscribed(1))
	<-first // listening begins with a value: something may have changed before
	began := time.Now()
	for range 1000 {
		here.Announce(t.Context())
	}
	took := time.Since(began)
	<-first
	<-second
	// The last one is never left out.
	w.until("the last announcement", func() bool { return w.calls()["publish"] >= 2 })
	// One at once, one after each time of silence that the announcements took.
	if n, most := w.calls()["publish"], 3+int(took/redis.AnnounceGap); n > most {
		t.Errorf("1000 changes in %v were %d messages, want at most %d", took, n, most)
	}
	endFirst()
	endFirst()
	here.Announce(t.Context())
	<-second
	endSecond()
	w.until("the end of the subscription", subscribed(0))
	third, endThird := there.Changes(t.Context())
	defer endThird()
	w.until("the subscription", subscribed(1))
	<-third
	// A process that was cut off checks on its own.
	w.must("CLIENT", "KILL", "TYPE", "pubsub")
	<-third
}
