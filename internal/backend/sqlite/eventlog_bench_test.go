package sqlite_test

import (
	"fmt"
	"sync"
	"testing"

	"sluice/internal/backend/sqlite"
	"sluice/internal/refresh"
)

// logEvents returns messages of the size that requests to refresh have.
func logEvents(from, n int) []refresh.Message {
	out := make([]refresh.Message, n)
	for i := range out {
		key := fmt.Sprintf("github/octo/repository-%d", from+i)
		out[i] = refresh.Message{Key: key, Value: fmt.Appendf(nil,
			`{"schemaVersion":"1.1","eventId":"%026d","source":"github","key":%q,"priority":"HIGH","reason":"USER_REQUEST","requestedAt":"2026-01-02T03:04:05.678Z","version":%d}`,
			from+i, key, from+i)}
	}
	return out
}

// BenchmarkEventLogPublish publishes in batches of 100; an operation is one record.
func BenchmarkEventLogPublish(b *testing.B) {
	for _, publishers := range []int{1, 8} {
		b.Run(fmt.Sprintf("publishers=%d", publishers), func(b *testing.B) {
			l := newEventLog(b, openIn(b, b.TempDir()), sqlite.EventLogOptions{})
			batches := make(chan []refresh.Message)
			var wg sync.WaitGroup
			for range publishers {
				wg.Go(func() {
					for batch := range batches {
						publish(b, l, refresh.TopicHigh, batch...)
					}
				})
			}
			prepared := logEvents(0, 100)
			b.ResetTimer()
			for left := b.N; left > 0; left -= 100 {
				batches <- prepared
			}
			close(batches)
			wg.Wait()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "records/s")
		})
	}
}

// BenchmarkEventLogTakeAndDone works a backlog off; an operation is one record.
func BenchmarkEventLogTakeAndDone(b *testing.B) {
	l := newEventLog(b, openIn(b, b.TempDir()), sqlite.EventLogOptions{})
	c, err := l.Join(b.Context(), refresh.HighWorkers, refresh.TopicHigh)
	if err != nil {
		b.Fatal(err)
	}
	for from := 0; from < b.N; from += 1000 {
		publish(b, l, refresh.TopicHigh, logEvents(from, min(1000, b.N-from))...)
	}
	b.ResetTimer()
	for left := b.N; left > 0; {
		records, err := c.Take(b.Context(), 100)
		if err == nil {
			err = c.Done(b.Context(), records...)
		}
		if err != nil {
			b.Fatal(err)
		}
		left -= len(records)
	}
	if err := c.Close(b.Context()); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "records/s")
}

// BenchmarkEventLogThrough publishes and works off at the same time.
func BenchmarkEventLogThrough(b *testing.B) {
	l := newEventLog(b, openIn(b, b.TempDir()), sqlite.EventLogOptions{})
	c, err := l.Join(b.Context(), refresh.HighWorkers, refresh.TopicHigh)
	if err != nil {
		b.Fatal(err)
	}
	batches := (b.N + 99) / 100
	prepared := logEvents(0, 100)
	b.ResetTimer()
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			for n := i; n < batches; n += 4 {
				publish(b, l, refresh.TopicHigh, prepared...)
			}
		})
	}
	for left := batches * 100; left > 0; {
		records, err := c.Take(b.Context(), 100)
		if err == nil {
			err = c.Done(b.Context(), records...)
		}
		if err != nil {
			b.Fatal(err)
		}
		left -= len(records)
	}
	wg.Wait()
	if err := c.Close(b.Context()); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "records/s")
}
