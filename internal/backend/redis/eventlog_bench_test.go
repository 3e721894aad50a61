package redis_test

import (
	"fmt"
	"sync"
	"testing"

	"sluice/internal/backend/redis"
	"sluice/internal/refresh"
	"sluice/internal/testkit"
)

// event is of the size that requests to refresh have.
const event = `{"schemaVersion":"1.1","eventId":"01234567890123456789012345","source":"github","key":"octo/repository","priority":"HIGH","reason":"USER_REQUEST","requestedAt":"2026-01-02T03:04:05.678Z","version":1}`

func events(n int) (out []refresh.Message) {
	for i := range n {
		out = append(out, refresh.Message{Key: fmt.Sprintf("github/octo/repository-%d", i), Value: []byte(event)})
	}
	return out
}

// BenchmarkPublish publishes in batches of 100; an operation is one record.
func BenchmarkPublish(b *testing.B) {
	l := openLog(b, testkit.Redis(b), testkit.Prefix(b), redis.EventLogOptions{})
	batch := events(100)
	var wg sync.WaitGroup
	b.ResetTimer()
	for i := range 4 {
		wg.Go(func() {
			for n := i * 100; n < b.N; n += 400 {
				publish(b, l, refresh.TopicHigh, batch...)
			}
		})
	}
	wg.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "records/s")
}

// BenchmarkTakeAndDone works a backlog off; an operation is one record.
func BenchmarkTakeAndDone(b *testing.B) {
	l := openLog(b, testkit.Redis(b), testkit.Prefix(b), redis.EventLogOptions{})
	batch := events(500)
	total := 0
	for ; total < b.N; total += len(batch) {
		publish(b, l, refresh.TopicHigh, batch...)
	}
	b.ResetTimer()
	c := join(b, l)
	for total > 0 {
		records, err := c.Take(b.Context(), 100)
		if err != nil {
			b.Fatal(err)
		}
		recordsDone(b, c, records...)
		total -= len(records)
	}
	if err := c.Close(b.Context()); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "records/s")
}
