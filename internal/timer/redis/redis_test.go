package redis_test

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"sluice/internal/redisdb"
	"sluice/internal/testkit"
	"sluice/internal/timer"
	"sluice/internal/timer/redis"
	"sluice/internal/timer/triggertest"
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

// closer is a trigger that can be closed, as both are.
type closer interface {
	timer.Trigger
	Close()
}

// kind makes one of the two triggers.
type kind func(ctx context.Context, db *redisdb.DB, o redis.Options) (closer, error)

func dueSet(ctx context.Context, db *redisdb.DB, o redis.Options) (closer, error) {
	return redis.New(ctx, db, o)
}

func connect(t testing.TB, url, prefix string) *redisdb.DB {
	t.Helper()
	db, err := redisdb.Open(t.Context(), redisdb.Options{URL: url, Prefix: prefix})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	return db
}

// open returns a trigger with a connection of its own, like another process.
func open(t testing.TB, make kind, url, prefix string, o redis.Options) closer {
	t.Helper()
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	trigger, err := make(t.Context(), connect(t, url, prefix), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(trigger.Close)
	return trigger
}

func conform(t *testing.T, make kind, url string, features triggertest.Features) {
	triggertest.Run(t, triggertest.Factory{
		Features: features,
		New: func(t *testing.T, c triggertest.Config) triggertest.Open {
			prefix := testkit.Prefix(t)
			return func(t *testing.T) timer.Trigger {
				return open(t, make, url, prefix, redis.Options{Grace: c.Grace, MaxWait: c.MaxWait})
			}
		},
	})
}

func TestConformance(t *testing.T) {
	t.Parallel()
	conform(t, dueSet, testkit.Redis(t), triggertest.Features{Shared: true})
}

func TestConformanceOnACluster(t *testing.T) {
	t.Parallel()
	conform(t, dueSet, testkit.RedisCluster(t), triggertest.Features{Shared: true})
}

// watcher looks into Redis, and does what a person with redis-cli can do.
type watcher struct {
	*testing.T
	db *redisdb.DB
}

func watch(t *testing.T, url, prefix string) *watcher {
	t.Helper()
	return &watcher{t, connect(t, url, prefix)}
}

func (w *watcher) do(words ...string) rueidis.RedisResult {
	return w.db.Client.Do(context.WithoutCancel(w.Context()), w.db.Client.B().Arbitrary(words...).Build())
}

func (w *watcher) must(words ...string) string {
	w.Helper()
	m, err := w.do(words...).ToMessage()
	if err != nil && !rueidis.IsRedisNil(err) {
		w.Fatalf("%v: %v", words, err)
	}
	text, _ := m.ToString()
	return text
}

// until asks until a condition holds. Between two questions it is blocked in
// Redis for a moment.
func (w *watcher) until(what string, condition func() bool) {
	w.Helper()
	end := time.Now().Add(time.Minute)
	for !condition() {
		if time.Now().After(end) {
			w.Fatalf("%s did not happen", what)
		}
		w.db.Client.Do(w.Context(), w.db.Client.B().Arbitrary("BLPOP").Keys(w.db.Key("never")).Args("0.01").Blocking())
	}
}

// calls returns how often commands were called, by scripts too.
func (w *watcher) calls() map[string]int {
	w.Helper()
	calls := map[string]int{}
	for line := range strings.Lines(w.must("INFO", "commandstats")) {
		if rest, ok := strings.CutPrefix(line, "cmdstat_"); ok {
			name, stats, _ := strings.Cut(rest, ":calls=")
			n := 0
			for _, digit := range stats[:strings.IndexByte(stats, ',')] {
				n = n*10 + int(digit-'0')
			}
			calls[name] = n
		}
	}
	return calls
}

func set(t *testing.T, trigger timer.Trigger, at time.Time, ids ...string) {
	t.Helper()
	dues := make([]timer.Due, len(ids))
	for i, id := range ids {
		dues[i] = timer.Due{ID: id, At: at}
	}
	if err := trigger.Set(t.Context(), dues...); err != nil {
		t.Fatalf("set: %v", err)
	}
}
