package redis_test

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"testing"
	"time"

	"sluice/internal/redisdb"
	"sluice/internal/refresh/eventlog"
	"sluice/internal/refresh/eventlog/eventlogtest"
	"sluice/internal/refresh/eventlog/redis"
	"sluice/internal/testkit"
)

func TestMain(m *testing.M) {
	// The tests wait for real time and do little besides: many may wait at
	// once, however few processors there are.
	if err := flag.Set("test.parallel", "32"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(testkit.Main(m))
}

const (
	maxWait = time.Second
	lease   = 6 * time.Second
)

// open returns a log with a connection of its own, like another process.
func open(tb testing.TB, url, prefix string, o redis.Options) *redis.Log {
	tb.Helper()
	db, err := redisdb.Open(tb.Context(), redisdb.Options{URL: url, Prefix: prefix})
	if err != nil {
		tb.Fatalf("open: %v", err)
	}
	o.Log = slog.New(slog.DiscardHandler)
	l := redis.New(db, o)
	tb.Cleanup(func() {
		// Its server may be gone.
		_ = l.Close(context.WithoutCancel(tb.Context()))
		db.Close()
	})
	return l
}

// shared is a log that several processes have open.
type shared struct {
	url, prefix string
	mu          sync.Mutex
	logs        []*redis.Log
}

func (s *shared) open(t *testing.T) *redis.Log {
	l := open(t, s.url, s.prefix, redis.Options{MaxWait: maxWait, Lease: lease})
	s.mu.Lock()
	defer s.mu.Unlock()
	s.logs = append(s.logs, l)
	return l
}

func (s *shared) instance(t *testing.T) *eventlogtest.Instance {
	return &eventlogtest.Instance{
		Log:     s.open(t),
		Another: func(t *testing.T) eventlog.Log { return s.open(t) },
		Kill: func(t *testing.T, c eventlog.Consumer) {
			consumer, ok := c.(*redis.Consumer)
			if !ok {
				t.Fatalf("%T is of another log", c)
			}
			consumer.Vanish()
		},
		Reopen: func(t *testing.T) *eventlogtest.Instance {
			s.mu.Lock()
			for _, l := range s.logs {
				l.VanishAll()
			}
			s.logs = nil
			s.mu.Unlock()
			return s.instance(t)
		},
	}
}

func conform(t *testing.T, url string) {
	eventlogtest.Run(t, eventlogtest.Factory{
		New: func(t *testing.T) *eventlogtest.Instance {
			return (&shared{url: url, prefix: testkit.Prefix(t)}).instance(t)
		},
		MaxWait: maxWait,
		// Those that are left look when the lease of the dead one ends.
		Notice: lease + time.Second,
	})
}

func TestConformance(t *testing.T) {
	t.Parallel()
	conform(t, testkit.Redis(t))
}

func TestConformanceOnACluster(t *testing.T) {
	t.Parallel()
	conform(t, testkit.RedisCluster(t))
}
