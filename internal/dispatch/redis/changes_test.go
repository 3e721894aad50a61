package redis_test

import (
	"testing"

	"sluice/internal/dispatch/redis"
	"sluice/internal/testkit"
)

// TestChangesReachOthers: every process that listens hears of a change, and
// many changes are few messages.
func TestChangesReachOthers(t *testing.T) {
	t.Parallel()
	url := testkit.StartRedis(t).URL()
	here, there, w := open(t, url, "changes", redis.Options{}), open(t, url, "changes", redis.Options{}), watch(t, url, "changes")
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
	for range 1000 {
		here.Announce(t.Context())
	}
	<-first
	<-second
	// The last one is never left out.
	w.until("the last announcement", func() bool { return w.calls("publish") >= 2 })
	if n := w.calls("publish"); n > 3 {
		t.Errorf("1000 changes at once were %d messages", n)
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
	// Who was cut off looks for himself.
	w.must("CLIENT", "KILL", "TYPE", "pubsub")
	<-third
}
