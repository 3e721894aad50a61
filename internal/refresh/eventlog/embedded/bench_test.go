package embedded_test

import (
	"fmt"
	"sync"
	"testing"

	"sluice/internal/refresh/eventlog"
	"sluice/internal/refresh/eventlog/embedded"
)

// events returns messages of the size that requests to refresh have.
func events(from, n int) []eventlog.Message {
	out := make([]eventlog.Message, n)
	for i := range out {
		key := fmt.Sprintf("github/octo/repository-%d", from+i)
		out[i] = eventlog.Message{Key: key, Value: fmt.Appendf(nil,
			`{"schemaVersion":"1.1","eventId":"%026d","source":"github","key":%q,"priority":"HIGH","reason":"USER_REQUEST","requestedAt":"2026-01-02T03:04:05.678Z","version":%d}`,
			from+i, key, from+i)}
	}
	return out
}

// BenchmarkPublish publishes in batches of 100; an operation is one record.
func BenchmarkPublish(b *testing.B) {
	for _, publishers := range []int{1, 8} {
		b.Run(fmt.Sprintf("publishers=%d", publishers), func(b *testing.B) {
			l := newLog(b, open(b, b.TempDir()), embedded.Options{})
			batches := make(chan []eventlog.Message)
			var wg sync.WaitGroup
			for range publishers {
				wg.Go(func() {
					for batch := range batches {
						publish(b, l, eventlog.High, batch...)
					}
				})
			}
			prepared := events(0, 100)
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

// BenchmarkTakeAndDone works a backlog off; an operation is one record.
func BenchmarkTakeAndDone(b *testing.B) {
	l := newLog(b, open(b, b.TempDir()), embedded.Options{})
	c, err := l.Join(b.Context(), eventlog.HighWorkers, eventlog.High)
	if err != nil {
		b.Fatal(err)
	}
	for from := 0; from < b.N; from += 1000 {
		publish(b, l, eventlog.High, events(from, min(1000, b.N-from))...)
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

// BenchmarkThrough publishes and works off at the same time.
func BenchmarkThrough(b *testing.B) {
	l := newLog(b, open(b, b.TempDir()), embedded.Options{})
	c, err := l.Join(b.Context(), eventlog.HighWorkers, eventlog.High)
	if err != nil {
		b.Fatal(err)
	}
	batches := (b.N + 99) / 100
	prepared := events(0, 100)
	b.ResetTimer()
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			for n := i; n < batches; n += 4 {
				publish(b, l, eventlog.High, prepared...)
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
