package redis_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"sluice/internal/backend/redis"
	"sluice/internal/domain"
	"sluice/internal/refresh"
	"sluice/internal/testkit"
)

func messages(from, n int) (out []refresh.Message) {
	for i := range n {
		out = append(out, refresh.Message{Key: fmt.Sprintf("key-%d", from+i), Value: strconv.AppendInt(nil, int64(from+i), 10)})
	}
	return out
}

func publish(tb testing.TB, l refresh.EventLog, topic refresh.Topic, m ...refresh.Message) {
	tb.Helper()
	if err := l.Publish(tb.Context(), topic, m...); err != nil {
		tb.Fatalf("publish: %v", err)
	}
}

func join(tb testing.TB, l *redis.EventLog) *redis.Consumer {
	tb.Helper()
	c, err := l.Join(tb.Context(), refresh.HighWorkers, refresh.TopicHigh)
	if err != nil {
		tb.Fatalf("join: %v", err)
	}
	consumer, ok := c.(*redis.Consumer)
	if !ok {
		tb.Fatalf("a consumer is a %T", c)
	}
	return consumer
}

func recordsDone(tb testing.TB, c refresh.LogConsumer, records ...refresh.LogRecord) {
	tb.Helper()
	if err := c.Done(tb.Context(), records...); err != nil {
		tb.Fatalf("done: %v", err)
	}
}

// takeAll takes from several consumers, doing what they take, until the values
// from one number to another were all taken.
func takeAll(t *testing.T, from, n int, consumers ...*redis.Consumer) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
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
			recordsDone(t, c, records...)
		}
	}
}

func lag(t *testing.T, l refresh.EventLog, topic refresh.Topic) int64 {
	t.Helper()
	lag, err := l.Lag(t.Context(), refresh.HighWorkers, topic)
	if err != nil {
		t.Fatalf("lag: %v", err)
	}
	return lag.Records
}

// TestFlushedRedis: what was in the log is gone; consumers and publishers go on
// and find their shares again.
func TestFlushedRedis(t *testing.T) {
	t.Parallel()
	url := testkit.StartRedis(t).URL()
	o := redis.EventLogOptions{MaxWait: logMaxWait, Lease: logLease}
	here, there := openLog(t, url, "flushed", o), openLog(t, url, "flushed", o)
	one, two := join(t, here), join(t, there)
	publish(t, here, refresh.TopicHigh, messages(0, 200)...)
	takeAll(t, 0, 200, one, two)
	db := connect(t, url, "")
	for round := range 3 {
		from := 1000 * (round + 1)
		publish(t, here, refresh.TopicHigh, messages(from, 100)...)
		if err := db.Client.Do(t.Context(), db.Client.B().Flushall().Build()).Error(); err != nil {
			t.Fatalf("flush: %v", err)
		}
		publish(t, there, refresh.TopicHigh, messages(from+100, 200)...)
		takeAll(t, from+100, 200, one, two)
		until(t, "end of the lag", func() bool {
			drain(t, one, two)
			return lag(t, here, refresh.TopicHigh) == 0
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
		recordsDone(t, c, records...)
	}
}

// TestRestartedRedis: a server that is away is told as unavailable, and a
// consumer goes on when it is back.
func TestRestartedRedis(t *testing.T) {
	t.Parallel()
	server := testkit.StartRedis(t, "--appendonly", "yes", "--appendfsync", "always")
	l := openLog(t, server.URL(), "restarted", redis.EventLogOptions{MaxWait: logMaxWait, Lease: logLease})
	c := join(t, l)
	publish(t, l, refresh.TopicHigh, messages(0, 100)...)
	takeAll(t, 0, 50, c)
	server.Kill()
	if err := l.Publish(t.Context(), refresh.TopicHigh, messages(100, 1)...); domain.CodeOf(err) != domain.CodeUnavailable {
		t.Errorf("while it is down: %v", err)
	}
	if err := l.Check(t.Context()); domain.CodeOf(err) != domain.CodeUnavailable {
		t.Errorf("check: %v", err)
	}
	server.Start()
	// A connection of before may still be found broken: who publishes tries again.
	until(t, "answer", func() bool { return l.Publish(t.Context(), refresh.TopicHigh, messages(100, 100)...) == nil })
	takeAll(t, 100, 100, c)
	until(t, "end of the lag", func() bool { drain(t, c); return lag(t, l, refresh.TopicHigh) == 0 })
}

// TestSleeperIsFenced: a consumer that slept for longer than its lease changes
// nothing of what is another's by now.
func TestSleeperIsFenced(t *testing.T) {
	t.Parallel()
	url, prefix := testkit.Redis(t), testkit.Prefix(t)
	o := redis.EventLogOptions{MaxWait: logMaxWait, Lease: time.Second}
	here, there := openLog(t, url, prefix, o), openLog(t, url, prefix, o)
	sleeper := join(t, here)
	publish(t, here, refresh.TopicHigh, messages(0, 100)...)
	var old []refresh.LogRecord
	for len(old) < 100 {
		records, err := sleeper.Take(t.Context(), 100)
		if err != nil {
			t.Fatalf("take: %v", err)
		}
		old = append(old, records...)
	}
	sleeper.Vanish()
	other := join(t, there)
	var again []refresh.LogRecord
	for len(again) < 100 {
		records, err := other.Take(t.Context(), 100)
		if err != nil {
			t.Fatalf("take: %v", err)
		}
		again = append(again, records...)
	}
	recordsDone(t, sleeper, old...)
	if err := sleeper.Commit(t.Context()); err != nil {
		t.Fatalf("commit: %v", err)
	}
	// Its records are not those of the other, either.
	recordsDone(t, other, old...)
	if err := other.Commit(t.Context()); err != nil {
		t.Fatalf("commit: %v", err)
	}
	if err := other.Close(t.Context()); err != nil {
		t.Fatalf("close: %v", err)
	}
	if n := lag(t, here, refresh.TopicHigh); n != 100 {
		t.Errorf("lag is %d, want 100: old claims count", n)
	}
	other, again = join(t, there), nil
	for len(again) < 100 {
		records, err := other.Take(t.Context(), 100)
		if err != nil {
			t.Fatalf("take: %v", err)
		}
		again = append(again, records...)
	}
	recordsDone(t, other, again...)
	if err := other.Close(t.Context()); err != nil {
		t.Fatalf("close: %v", err)
	}
	if n := lag(t, here, refresh.TopicHigh); n != 0 {
		t.Errorf("lag is %d, want none", n)
	}
}

// TestHandingOverSavesFirst: who gives partitions up says how far it is with
// them, so that nothing that is done comes again.
func TestHandingOverSavesFirst(t *testing.T) {
	t.Parallel()
	url, prefix := testkit.Redis(t), testkit.Prefix(t)
	o := redis.EventLogOptions{MaxWait: logMaxWait, Lease: logLease}
	one, two := join(t, openLog(t, url, prefix, o)), join(t, openLog(t, url, prefix, o))
	if err := two.Close(t.Context()); err != nil {
		t.Fatalf("close: %v", err)
	}
	l := openLog(t, url, prefix, o)
	publish(t, l, refresh.TopicHigh, messages(0, 200)...)
	takeAll(t, 0, 200, one)
	two = join(t, l)
	publish(t, l, refresh.TopicHigh, messages(200, 200)...)
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
	l := openLog(t, url, "removed", redis.EventLogOptions{MaxWait: logMaxWait, Retention: time.Millisecond})
	c := join(t, l)
	publish(t, l, refresh.TopicHigh, messages(0, 1000)...)
	if n := entries(t, url, "removed", refresh.TopicHigh); n != 1000 {
		t.Errorf("%d entries, want 1000: they are not done, however old", n)
	}
	takeAll(t, 0, 1000, c)
	until(t, "end of the entries", func() bool { return entries(t, url, "removed", refresh.TopicHigh) == 0 })
	// Nodes of a stream are removed whole, of a hundred entries.
	for range 20 {
		publish(t, l, refresh.TopicDead, slices.Repeat(messages(0, 1), 500)...)
	}
	if n := entries(t, url, "removed", refresh.TopicDead); n > 5000 {
		t.Errorf("%d entries of a topic without a group, want the youngest", n)
	}
}

func entries(t *testing.T, url, prefix string, topic refresh.Topic) (n int64) {
	t.Helper()
	db := connect(t, url, "")
	for p := range topic.Partitions() {
		one, err := db.Client.Do(t.Context(), db.Client.B().Xlen().Key(fmt.Sprintf("{%s:%s}:log:%d", prefix, topic, p)).Build()).AsInt64()
		if err != nil {
			t.Fatalf("length: %v", err)
		}
		n += one
	}
	return n
}

// TestEventLogIdleCost: a consumer that waits sends three commands in the time of a
// lease, however often Take is called.
func TestEventLogIdleCost(t *testing.T) {
	t.Parallel()
	url := testkit.StartRedis(t).URL()
	const lease, leases = 1500 * time.Millisecond, 3
	l := openLog(t, url, "idle", redis.EventLogOptions{MaxWait: 100 * time.Millisecond, Lease: lease})
	c := join(t, l)
	publish(t, l, refresh.TopicHigh, messages(0, 10)...)
	takeAll(t, 0, 10, c)
	until(t, "end of the lag", func() bool { return lag(t, l, refresh.TopicHigh) == 0 })
	db := connect(t, url, "")
	began := time.Now()
	before := commandCalls(t, db)
	for time.Since(began) < leases*lease {
		if records, err := c.Take(t.Context(), 10); err != nil || len(records) > 0 {
			t.Fatalf("took %v, %v", records, err)
		}
	}
	sent := 0
	for name, n := range commandCalls(t, db) {
		// Those are the measurement's own and what the script calls.
		if name == "evalsha" || strings.HasPrefix(name, "x") || name == "ping" || strings.HasPrefix(name, "client") {
			sent += n - before[name]
		}
	}
	if most := int(time.Since(began)/(lease/3)) + 1; sent < leases || sent > most {
		t.Errorf("%d commands in the time of %d leases, want three in each", sent, leases)
	}
}

// TestEpochTellsOfLoss: when everything was removed, and when another server
// answers that may know less.
func TestEpochTellsOfLoss(t *testing.T) {
	server := testkit.StartRedis(t)
	prefix := testkit.Prefix(t)
	here := openLog(t, server.URL(), prefix, redis.EventLogOptions{})
	db := connect(t, server.URL(), prefix)
	seen := map[string]bool{}
	look := func(what string) {
		t.Helper()
		// Connections that a restart has cut fail once each.
		ask := func() string {
			for deadline := time.Now().Add(time.Minute); ; <-time.After(50 * time.Millisecond) {
				epoch, err := here.Epoch(t.Context(), refresh.TopicHigh)
				if err == nil {
					return epoch
				}
				if time.Now().After(deadline) {
					t.Fatal(err)
				}
			}
		}
		epoch := ask()
		if again := ask(); again != epoch || seen[epoch] {
			t.Errorf("%s: epoch %q, then %q; seen before: %v", what, epoch, again, seen[epoch])
		}
		seen[epoch] = true
	}
	look("at first")
	if err := db.Client.Do(t.Context(), db.Client.B().Flushall().Build()).Error(); err != nil {
		t.Fatal(err)
	}
	look("after everything was removed")
	server.Restart()
	look("after a restart")
}
