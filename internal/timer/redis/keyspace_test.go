package redis_test

import (
	"context"
	"testing"

	"sluice/internal/redisdb"
	"sluice/internal/testkit"
	"sluice/internal/timer/redis"
	"sluice/internal/timer/triggertest"
)

func keyspace(ctx context.Context, db *redisdb.DB, o redis.Options) (closer, error) {
	return redis.NewKeyspace(ctx, db, o)
}

// quick returns a URL of a Redis that looks for expired keys as often as it
// can: the cases ask whether the trigger is right, not how late Redis is.
func quick(t *testing.T, url string) string {
	t.Helper()
	for _, node := range connect(t, url, "quick").Client.Nodes() {
		for name, value := range map[string]string{"hz": "500", "active-expire-effort": "10"} {
			if err := node.Do(t.Context(), node.B().ConfigSet().ParameterValue().ParameterValue(name, value).Build()).Error(); err != nil {
				t.Fatal(err)
			}
		}
	}
	return url
}

func TestKeyspaceConformance(t *testing.T) {
	t.Parallel()
	conform(t, keyspace, quick(t, testkit.Redis(t)), triggertest.Features{Shared: true, Unordered: true})
}

func TestKeyspaceConformanceOnACluster(t *testing.T) {
	t.Parallel()
	conform(t, keyspace, quick(t, testkit.RedisCluster(t)), triggertest.Features{Shared: true, Unordered: true})
}
