package redis_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"sluice/internal/backend/redis"
	"sluice/internal/refresh"
	"sluice/internal/testkit"
)

const (
	// logNever is a lease that ends after the test: who has it renews nothing, so
	// that all it does it was told to, or knew the instant of.
	logNever = time.Hour
	// patience bounds every wait that should end by itself.
	patience = 5 * time.Minute
)

// TestSharedWithoutRenewals: joining and leaving is settled by those that come
// and go, however many at once, and not when somebody happens to look.
func TestSharedWithoutRenewals(t *testing.T) {
	t.Parallel()
	for name, url := range map[string]func(testing.TB) string{"single": testkit.Redis, "cluster": testkit.RedisCluster} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url, prefix, o := url(t), testkit.Prefix(t), redis.EventLogOptions{Lease: logNever}
			all := crowd{join(t, openLog(t, url, prefix, o))}
			all.await(t, patience)
			// None, one and four partitions more than others have do not divide.
			for _, n := range []int{2, 7, 13, 4} {
				all = append(all, joinAtOnce(t, n, url, prefix, o)...)
				all.await(t, patience)
			}
			for _, stay := range []int{20, 9, 1} {
				for _, c := range all[stay:] {
					go func() { _ = c.Close(context.WithoutCancel(t.Context())) }()
				}
				all = all[:stay]
				all.await(t, patience)
			}
		})
	}
}

// TestEndOfALeaseIsAwaited: those that are left look when the dead one's lease
// ends, and not only when they renew their own.
func TestEndOfALeaseIsAwaited(t *testing.T) {
	t.Parallel()
	url, prefix := testkit.Redis(t), testkit.Prefix(t)
	stays := joinAtOnce(t, 2, url, prefix, redis.EventLogOptions{Lease: logNever})
	dies := join(t, openLog(t, url, prefix, redis.EventLogOptions{Lease: time.Second}))
	append(slices.Clone(stays), dies).await(t, patience)
	dies.Vanish()
	stays.await(t, patience)
	// One that comes when everybody is dead knows the instant as well.
	for _, c := range stays {
		if err := c.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	join(t, openLog(t, url, prefix, redis.EventLogOptions{Lease: time.Second})).Vanish()
	crowd{join(t, openLog(t, url, prefix, redis.EventLogOptions{Lease: logNever}))}.await(t, patience)
}

// workerVariable makes TestEventLogWork do something: the lease, the prefix and the URL.
const workerVariable = "SLUICE_TEST_EVENTLOG_WORKER"

// TestEventLogWork is the part of a process that TestKilledProcess starts and kills: it
// says which messages it takes, and does none.
func TestEventLogWork(t *testing.T) {
	words := strings.Fields(os.Getenv(workerVariable))
	if len(words) != 3 {
		return
	}
	life, err := time.ParseDuration(words[0])
	if err != nil {
		t.Fatal(err)
	}
	c := join(t, openLog(t, words[2], words[1], redis.EventLogOptions{Lease: life}))
	for {
		records, err := c.Take(t.Context(), 10)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range records {
			fmt.Printf("took %s\n", r.Value)
		}
	}
}

// startWorker starts a process that takes, and returns when it has.
func startWorker(tb testing.TB, url, prefix string, life time.Duration) (kill func()) {
	tb.Helper()
	binary, err := os.Executable()
	if err != nil {
		tb.Fatal(err)
	}
	command := exec.CommandContext(tb.Context(), binary, "-test.run=^TestEventLogWork$")
	command.Env = append(os.Environ(), workerVariable+"="+life.String()+" "+prefix+" "+url)
	out, err := command.StdoutPipe()
	if err != nil {
		tb.Fatal(err)
	}
	if err := command.Start(); err != nil {
		tb.Fatal(err)
	}
	kill = func() {
		_ = command.Process.Kill() // it may be dead
		_ = command.Wait()         // it was killed, which is what it says
	}
	tb.Cleanup(kill)
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if strings.HasPrefix(lines.Text(), "took ") {
			return kill
		}
	}
	tb.Fatal("the worker has ended and taken nothing")
	return nil
}

// TestKilledProcess: what a process had when SIGKILL ended it is taken by those
// that are left, in order, and nothing is lost.
func TestKilledProcess(t *testing.T) {
	t.Parallel()
	url, prefix := testkit.Redis(t), testkit.Prefix(t)
	l := openLog(t, url, prefix, redis.EventLogOptions{MaxWait: logMaxWait, Lease: logNever})
	publish(t, l, refresh.TopicHigh, messages(0, 300)...)
	kill := startWorker(t, url, prefix, time.Second)
	// It has everything, and has done none of it.
	kill()
	one, two := join(t, l), join(t, l)
	publish(t, l, refresh.TopicHigh, messages(300, 300)...)
	takeAll(t, 0, 600, one, two)
	until(t, "end of the lag", func() bool { return lag(t, l, refresh.TopicHigh) == 0 })
}

// BenchmarkKilledProcess measures, with the lease that is the default, from the
// end of a process to all that it had having been taken by another.
func BenchmarkKilledProcess(b *testing.B) {
	var total time.Duration
	for range b.N {
		url, prefix := testkit.Redis(b), testkit.Prefix(b)
		l := openLog(b, url, prefix, redis.EventLogOptions{})
		publish(b, l, refresh.TopicHigh, messages(0, 300)...)
		kill := startWorker(b, url, prefix, redis.DefaultEventLogLease)
		c := join(b, l)
		kill()
		began := time.Now()
		for taken := 0; taken < 300; {
			records, err := c.Take(b.Context(), 300)
			if err != nil {
				b.Fatal(err)
			}
			recordsDone(b, c, records...)
			taken += len(records)
		}
		total += time.Since(began)
	}
	b.ReportMetric(total.Seconds()/float64(b.N), "s/takeover")
}

// TestUnderWayStays: what one consumer is at is not handed to another that
// joins. Partitions that nothing is under way of change hands at once, the
// others when it is done.
func TestUnderWayStays(t *testing.T) {
	t.Parallel()
	url, prefix, o := testkit.Redis(t), testkit.Prefix(t), redis.EventLogOptions{MaxWait: logMaxWait, Lease: logNever}
	l := openLog(t, url, prefix, o)
	first := join(t, l)
	// Eight of the 24 partitions stay empty at first.
	busy, quiet := byPartition(t, 16, 30)
	publish(t, l, refresh.TopicHigh, busy...)
	held := takeRecords(t, first, len(busy))
	second, third := join(t, openLog(t, url, prefix, o)), join(t, openLog(t, url, prefix, o))
	// The eight are shared by the two that came; eight more are to follow.
	until(t, "share of what is quiet", func() bool { return len(second.Partitions())+len(third.Partitions()) == 8 })
	publish(t, l, refresh.TopicHigh, quiet...)
	var taken []string
	for len(taken) < len(quiet) {
		for _, c := range []*redis.Consumer{second, third} {
			limited, stop := context.WithTimeout(t.Context(), 50*time.Millisecond)
			records, err := c.Take(limited, 100)
			if err != nil && limited.Err() == nil {
				t.Fatalf("take: %v", err)
			}
			stop()
			taken = append(taken, values(records)...)
			recordsDone(t, c, records...)
		}
	}
	for _, value := range taken {
		if strings.HasPrefix(value, "busy") {
			t.Fatalf("%s is under way elsewhere", value)
		}
	}
	recordsDone(t, first, held...)
	crowd{first, second, third}.await(t, patience)
	publish(t, l, refresh.TopicHigh, messages(0, 100)...)
	takeAll(t, 0, 100, first, second, third)
	until(t, "end of the lag", func() bool { return lag(t, l, refresh.TopicHigh) == 0 })
}

// byPartition returns messages of so many partitions, and others of the rest.
func byPartition(t *testing.T, partitions, each int) (busy, quiet []refresh.Message) {
	t.Helper()
	have := map[int]int{}
	for i := 0; len(busy)+len(quiet) < each*refresh.TopicHigh.Partitions(); i++ {
		m := refresh.Message{Key: "key-" + strconv.Itoa(i)}
		p := redis.PartitionOf(refresh.TopicHigh, m.Key)
		if have[p]++; have[p] > each {
			continue
		}
		if p < partitions {
			m.Value = fmt.Appendf(nil, "busy-%d", i)
			busy = append(busy, m)
		} else {
			m.Value = fmt.Appendf(nil, "quiet-%d", i)
			quiet = append(quiet, m)
		}
	}
	return busy, quiet
}

// takeRecords takes exactly so many records.
func takeRecords(t *testing.T, c *redis.Consumer, want int) (got []refresh.LogRecord) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for len(got) < want {
		records, err := c.Take(ctx, want-len(got))
		if err != nil {
			t.Fatalf("took %d of %d records and then: %v", len(got), want, err)
		}
		got = append(got, records...)
	}
	return got
}

func values(records []refresh.LogRecord) (out []string) {
	for _, r := range records {
		out = append(out, string(r.Value))
	}
	return out
}

// TestIsolatedHandsOutNothing: a consumer that cannot reach Redis for the time
// of a lease keeps what it has read ahead to itself: it is another's by now.
func TestIsolatedHandsOutNothing(t *testing.T) {
	t.Parallel()
	url, prefix := testkit.Redis(t), testkit.Prefix(t)
	l := openLog(t, url, prefix, redis.EventLogOptions{MaxWait: 100 * time.Millisecond, Lease: 2 * time.Second})
	isolated := join(t, l)
	publish(t, l, refresh.TopicHigh, messages(0, 300)...)
	// The rest of what was read with it is there.
	takeRecords(t, isolated, 1)
	until(t, "reading ahead", func() bool { return isolated.Ahead() == 299 })
	isolated.Isolate()
	other := join(t, openLog(t, url, prefix, redis.EventLogOptions{MaxWait: logMaxWait, Lease: logNever}))
	crowd{other}.await(t, patience)
	if records, err := isolated.Take(t.Context(), 10); err != nil || len(records) > 0 {
		t.Errorf("took %v, %v, want nothing", values(records), err)
	}
	takeAll(t, 0, 300, other)
}
