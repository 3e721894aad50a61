package kafka_test

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"

	"sluice/internal/backend/kafka"
	"sluice/internal/refresh"
	"sluice/internal/refresh/refreshtest"
	"sluice/internal/testkit"
)

func TestMain(m *testing.M) {
	// The tests wait for real time and do little besides: many may wait at
	// once, however few processors there are.
	if err := flag.Set("test.parallel", "8"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(testkit.Main(m))
}

// fake starts a broker inside this process.
func fake(t *testing.T) []string {
	t.Helper()
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.GroupMinSessionTimeout(100*time.Millisecond))
	if err != nil {
		t.Fatalf("start kfake: %v", err)
	}
	t.Cleanup(cluster.Close)
	return cluster.ListenAddrs()
}

// options are those of a test that does not want to wait for long; but opening
// forty logs at once may take a busy machine its time.
func options(brokers []string, prefix string) kafka.Options {
	return kafka.Options{
		Brokers: brokers, Prefix: prefix + ".", Log: slog.New(slog.DiscardHandler),
		Limit: 2 * time.Minute, SessionTimeout: 2 * time.Second, RevokeWait: 100 * time.Millisecond, MaxWait: 2 * time.Second,
	}
}

func open(t *testing.T, o kafka.Options) *kafka.EventLog {
	t.Helper()
	log, err := kafka.NewEventLog(t.Context(), o)
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	t.Cleanup(func() {
		if err := log.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return log
}

func TestConformance(t *testing.T) {
	t.Parallel()
	conform(t, testkit.KafkaBrokers(testkit.Kafka(t)))
}

func TestConformanceOfKfake(t *testing.T) {
	t.Parallel()
	conform(t, fake(t))
}

func conform(t *testing.T, brokers []string) {
	refreshtest.RunEventLog(t, refreshtest.EventLogFactory{
		New:     func(t *testing.T) *refreshtest.EventLogInstance { return newInstance(t, brokers, testkit.Prefix(t)) },
		MaxWait: 2 * time.Second,
		Notice:  10 * time.Second,
	})
}

// newInstance is the log with this prefix as a process sees it.
func newInstance(t *testing.T, brokers []string, prefix string) *refreshtest.EventLogInstance {
	t.Helper()
	var mu sync.Mutex
	var logs []*kafka.EventLog
	another := func(t *testing.T) refresh.EventLog {
		o := options(brokers, prefix)
		// A busy machine lets a consumer be silent for longer than two seconds.
		o.SessionTimeout = 6 * time.Second
		log := open(t, o)
		mu.Lock()
		defer mu.Unlock()
		logs = append(logs, log)
		return log
	}
	return &refreshtest.EventLogInstance{
		EventLog: another(t),
		Another:  another,
		Kill:     func(_ *testing.T, c refresh.LogConsumer) { kafka.Kill(c) },
		Reopen: func(t *testing.T) *refreshtest.EventLogInstance {
			mu.Lock()
			for _, log := range logs {
				log.KillAll()
			}
			mu.Unlock()
			return newInstance(t, brokers, prefix)
		},
	}
}
