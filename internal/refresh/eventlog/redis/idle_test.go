package redis_test

import (
	"strings"
	"testing"
	"time"

	"sluice/internal/redisdb"
	"sluice/internal/refresh/eventlog/redis"
	"sluice/internal/testkit"
)

// BenchmarkIdle counts what three idle consumers, each of its own process, send
// to Redis with the lease that is the default.
func BenchmarkIdle(b *testing.B) {
	const consumers, watch = 3, 30 * time.Second
	url := testkit.StartRedis(b).URL()
	joinAtOnce(b, consumers, url, "idle", redis.Options{}).await(b, time.Minute)
	db, err := redisdb.Open(b.Context(), redisdb.Options{URL: url})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(db.Close)
	for range b.N {
		// What follows from joining is over.
		redisdb.Pause(b.Context(), 2*time.Second)
		before := commands(b, db)
		redisdb.Pause(b.Context(), watch)
		sent := 0
		for name, n := range commands(b, db) {
			if name == "evalsha" || strings.HasPrefix(name, "xread") || name == "ping" || strings.HasPrefix(name, "client") {
				sent += n - before[name]
			}
		}
		b.ReportMetric(float64(sent)/consumers*(10*time.Second).Seconds()/watch.Seconds(), "commands/10s")
	}
}
