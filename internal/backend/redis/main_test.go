package redis_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"testing"
	"time"

	"sluice/internal/backend/redis"
	"sluice/internal/testkit"
)

// TestMain: the tests of all adapters share a Redis and a cluster, each under a
// prefix of its own. One that stops, freezes, empties or measures a server has
// started it for itself.
func TestMain(m *testing.M) {
	// The tests wait for Redis and for real time and do little besides: many may
	// wait at once, however few processors there are.
	if err := flag.Set("test.parallel", "32"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(testkit.Main(m))
}

// connect returns a connection of its own, like another process.
func connect(t testing.TB, url, prefix string) *redis.DB {
	t.Helper()
	db, err := redis.Open(t.Context(), redis.Options{URL: url, Prefix: prefix})
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	t.Cleanup(db.Close)
	return db
}

// connectOwn is connect under a prefix of the test's own.
func connectOwn(t testing.TB, url string) *redis.DB {
	t.Helper()
	return connect(t, url, testkit.Prefix(t))
}

// until waits for something that is asked about again and again.
func until(t testing.TB, what string, ok func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	again := time.NewTicker(10 * time.Millisecond)
	defer again.Stop()
	for !ok() {
		select {
		case <-again.C:
		case <-ctx.Done():
			t.Fatalf("still no %s", what)
		}
	}
}
