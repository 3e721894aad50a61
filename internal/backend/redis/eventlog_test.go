package redis_test

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	"sluice/internal/backend/redis"
	"sluice/internal/refresh"
	"sluice/internal/refresh/refreshtest"
	"sluice/internal/testkit"
)

const (
	logMaxWait = time.Second
	logLease   = 6 * time.Second
)

// openLog returns a log with a connection of its own, like another process.
func openLog(tb testing.TB, url, prefix string, o redis.EventLogOptions) *redis.EventLog {
	tb.Helper()
	db, err := redis.Open(tb.Context(), redis.Options{URL: url, Prefix: prefix})
	if err != nil {
		tb.Fatalf("open: %v", err)
	}
	o.Log = slog.New(slog.DiscardHandler)
	l := redis.NewEventLog(db, o)
	tb.Cleanup(func() {
		// Its server may be gone.
		_ = l.Close(context.WithoutCancel(tb.Context()))
		db.Close()
	})
	return l
}

// sharedLog is a log that several processes have open.
type sharedLog struct {
	url, prefix string
	mu          sync.Mutex
	logs        []*redis.EventLog
}

func (s *sharedLog) open(t *testing.T) *redis.EventLog {
	l := openLog(t, s.url, s.prefix, redis.EventLogOptions{MaxWait: logMaxWait, Lease: logLease})
	s.mu.Lock()
	defer s.mu.Unlock()
	s.logs = append(s.logs, l)
	return l
}

func (s *sharedLog) instance(t *testing.T) *refreshtest.EventLogInstance {
	return &refreshtest.EventLogInstance{
		EventLog: s.open(t),
		Another:  func(t *testing.T) refresh.EventLog { return s.open(t) },
		Kill: func(t *testing.T, c refresh.LogConsumer) {
			consumer, ok := c.(*redis.Consumer)
			if !ok {
				t.Fatalf("%T is of another log", c)
			}
			consumer.Vanish()
		},
		Reopen: func(t *testing.T) *refreshtest.EventLogInstance {
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

func conformEventLog(t *testing.T, url string) {
	refreshtest.RunEventLog(t, refreshtest.EventLogFactory{
		New: func(t *testing.T) *refreshtest.EventLogInstance {
			return (&sharedLog{url: url, prefix: testkit.Prefix(t)}).instance(t)
		},
		MaxWait: logMaxWait,
		// Those that are left look when the lease of the dead one ends.
		Notice: logLease + time.Second,
	})
}

func TestEventLogConformance(t *testing.T) {
	t.Parallel()
	conformEventLog(t, testkit.Redis(t))
}

func TestEventLogConformanceOnACluster(t *testing.T) {
	t.Parallel()
	conformEventLog(t, testkit.RedisCluster(t))
}
