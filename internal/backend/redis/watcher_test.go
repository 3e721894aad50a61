package redis_test

import (
	"context"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"sluice/internal/backend/redis"
	"sluice/internal/dispatch"
)

// watcher looks into Redis, and does what a person with redis-cli can do.
type watcher struct {
	*testing.T
	db *redis.DB
}

func newWatcher(t *testing.T, url, prefix string) *watcher {
	t.Helper()
	return &watcher{t, connect(t, url, prefix)}
}

func (w *watcher) key(name string) string { return w.db.Key(name) }

// do sends a command; its second word is a key where it has one.
func (w *watcher) do(words ...string) rueidis.RedisResult {
	return w.db.Client.Do(context.WithoutCancel(w.Context()), w.db.Client.B().Arbitrary(words...).Build())
}

// must is do that may not fail.
func (w *watcher) must(words ...string) {
	w.Helper()
	if err := w.do(words...).Error(); err != nil {
		w.Fatalf("%v: %v", words, err)
	}
}

func (w *watcher) number(words ...string) int64 {
	w.Helper()
	n, err := w.do(words...).AsInt64()
	if err != nil && !rueidis.IsRedisNil(err) {
		w.Fatalf("%v: %v", words, err)
	}
	return n
}

func (w *watcher) text(words ...string) string {
	w.Helper()
	s, err := w.do(words...).ToString()
	if err != nil && !rueidis.IsRedisNil(err) {
		w.Fatalf("%v: %v", words, err)
	}
	return s
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
		w.db.Client.Do(w.Context(), w.db.Client.B().Arbitrary("BLPOP").Keys(w.key("never")).Args("0.01").Blocking())
	}
}

// untilConnected waits until a dispatcher has found out about all connections
// that a restart of the server broke: each fails once when it is used.
func (w *watcher) untilConnected(d *redis.Dispatcher) {
	w.Helper()
	inARow := 0
	w.until("a connection", func() bool {
		for inARow < 30 {
			if _, err := d.Stats(w.Context()); err != nil {
				inARow = 0
				return false
			}
			inARow++
		}
		return true
	})
}

// untilBlocked waits until so many clients of the server wait in a read.
func (w *watcher) untilBlocked(n int) {
	w.Helper()
	w.until("blocking", func() bool {
		return strings.Count(w.text("CLIENT", "LIST"), "cmd=xreadgroup") >= n && w.info("clients", "blocked_clients") >= n
	})
}

// info returns a number of INFO.
func (w *watcher) info(section, field string) (n int) {
	w.Helper()
	for line := range strings.Lines(w.text("INFO", section)) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), field+":"); ok {
			for _, digit := range value {
				n = n*10 + int(digit-'0')
			}
		}
	}
	return n
}

// calls returns how often each command was called, by scripts too.
func (w *watcher) calls() map[string]int {
	w.Helper()
	return commandCalls(w, w.db)
}

// commandCalls counts the calls of every command that a Redis has seen.
func commandCalls(t testing.TB, db *redis.DB) map[string]int {
	t.Helper()
	info, err := db.Client.Do(context.WithoutCancel(t.Context()), db.Client.B().Info().Section("commandstats").Build()).ToString()
	if err != nil {
		t.Fatalf("info: %v", err)
	}
	calls := map[string]int{}
	for line := range strings.Lines(info) {
		name, rest, ok := strings.Cut(strings.TrimPrefix(line, "cmdstat_"), ":calls=")
		if !ok {
			continue
		}
		digits, _, _ := strings.Cut(rest, ",")
		n, err := strconv.Atoi(digits)
		if err != nil {
			t.Fatalf("info says %q", line)
		}
		calls[name] = n
	}
	return calls
}

// consumers returns the names of a stream's consumers.
func (w *watcher) consumers(priority string) (names []string) {
	w.Helper()
	all, err := w.do("XINFO", "CONSUMERS", w.key("jobs:"+priority), "workers").ToArray()
	if err != nil {
		w.Fatalf("consumers: %v", err)
	}
	for _, c := range all {
		facts, err := c.AsMap()
		if err != nil {
			w.Fatalf("consumers: %v", err)
		}
		name := facts["name"]
		text, err := name.ToString()
		if err != nil {
			w.Fatalf("consumers: %v", err)
		}
		names = append(names, text)
	}
	return names
}

// result is what a call of Lease brought.
type result struct {
	leases []dispatch.Lease
	err    error
}

func waitIn(ctx context.Context, d *redis.Dispatcher, n int) <-chan result {
	done := make(chan result, 1)
	go func() {
		leases, err := d.Lease(ctx, n)
		done <- result{leases, err}
	}()
	return done
}

func push(t *testing.T, d *redis.Dispatcher, entries ...dispatch.Entry) {
	t.Helper()
	if err := d.Push(t.Context(), entries...); err != nil {
		t.Fatalf("push: %v", err)
	}
}

// lease leases these jobs, one by one.
func lease(t *testing.T, d *redis.Dispatcher, jobs ...int64) []dispatch.Lease {
	t.Helper()
	return leaseIDs(t, d, dispatch.JobIDs(jobs)...)
}

// leaseIDs leases entries of these ids, one by one.
func leaseIDs(t *testing.T, d *redis.Dispatcher, ids ...string) (all []dispatch.Lease) {
	t.Helper()
	for _, id := range ids {
		leases, err := d.Lease(t.Context(), 1)
		if err != nil || len(leases) != 1 || leases[0].ID != id {
			t.Fatalf("leased %+v, %v, want %s", leases, err, id)
		}
		all = append(all, leases...)
	}
	return all
}
