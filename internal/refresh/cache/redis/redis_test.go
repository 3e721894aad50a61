package redis_test

import (
	"context"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"sluice/internal/redisdb"
	"sluice/internal/refresh"
	"sluice/internal/refresh/cache/redis"
	"sluice/internal/testkit"
)

func TestMain(m *testing.M) { os.Exit(testkit.Main(m)) }

var entity = refresh.Entity{Source: "maplestory", Key: "basic:abc"}

// store is a truth that counts how often it is asked.
type store struct {
	version atomic.Int64
	// checked is when the upstream was asked, in microseconds.
	checked atomic.Int64
	asked   atomic.Int64
}

func (s *store) load(context.Context) (refresh.Cached, error) {
	s.asked.Add(1)
	return refresh.Cached{Snapshot: refresh.Snapshot{
		Entity: entity, Body: []byte(`{"a":1}`), Version: s.version.Load(), CheckedAt: time.UnixMicro(s.checked.Load()),
	}, Found: true}, nil
}

func open(t *testing.T, url string) *redis.Cache {
	t.Helper()
	db, err := redisdb.Open(t.Context(), redisdb.Options{URL: url, Cache: 8 << 20})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	return redis.New(db, redis.Options{})
}

func get(t *testing.T, c *redis.Cache, s *store) int64 {
	t.Helper()
	value, err := c.Get(t.Context(), entity, s.load)
	if err != nil || !value.Found || string(value.Body) != `{"a":1}` {
		t.Fatalf("got %+v, %v", value, err)
	}
	return value.Version
}

// until asks again and again until an answer is right: Redis tells of a change
// a moment after it happened.
func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	retry := time.NewTicker(5 * time.Millisecond)
	defer retry.Stop()
	for !holds() {
		select {
		case <-retry.C:
		case <-t.Context().Done():
			t.Fatalf("%s did not come true", what)
		}
	}
}

func TestProcessesShareWhatWasRead(t *testing.T) {
	server := testkit.StartRedis(t)
	one, other, s := open(t, server.URL()), open(t, server.URL()), &store{}
	s.version.Store(1)
	get(t, one, s)
	until(t, "reads without the store", func() bool {
		before := s.asked.Load()
		get(t, one, s)
		get(t, other, s)
		return s.asked.Load() == before
	})
	before := s.asked.Load()
	for range 100 {
		get(t, one, s)
		get(t, other, s)
	}
	if asked := s.asked.Load() - before; asked != 0 {
		t.Errorf("200 reads of what is cached asked the store %d times", asked)
	}
}

func TestWhatIsForgottenIsForgottenEverywhere(t *testing.T) {
	server := testkit.StartRedis(t)
	one, other, s := open(t, server.URL()), open(t, server.URL()), &store{}
	s.version.Store(1)
	get(t, one, s)
	get(t, other, s)
	s.version.Store(2)
	one.Forget(t.Context(), refresh.Change{Entity: entity})
	until(t, "the new value", func() bool { return get(t, other, s) == 2 && get(t, one, s) == 2 })
	// From then on nobody gets the old one again, although a slow reader of the
	// store may try to put it back while it settles.
	for range 50 {
		if v := get(t, other, s); v != 2 {
			t.Fatalf("got version %d again", v)
		}
	}
}

// TestWhatIsNewIsKeptAtOnce: who reads what was stored last may keep it, and who
// read what was there before may not.
func TestWhatIsNewIsKeptAtOnce(t *testing.T) {
	server := testkit.StartRedis(t)
	one, other, s := open(t, server.URL()), open(t, server.URL()), &store{}
	get(t, one, s)
	stored := time.UnixMicro(1000)
	one.Forget(t.Context(), refresh.Change{Entity: entity, CheckedAt: stored})
	until(t, "a read of the store", func() bool {
		before := s.asked.Load()
		get(t, other, s)
		return s.asked.Load() > before
	})
	// It read an old value: that is not kept.
	before := s.asked.Load()
	get(t, one, s)
	if s.asked.Load() == before {
		t.Error("a value was kept that is older than what was stored")
	}
	s.checked.Store(stored.UnixMicro())
	until(t, "a read without the store", func() bool {
		before := s.asked.Load()
		get(t, one, s)
		get(t, other, s)
		return s.asked.Load() == before
	})
}

func TestWithoutRedisTheStoreAnswers(t *testing.T) {
	server := testkit.StartRedis(t)
	c, s := open(t, server.URL()), &store{}
	s.version.Store(1)
	get(t, c, s)
	server.Stop()
	s.version.Store(2)
	until(t, "an answer of the store", func() bool { return get(t, c, s) == 2 })
	before := s.asked.Load()
	get(t, c, s)
	if s.asked.Load() == before {
		t.Error("the store was not asked although Redis is away")
	}
}
