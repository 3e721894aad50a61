package redis_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"sluice/internal/backend/redis"
	"sluice/internal/refresh"
	"sluice/internal/refresh/refreshtest"
	"sluice/internal/testkit"
)

var entity = refresh.Entity{Source: "maplestory", Key: "basic:abc"}

// countingStore is a truth that counts how often it is asked.
type countingStore struct {
	version atomic.Int64
	// checked is when the upstream was asked, in microseconds.
	checked atomic.Int64
	asked   atomic.Int64
}

func (s *countingStore) load(context.Context) (refresh.Cached, error) {
	s.asked.Add(1)
	return refresh.Cached{Snapshot: refresh.Snapshot{
		Entity: entity, Body: []byte(`{"a":1}`), Version: s.version.Load(), CheckedAt: time.UnixMicro(s.checked.Load()),
	}, Found: true}, nil
}

func openCache(t *testing.T, url string) *redis.Cache {
	t.Helper()
	db, err := redis.Open(t.Context(), redis.Options{URL: url, Cache: 8 << 20})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	return redis.NewCache(db, redis.CacheOptions{})
}

func getCached(t *testing.T, c *redis.Cache, s *countingStore) int64 {
	t.Helper()
	value, err := c.Get(t.Context(), entity, s.load)
	if err != nil || !value.Found || string(value.Body) != `{"a":1}` {
		t.Fatalf("got %+v, %v", value, err)
	}
	return value.Version
}

func TestProcessesShareWhatWasRead(t *testing.T) {
	server := testkit.StartRedis(t)
	one, other, s := openCache(t, server.URL()), openCache(t, server.URL()), &countingStore{}
	s.version.Store(1)
	getCached(t, one, s)
	until(t, "reads without the store", func() bool {
		before := s.asked.Load()
		getCached(t, one, s)
		getCached(t, other, s)
		return s.asked.Load() == before
	})
	before := s.asked.Load()
	for range 100 {
		getCached(t, one, s)
		getCached(t, other, s)
	}
	if asked := s.asked.Load() - before; asked != 0 {
		t.Errorf("200 reads of what is cached asked the store %d times", asked)
	}
}

func TestWhatIsForgottenIsForgottenEverywhere(t *testing.T) {
	server := testkit.StartRedis(t)
	one, other, s := openCache(t, server.URL()), openCache(t, server.URL()), &countingStore{}
	s.version.Store(1)
	getCached(t, one, s)
	getCached(t, other, s)
	s.version.Store(2)
	one.Forget(t.Context(), refresh.Change{Entity: entity})
	until(t, "the new value", func() bool { return getCached(t, other, s) == 2 && getCached(t, one, s) == 2 })
	// From then on nobody gets the old one again, although a slow reader of the
	// store may try to put it back while it settles.
	for range 50 {
		if v := getCached(t, other, s); v != 2 {
			t.Fatalf("got version %d again", v)
		}
	}
}

// TestWhatIsNewIsKeptAtOnce: who reads what was stored last may keep it, and who
// read what was there before may not.
func TestWhatIsNewIsKeptAtOnce(t *testing.T) {
	server := testkit.StartRedis(t)
	one, other, s := openCache(t, server.URL()), openCache(t, server.URL()), &countingStore{}
	getCached(t, one, s)
	stored := time.UnixMicro(1000)
	one.Forget(t.Context(), refresh.Change{Entity: entity, CheckedAt: stored})
	until(t, "a read of the store", func() bool {
		before := s.asked.Load()
		getCached(t, other, s)
		return s.asked.Load() > before
	})
	// It read an old value: that is not kept.
	before := s.asked.Load()
	getCached(t, one, s)
	if s.asked.Load() == before {
		t.Error("a value was kept that is older than what was stored")
	}
	s.checked.Store(stored.UnixMicro())
	until(t, "a read without the store", func() bool {
		before := s.asked.Load()
		getCached(t, one, s)
		getCached(t, other, s)
		return s.asked.Load() == before
	})
}

func TestWithoutRedisTheStoreAnswers(t *testing.T) {
	server := testkit.StartRedis(t)
	c, s := openCache(t, server.URL()), &countingStore{}
	s.version.Store(1)
	getCached(t, c, s)
	server.Stop()
	s.version.Store(2)
	until(t, "an answer of the store", func() bool { return getCached(t, c, s) == 2 })
	before := s.asked.Load()
	getCached(t, c, s)
	if s.asked.Load() == before {
		t.Error("the store was not asked although Redis is away")
	}
}

func TestCacheConformance(t *testing.T) {
	t.Parallel()
	for name, url := range map[string]func(testing.TB) string{"single": testkit.Redis, "cluster": testkit.RedisCluster} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address := url(t)
			refreshtest.RunCache(t, true, func(t *testing.T) refreshtest.CacheFactory {
				prefix := testkit.Prefix(t)
				return func(t *testing.T) refresh.Cache {
					db, err := redis.Open(t.Context(), redis.Options{URL: address, Prefix: prefix, Cache: 8 << 20})
					if err != nil {
						t.Fatal(err)
					}
					t.Cleanup(db.Close)
					return redis.NewCache(db, redis.CacheOptions{})
				}
			})
		})
	}
}
