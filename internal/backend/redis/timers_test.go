package redis_test

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"sluice/internal/backend/redis"
	"sluice/internal/due"
	"sluice/internal/due/duetest"
	"sluice/internal/testkit"
	"sluice/internal/timer"
)

// closer is a trigger that can be closed, as both are.
type closer interface {
	due.Set
	Close()
}

// kind makes one of the two triggers.
type kind func(ctx context.Context, db *redis.DB, o redis.DueSetOptions) (closer, error)

func dueSet(ctx context.Context, db *redis.DB, o redis.DueSetOptions) (closer, error) {
	return redis.NewTimerDueSet(ctx, db, o)
}

// openTrigger returns a trigger with a connection of its own, like another process.
func openTrigger(t testing.TB, make kind, url, prefix string, o redis.DueSetOptions) closer {
	t.Helper()
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	trigger, err := make(t.Context(), connect(t, url, prefix), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(trigger.Close)
	return trigger
}

func conformTrigger(t *testing.T, make kind, url string, features duetest.Features) {
	duetest.Run(t, duetest.Factory{
		Features: features,
		New: func(t *testing.T, c duetest.Config) duetest.Open {
			prefix := testkit.Prefix(t)
			return func(t *testing.T) due.Set {
				return openTrigger(t, make, url, prefix, redis.DueSetOptions{Grace: c.Grace, MaxWait: c.MaxWait})
			}
		},
	})
}

func TestTimersConformance(t *testing.T) {
	t.Parallel()
	conformTrigger(t, dueSet, testkit.Redis(t), duetest.Features{Shared: true})
}

func TestTimersConformanceOnACluster(t *testing.T) {
	t.Parallel()
	conformTrigger(t, dueSet, testkit.RedisCluster(t), duetest.Features{Shared: true})
}

// entryOf is what a timer is called in a due set; work that waits like one begins
// with a tilde.
func entryOf(id string) string {
	if strings.HasPrefix(id, "~") {
		return id
	}
	return timer.DueID(id)
}

func setTimers(t *testing.T, trigger due.Set, at time.Time, ids ...string) {
	t.Helper()
	dues := make([]due.Entry, len(ids))
	for i, id := range ids {
		dues[i] = due.Entry{ID: entryOf(id), At: at}
	}
	if err := trigger.Put(t.Context(), dues...); err != nil {
		t.Fatalf("set: %v", err)
	}
}
