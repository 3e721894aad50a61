package redis_test

import (
	"log/slog"
	"testing"

	"sluice/internal/backend/redis"
	"sluice/internal/testkit"
	"sluice/internal/watch"
	"sluice/internal/watch/watchtest"
)

// TestSignalsConform: on one server and on a cluster.
func TestSignalsConform(t *testing.T) {
	for name, url := range map[string]func(testing.TB) string{"single": testkit.Redis, "cluster": testkit.RedisCluster} {
		t.Run(name, func(t *testing.T) {
			address := url(t)
			watchtest.Run(t, func(t *testing.T) watchtest.Factory {
				prefix := testkit.Prefix(t)
				return func(t *testing.T) watch.Signals {
					db, err := redis.Open(t.Context(), redis.Options{URL: address, Prefix: prefix})
					if err != nil {
						t.Fatal(err)
					}
					s := redis.NewSignals(db, db.Key("changed"), slog.New(slog.DiscardHandler))
					t.Cleanup(func() {
						s.Close()
						db.Close()
					})
					return s
				}
			})
		})
	}
}
