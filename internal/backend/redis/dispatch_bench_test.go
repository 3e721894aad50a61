package redis_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"sluice/internal/backend/redis"
	"sluice/internal/dispatch"
	"sluice/internal/domain"
	"sluice/internal/testkit"
)

func benchEntry(job int64) dispatch.Entry {
	return dispatch.Entry{
		ID: dispatch.JobID(job), Lane: fmt.Sprint("lane ", job%10), Priority: domain.PriorityHigh, Class: domain.ClassChild,
	}
}

// BenchmarkJob pushes, leases and acknowledges jobs one by one from fifty
// goroutines, so that the number waiting stays.
func BenchmarkJob(b *testing.B) {
	for _, waiting := range []int64{0, 1_000_000} {
		b.Run(fmt.Sprintf("waiting=%d", waiting), func(b *testing.B) {
			d := filledQueue(b, waiting)
			fifty(b, func(n int64) error { return doOne(b, d, waiting+n) })
		})
	}
}

// fifty does something b.N times from fifty goroutines.
func fifty(b *testing.B, do func(n int64) error) {
	var last atomic.Int64
	b.ResetTimer()
	var workers sync.WaitGroup
	for range 50 {
		workers.Go(func() {
			for n := last.Add(1); n <= int64(b.N); n = last.Add(1) {
				if err := do(n); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	workers.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "jobs/s")
}

// BenchmarkPlainStream is what the same costs without lanes, leases and
// records: XADD, XREADGROUP and XACK of each message.
func BenchmarkPlainStream(b *testing.B) {
	db, err := redis.Open(b.Context(), redis.Options{URL: testkit.StartRedis(b).URL()})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(db.Close)
	c, key := db.Client, db.Key("plain")
	if err := c.Do(b.Context(), c.B().XgroupCreate().Key(key).Group("g").Id("$").Mkstream().Build()).Error(); err != nil {
		b.Fatal(err)
	}
	fifty(b, func(n int64) error {
		if err := c.Do(b.Context(), c.B().Xadd().Key(key).Id("*").FieldValue().FieldValue("job", fmt.Sprint(n)).Build()).Error(); err != nil {
			return err
		}
		read, err := c.Do(b.Context(), c.B().Xreadgroup().Group("g", "c").Count(1).Streams().Key(key).Id(">").Build()).AsXRead()
		if err != nil {
			return err
		}
		return c.Do(b.Context(), c.B().Xack().Key(key).Group("g").Id(read[key][0].ID).Build()).Error()
	})
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
			d := filledQueue(b, waiting)
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

func filledQueue(b *testing.B, waiting int64) *redis.Dispatcher {
	d := openDispatcher(b, testkit.StartRedis(b).URL(), "bench", redis.DispatcherOptions{})
	entries := make([]dispatch.Entry, waiting)
	for job := range entries {
		entries[job] = benchEntry(int64(job))
	}
	if err := d.Push(b.Context(), entries...); err != nil {
		b.Fatal(err)
	}
	return d
}
