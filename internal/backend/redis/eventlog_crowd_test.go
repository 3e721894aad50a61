package redis_test

import (
	"sync"
	"testing"
	"time"

	"sluice/internal/backend/redis"
	"sluice/internal/refresh"
	"sluice/internal/testkit"
)

// crowd is consumers of one group, each with a connection of its own.
type crowd []*redis.Consumer

// joinAtOnce lets so many consumers join together.
func joinAtOnce(tb testing.TB, n int, url, prefix string, o redis.EventLogOptions) crowd {
	tb.Helper()
	logs, c := make([]*redis.EventLog, n), make(crowd, n)
	for i := range logs {
		logs[i] = openLog(tb, url, prefix, o)
	}
	var joining sync.WaitGroup
	for i, l := range logs {
		joining.Go(func() { c[i] = join(tb, l) })
	}
	joining.Wait()
	return c
}

// fair says whether every partition has one owner, and all have about as many.
func (c crowd) fair() bool {
	owned, least, most := map[int32]int{}, refresh.TopicHigh.Partitions(), 0
	for _, one := range c {
		numbers := one.Partitions()
		for _, p := range numbers {
			owned[p]++
			if owned[p] > 1 {
				return false
			}
		}
		least, most = min(least, len(numbers)), max(most, len(numbers))
	}
	return len(owned) == refresh.TopicHigh.Partitions() && most-least <= 1
}

// await waits until the partitions are shared out.
func (c crowd) await(tb testing.TB, limit time.Duration) {
	tb.Helper()
	end := time.NewTimer(limit)
	defer end.Stop()
	again := time.NewTicker(5 * time.Millisecond)
	defer again.Stop()
	for !c.fair() {
		select {
		case <-again.C:
		case <-end.C:
			for _, one := range c {
				tb.Logf("has %v", one.Partitions())
			}
			tb.Fatalf("not shared out within %v", limit)
		}
	}
}

// BenchmarkTenJoin measures from ten joining at once, with one at work already,
// to their having equal shares.
func BenchmarkTenJoin(b *testing.B) {
	var total, worst time.Duration
	for range b.N {
		url, prefix := testkit.Redis(b), testkit.Prefix(b)
		first := join(b, openLog(b, url, prefix, redis.EventLogOptions{}))
		began := time.Now()
		all := append(joinAtOnce(b, 10, url, prefix, redis.EventLogOptions{}), first)
		all.await(b, 2*time.Minute)
		took := time.Since(began)
		total, worst = total+took, max(worst, took)
		for _, c := range all {
			if err := c.Close(b.Context()); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(total.Seconds()*1000/float64(b.N), "ms/share")
	b.ReportMetric(worst.Seconds()*1000, "ms-worst")
}

// BenchmarkTakeover measures from the death of one of three, with the lease
// that is the default, to the others having its partitions.
func BenchmarkTakeover(b *testing.B) {
	var total time.Duration
	for range b.N {
		all := joinAtOnce(b, 3, testkit.Redis(b), testkit.Prefix(b), redis.EventLogOptions{})
		all.await(b, 2*time.Minute)
		all[0].Vanish()
		began := time.Now()
		all[1:].await(b, 2*time.Minute)
		total += time.Since(began)
	}
	b.ReportMetric(total.Seconds()/float64(b.N), "s/takeover")
}
