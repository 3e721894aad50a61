package redis_test

import (
	"strings"
	"testing"
	"time"

	"sluice/internal/backend/redis"
	"sluice/internal/due"
	"sluice/internal/testkit"
)

// TestDueSetOfEarlierVersions: their set is removed, and the new one asks to be
// filled, so that nothing is lost.
func TestDueSetOfEarlierVersions(t *testing.T) {
	t.Parallel()
	url, prefix := testkit.Redis(t), testkit.Prefix(t)
	w := newWatcher(t, url, prefix)
	set, epoch := w.key("timers:due"), w.key("timers:epoch")
	w.must("ZADD", set, "1000", "tea")
	w.must("SET", epoch, "0123456789abcdef 1000")
	trigger := openTrigger(t, dueSet, url, prefix, redis.DueSetOptions{MaxWait: 100 * time.Millisecond})
	timersDone(t, trigger, mustTake(t, trigger, due.RebuildID))
	timersNever(t, trigger, "tea", 300*time.Millisecond)
	if left := w.number("EXISTS", set, epoch); left > 0 {
		t.Errorf("%d keys of the earlier version are left", left)
	}
}

// TestKeyspaceOfEarlierVersions: their keys are those of this one, and their epoch,
// which names no time, is no loss.
func TestKeyspaceOfEarlierVersions(t *testing.T) {
	t.Parallel()
	url, o := quick(t, testkit.StartRedis(t).URL()), redis.DueSetOptions{MaxWait: 100 * time.Millisecond}
	first, w := openTrigger(t, keyspace, url, "earlier", o), newWatcher(t, url, "earlier")
	timersDone(t, first, mustTake(t, first, due.RebuildID))
	first.Close()
	run, _, _ := strings.Cut(w.text("GET", w.key("timer:epoch")), " ")
	w.must("SET", w.key("timer:epoch"), run)
	trigger := openTrigger(t, keyspace, url, "earlier", o)
	timersNever(t, trigger, due.RebuildID, 300*time.Millisecond)
	w.must("SET", w.key("timer:schedule:tea"), "", "PX", "100")
	mustTake(t, trigger, "tea")
}
