package redis_test

import (
	"testing"

	"sluice/internal/backend/redis"
	"sluice/internal/testkit"
	"sluice/internal/watch"
	"sluice/internal/watch/watchtest"
)

func TestDispatchSignalsConform(t *testing.T) {
	t.Parallel()
	url := testkit.Redis(t)
	watchtest.Run(t, func(t *testing.T) watchtest.Factory {
		prefix := testkit.Prefix(t)
		return func(t *testing.T) watch.Signals { return openDispatcher(t, url, prefix, redis.DispatcherOptions{}) }
	})
}
