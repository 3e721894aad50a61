package redis_test

import (
	"strings"
	"testing"
	"time"

	"sluice/internal/backend/redis"
	"sluice/internal/backoff"
	"sluice/internal/testkit"
)

// BenchmarkEventLogIdle counts what three idle consumers, each of its own process, send
// to Redis with the lease that is the default.
func BenchmarkEventLogIdle(b *testing.B) {
	const consumers, watch = 3, 30 * time.Second
	url := testkit.StartRedis(b).URL()
	joinAtOnce(b, consumers, url, "idle", redis.EventLogOptions{}).await(b, time.Minute)
	db := connect(b, url, "")
	for range b.N {
		// What follows from joining is over.
		backoff.Sleep(b.Context(), 2*time.Second)
		before := commandCalls(b, db)
		backoff.Sleep(b.Context(), watch)
		sent := 0
		for name, n := range commandCalls(b, db) {
			if name == "evalsha" || strings.HasPrefix(name, "xread") || name == "ping" || strings.HasPrefix(name, "client") {
				sent += n - before[name]
			}
		}
		b.ReportMetric(float64(sent)/consumers*(10*time.Second).Seconds()/watch.Seconds(), "commands/10s")
	}
}
