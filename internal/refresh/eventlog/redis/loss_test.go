package redis_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"sluice/internal/domain"
	"sluice/internal/redisdb"
	"sluice/internal/refresh/eventlog"
	"sluice/internal/refresh/eventlog/redis"
	"sluice/internal/testkit"
)

func messages(from, n int) (out []eventlog.Message) {
	for i := range n {
		out = append(out, eventlog.Message{Key: fmt.Sprintf("key-%d", from+i), Value: strconv.AppendInt(nil, int64(from+i), 10)})
	}
	return out
}

func publish(tb testing.TB, l eventlog.Log, topic eventlog.Topic, m ...eventlog.Message) {
	tb.Helper()
	if err := l.Publish(tb.Context(), topic, m...); err != nil {
		tb.Fatalf("publish: %v", err)
	}
}

func join(tb testing.TB, l *redis.Log) *redis.Consumer {
	tb.Helper()
	c, err := l.Join(tb.Context(), eventlog.HighWorkers, eventlog.High)
	if err != nil {
		tb.Fatalf("join: %v", err)
	}
	consumer, ok := c.(*redis.Consumer)
	if !ok {
		tb.Fatalf("a consumer is a %T", c)
	}
	return consumer
}

func done(tb testing.TB, c eventlog.Consumer, records ...eventlog.Record) {
	tb.Helper()
	if err := c.Done(tb.Context(), records...); err != nil {
		tb.Fatalf("done: %v", err)
	}
}

// takeAll takes from several consumers, doing what they take, until the values
// from one number to another were all taken.
func takeAll(t *testing.T, from, n int, consumers ...*redis.Consumer) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	left := map[string]bool{}
	for i := range n {
		left[strconv.Itoa(from+i)] = true
	}
	for len(left) > 0 {
		for _, c := range consumers {
			limited, stop := context.WithTimeout(ctx, 20*time.Millisecond)
			records, err := c.Take(limited, 100)
			stop()
			if ctx.Err() != nil {
				t.Fatalf("%d messages were not taken: %v", len(left), err)
			}
			for _, r := range records {
				delete(left, string(r.Value))
			}
			done(t, c, records...)
		}
	}
}

// until waits for something that Redis is asked about again and again.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for !ok() {
		select {
		case <-again.C:
		case <-ctx.Done():
			t.Fatalf("still no %s", what)
		}
	}
}

func lag(t *testing.T, l eventlog.Log, topic eventlog.Topic) int64 {
	t.Helper()
	lag, err := l.Lag(t.Context(), eventlog.HighWorkers, topic)
	if err != nil {
		t.Fatalf("lag: %v", err)
	}
	return lag.Records
}

func connect(t *testing.T, url string) *redisdb.DB {
	t.Helper()
	db, err := redisdb.Open(t.Context(), redisdb.Options{URL: url})
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	t.Cleanup(db.Close)
	return db
}

// TestFlushedRedis: what was in the log is gone; consumers and publishers go on
// and find their shares again.
func TestFlushedRedis(t *testing.T) {
	t.Parallel()
	url := testkit.StartRedis(t).URL()
	o := redis.Options{MaxWait: maxWait, Lease: lease}
	here, there := open(t, url, "flushed", o), open(t, url, "flushed", o)
	one, two := join(t, here), join(t, there)
	publish(t, here, eventlog.High, messages(0, 200)...)
	takeAll(t, 0, 200, one, two)
	db := connect(t, url)
	for round := range 3 {
		from := 1000 * (round + 1)
		publish(t, here, eventlog.High, messages(from, 100)...)
		if err := db.Client.Do(t.Context(), db.Client.B().Flushall().Build()).Error(); err != nil {
			t.Fatalf("flush: %v", err)
		}
		publish(t, there, eventlog.High, messages(from+100, 200)...)
		takeAll(t, from+100, 200, one, two)
		until(t, "end of the lag", func() bool {
			drain(t, one, two)
			return lag(t, here, eventlog.High) == 0
		})
	}
}

// drain takes and does what is there.
func drain(t *testing.T, consumers ...*redis.Consumer) {
	t.Helper()
	for _, c := range consumers {
		limited, stop := context.WithTimeout(t.Context(), 20*time.Millisecond)
		records, err := c.Take(limited, 1000)
		if err != nil && limited.Err() == nil {
			t.Fatalf("take: %v", err)
		}
		stop()
		done(t, c, records...)
	}
}

// TestRestartedRedis: a server that is away is told as unavailable, and a
// consumer goes on when it is back.
func TestRestartedRedis(t *testing.T) {
	t.Parallel()
	server := testkit.StartRedis(t, "--appendonly", "yes", "--appendfsync", "always")
	l := open(t, server.URL(), "restarted", redis.Options{MaxWait: maxWait, Lease: lease})
	c := join(t, l)
	publish(t, l, eventlog.High, messages(0, 100)...)
	takeAll(t, 0, 50, c)
	server.Kill()
	if err := l.Publish(t.Context(), eventlog.High, messages(100, 1)...); domain.CodeOf(err) != domain.CodeUnavailable {
		t.Errorf("while it is down: %v", err)
	}
	if err := l.Check(t.Context()); domain.CodeOf(err) != domain.CodeUnavailable {
		t.Errorf("check: %v", err)
	}
	server.Start()
	// A connection of before may still be found broken: who publishes tries again.
	until(t, "answer", func() bool { return l.Publish(t.Context(), eventlog.High, messages(100, 100)...) == nil })
	takeAll(t, 100, 100, c)
	until(t, "end of the lag", func() bool { drain(t, c); return lag(t, l, eventlog.High) == 0 })
}

// TestSleeperIsFenced: a consumer that slept for longer than its lease changes
// nothing of what is another's by now.
func TestSleeperIsFenced(t *testing.T) {
	t.Parallel()
	url, prefix := testkit.Redis(t), testkit.Prefix(t)
	o := redis.Options{MaxWait: maxWait, Lease: time.Second}
	here, there := open(t, url, prefix, o), open(t, url, prefix, o)
	sleeper := join(t, here)
	publish(t, here, eventlog.High, messages(0, 100)...)
	var old []eventlog.Record
	for len(old) < 100 {
		records, err := sleeper.Take(t.Context(), 100)
		if err != nil {
			t.Fatalf("take: %v", err)
		}
		old = append(old, records...)
	}
	sleeper.Vanish()
	other := join(t, there)
	var again []eventlog.Record
	for len(again) < 100 {
		records, err := other.Take(t.Context(), 100)
		if err != nil {
			t.Fatalf("take: %v", err)
		}
		again = append(again, records...)
	}
	done(t, sleeper, old...)
	if err := sleeper.Commit(t.Context()); err != nil {
		t.Fatalf("commit: %v", err)
	}
	if n := lag(t, here, eventlog.High); n != 100 {
		t.Errorf("lag is %d, want 100: what the sleeper says counts", n)
	}
	// Its records are not those of the other, either.
	done(t, other, old...)
	if err := other.Commit(t.Context()); err != nil {
		t.Fatalf("commit: %v", err)
	}
	if n := lag(t, here, eventlog.High); n != 100 {
		t.Errorf("lag is %d, want 100: old claims count", n)
	}
	done(t, other, again...)
	if err := other.Close(t.Context()); err != nil {
		t.Fatalf("close: %v", err)
	}
	if n := lag(t, here, eventlog.High); n != 0 {
		t.Errorf("lag is %d, want none", n)
	}
}

// TestHandingOverSavesFirst: who gives partitions up says how far it is with
// them, so that nothing that is done comes again.
func TestHandingOverSavesFirst(t *testing.T) {
	t.Parallel()
	url, prefix := testkit.Redis(t), testkit.Prefix(t)
	o := redis.Options{MaxWait: maxWait, Lease: lease}
	one, two := join(t, open(t, url, prefix, o)), join(t, open(t, url, prefix, o))
	if err := two.Close(t.Context()); err != nil {
		t.Fatalf("close: %v", err)
	}
	l := open(t, url, prefix, o)
	publish(t, l, eventlog.High, messages(0, 200)...)
	takeAll(t, 0, 200, one)
	two = join(t, l)
	publish(t, l, eventlog.High, messages(200, 200)...)
	for seen := 0; seen < 50; {
		records, err := two.Take(t.Context(), 100)
		if err != nil {
			t.Fatalf("take: %v", err)
		}
		seen += len(records)
		for _, r := range records {
			if n, err := strconv.Atoi(string(r.Value)); err != nil || n < 200 {
				t.Fatalf("%q was done before", r.Value)
			}
		}
	}
}

// TestEntriesAreRemoved: what every group has dealt with is gone, and nothing
// else; without a group they go when they are too old.
func TestEntriesAreRemoved(t *testing.T) {
	t.Parallel()
	url := testkit.StartRedis(t).URL()
	l := open(t, url, "removed", redis.Options{MaxWait: maxWait, Retention: time.Millisecond})
	c := join(t, l)
	publish(t, l, eventlog.High, messages(0, 1000)...)
	if n := entries(t, url, "removed", eventlog.High); n != 1000 {
		t.Errorf("%d entries, want 1000: they are not done, however old", n)
	}
	takeAll(t, 0, 1000, c)
	until(t, "end of the entries", func() bool { return entries(t, url, "removed", eventlog.High) == 0 })
	// Nodes of a stream are removed whole, of a hundred entries.
	for range 20 {
		publish(t, l, eventlog.Dead, slices.Repeat(messages(0, 1), 500)...)
	}
	if n := entries(t, url, "removed", eventlog.Dead); n > 5000 {
		t.Errorf("%d entries of a topic without a group, want the youngest", n)
	}
}

func entries(t *testing.T, url, prefix string, topic eventlog.Topic) (n int64) {
	t.Helper()
	db := connect(t, url)
	for p := range topic.Partitions() {
		one, err := db.Client.Do(t.Context(), db.Client.B().Xlen().Key(fmt.Sprintf("{%s:%s}:log:%d", prefix, topic, p)).Build()).AsInt64()
		if err != nil {
			t.Fatalf("length: %v", err)
		}
		n += one
	}
	return n
}

// TestIdleCost: a consumer that waits sends three commands in the time of a
// lease, however often Take is called.
func TestIdleCost(t *testing.T) {
	t.Parallel()
	url := testkit.StartRedis(t).URL()
	const lease, leases = 1500 * time.Millisecond, 3
	l := open(t, url, "idle", redis.Options{MaxWait: 100 * time.Millisecond, Lease: lease})
	c := join(t, l)
	publish(t, l, eventlog.High, messages(0, 10)...)
	takeAll(t, 0, 10, c)
	until(t, "end of the lag", func() bool { return lag(t, l, eventlog.High) == 0 })
	db := connect(t, url)
	before, began := commands(t, db), time.Now()
	for time.Since(began) < leases*lease {
		if records, err := c.Take(t.Context(), 10); err != nil || len(records) > 0 {
			t.Fatalf("took %v, %v", records, err)
		}
	}
	sent := 0
	for name, n := range commands(t, db) {
		// Those are the measurement's own and what the script calls.
		if name == "evalsha" || strings.HasPrefix(name, "x") || name == "ping" || strings.HasPrefix(name, "client") {
			sent += n - before[name]
		}
	}
	if most := int(time.Since(began)/(lease/3)) + 1; sent < leases || sent > most {
		t.Errorf("%d commands in the time of %d leases, want three in each", sent, leases)
	}
}

func commands(t testing.TB, db *redisdb.DB) map[string]int {
	t.Helper()
	text, err := db.Client.Do(t.Context(), db.Client.B().Info().Section("commandstats").Build()).ToString()
	if err != nil {
		t.Fatalf("info: %v", err)
	}
	out := map[string]int{}
	for line := range strings.Lines(text) {
		name, rest, ok := strings.Cut(strings.TrimPrefix(line, "cmdstat_"), ":calls=")
		if !ok {
			continue
		}
		digits, _, _ := strings.Cut(rest, ",")
		n, err := strconv.Atoi(digits)
		if err != nil {
			t.Fatalf("info says %q", line)
		}
		out[name] = n
	}
	return out
}
