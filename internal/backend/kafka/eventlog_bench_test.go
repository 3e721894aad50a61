package kafka_test

import (
	"context"
	"testing"

	"sluice/internal/backend/kafka"
	"sluice/internal/refresh"
	"sluice/internal/testkit"
)

// benchmarked opens a log in the tests' broker.
func benchmarked(b *testing.B) *kafka.EventLog {
	b.Helper()
	log, err := kafka.NewEventLog(b.Context(), options(testkit.KafkaBrokers(testkit.Kafka(b)), testkit.Prefix(b)))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = log.Close(context.WithoutCancel(b.Context())) })
	return log
}

// rate says how many messages a second that is.
func rate(b *testing.B, messages int) {
	b.ReportMetric(float64(messages)/b.Elapsed().Seconds(), "messages/s")
}

func BenchmarkPublishOne(b *testing.B) {
	log := benchmarked(b)
	count := 0
	for b.Loop() {
		if err := log.Publish(b.Context(), refresh.TopicHigh, messages(count, 1, 1000)...); err != nil {
			b.Fatal(err)
		}
		count++
	}
	rate(b, count)
}

func BenchmarkPublishOneOfMany(b *testing.B) {
	log := benchmarked(b)
	b.SetParallelism(100)
	b.RunParallel(func(pb *testing.PB) {
		for i := 0; pb.Next(); i++ {
			if err := log.Publish(b.Context(), refresh.TopicHigh, messages(i, 1, 1000)...); err != nil {
				b.Error(err)
			}
		}
	})
	rate(b, b.N)
}

func BenchmarkPublishFiveHundred(b *testing.B) {
	log := benchmarked(b)
	count := 0
	for b.Loop() {
		if err := log.Publish(b.Context(), refresh.TopicHigh, messages(count, 500, 1000)...); err != nil {
			b.Fatal(err)
		}
		count += 500
	}
	rate(b, count)
}

// BenchmarkConsume takes and does, 500 at a time, with one consumer.
func BenchmarkConsume(b *testing.B) {
	log := benchmarked(b)
	for from := 0; from < b.N; from += 500 {
		if err := log.Publish(b.Context(), refresh.TopicHigh, messages(from, min(500, b.N-from), 1000)...); err != nil {
			b.Fatal(err)
		}
	}
	c, err := log.Join(b.Context(), refresh.HighWorkers, refresh.TopicHigh)
	if err != nil {
		b.Fatal(err)
	}
	b.ResetTimer()
	for count := 0; count < b.N; {
		records, err := c.Take(b.Context(), 500)
		if err == nil {
			err = c.Done(b.Context(), records...)
		}
		if err != nil {
			b.Fatal(err)
		}
		count += len(records)
	}
	if err := c.Close(b.Context()); err != nil {
		b.Fatal(err)
	}
	rate(b, b.N)
}
