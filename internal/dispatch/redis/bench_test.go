package redis_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"sluice/internal/dispatch"
	"sluice/internal/dispatch/redis"
	"sluice/internal/domain"
	"sluice/internal/testkit"
)

func benchEntry(job int64) dispatch.Entry {
	return dispatch.Entry{
		Job: job, Lane: fmt.Sprint("lane ", job%10), Priority: domain.PriorityHigh, Class: domain.ClassChild,
	}
}

// BenchmarkJob pushes, leases and acknowledges jobs one by one from fifty
// goroutines, so that the number waiting stays.
func BenchmarkJob(b *testing.B) {
	for _, waiting := range []int64{0, 1_000_000} {
		b.Run(fmt.Sprintf("waiting=%d", waiting), func(b *testing.B) {
			d := filled(b, waiting)
			var last atomic.Int64
			last.Store(waiting)
			b.ResetTimer()
			var workers sync.WaitGroup
			for range 50 {
				workers.Go(func() {
					for job := last.Add(1); job <= waiting+int64(b.N); job = last.Add(1) {
						if err := doOne(b, d, job); err != nil {
							b.Error(err)
							return
						}
					}
				})
			}
			workers.Wait()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "jobs/s")
		})
	}
}

func doOne(b *testing.B, d dispatch.Dispatcher, job int64) error {
	if err := d.Push(b.Context(), benchEntry(job)); err != nil {
		return err
	}
	leases, err := d.Lease(b.Context(), 1)
	if err != nil {
		return err
	}
	return d.Ack(b.Context(), leases...)
}

// BenchmarkBatch is the same for a worker that leases a hundred at once.
func BenchmarkBatch(b *testing.B) {
	for _, waiting := range []int64{0, 1_000_000} {
		b.Run(fmt.Sprintf("waiting=%d", waiting), func(b *testing.B) {
			d := filled(b, waiting)
			next := waiting
			b.ResetTimer()
			for done := 0; done < b.N; {
				entries := make([]dispatch.Entry, 100)
				for i := range entries {
					entries[i] = benchEntry(next)
					next++
				}
				if err := d.Push(b.Context(), entries...); err != nil {
					b.Fatal(err)
				}
				leases, err := d.Lease(b.Context(), 100)
				if err != nil {
					b.Fatal(err)
				}
				if err := d.Ack(b.Context(), leases...); err != nil {
					b.Fatal(err)
				}
				done += len(leases)
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "jobs/s")
		})
	}
}

func filled(b *testing.B, waiting int64) *redis.Dispatcher {
	d := open(b, testkit.StartRedis(b).URL(), "bench", redis.Options{})
	entries := make([]dispatch.Entry, waiting)
	for job := range entries {
		entries[job] = benchEntry(int64(job))
	}
	if err := d.Push(b.Context(), entries...); err != nil {
		b.Fatal(err)
	}
	return d
}
