package memory_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"sluice/internal/backend/memory"
	"sluice/internal/dispatch"
	"sluice/internal/domain"
)

// filled returns a dispatcher with jobs 0 to waiting-1 over ten lanes, and how
// many bytes each of them takes.
func filled(b *testing.B, waiting int, notBefore time.Time) (d *memory.Dispatcher, bytesEach float64) {
	before := memory.HeapInUse()
	d = memory.NewDispatcher(memory.DispatcherOptions{})
	for job := range waiting {
		if err := d.Push(b.Context(), benchEntry(int64(job), notBefore)); err != nil {
			b.Fatal(err)
		}
	}
	return d, float64(memory.HeapInUse()-before) / float64(waiting)
}

func benchEntry(job int64, notBefore time.Time) dispatch.Entry {
	lanes := [...]string{"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"}
	return dispatch.Entry{
		ID: dispatch.JobID(job), Lane: lanes[job%10], Priority: domain.PriorityHigh, Class: domain.ClassChild, NotBefore: notBefore,
	}
}

// BenchmarkDispatcherLeaseAck leases one entry, acknowledges it and pushes another, so
// that the number waiting stays.
func BenchmarkDispatcherLeaseAck(b *testing.B) {
	for _, waiting := range []int{1_000, 1_000_000} {
		b.Run(fmt.Sprintf("waiting=%d", waiting), func(b *testing.B) {
			d, bytesEach := filled(b, waiting, time.Time{})
			next := int64(waiting)
			b.ReportAllocs()
			for b.Loop() {
				leases, err := d.Lease(b.Context(), 1)
				if err != nil || len(leases) != 1 {
					b.Fatalf("leased %v, %v", leases, err)
				}
				if err := d.Ack(b.Context(), leases...); err != nil {
					b.Fatal(err)
				}
				if err := d.Push(b.Context(), benchEntry(next, time.Time{})); err != nil {
					b.Fatal(err)
				}
				next++
			}
			b.ReportMetric(bytesEach, "B/waiting")
		})
	}
}

// BenchmarkDispatcherLeaseOnly is the time to lease the next one.
func BenchmarkDispatcherLeaseOnly(b *testing.B) {
	for _, waiting := range []int{1_000, 1_000_000} {
		b.Run(fmt.Sprintf("waiting=%d", waiting), func(b *testing.B) {
			d, _ := filled(b, waiting, time.Time{})
			for b.Loop() {
				leases, err := d.Lease(b.Context(), 1)
				if err != nil || len(leases) != 1 {
					b.Fatalf("leased %v, %v", leases, err)
				}
				if err := d.Release(b.Context(), leases[0], time.Time{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkDispatcherDueWaiting is the memory of entries that wait for an instant.
func BenchmarkDispatcherDueWaiting(b *testing.B) {
	for b.Loop() {
		_, bytesEach := filled(b, 1_000_000, time.Now().Add(time.Hour))
		b.ReportMetric(bytesEach, "B/waiting")
	}
}

// BenchmarkDispatcherDueLateness hands out 10,000 entries that are due over ten seconds
// to four workers and says how late they were.
func BenchmarkDispatcherDueLateness(b *testing.B) {
	const entries, spread, workers = 10_000, 10 * time.Second, 4
	for b.Loop() {
		d := memory.NewDispatcher(memory.DispatcherOptions{})
		began := time.Now().Add(100 * time.Millisecond)
		dueAt := func(job int64) time.Time { return began.Add(time.Duration(job) * spread / entries) }
		for job := range int64(entries) {
			if err := d.Push(b.Context(), benchEntry(job, dueAt(job))); err != nil {
				b.Fatal(err)
			}
		}
		late := make(chan time.Duration, entries)
		for range workers {
			go func() {
				for b.Context().Err() == nil {
					leases, err := d.Lease(b.Context(), 1)
					if err != nil {
						return
					}
					for _, l := range leases {
						job, _ := dispatch.JobNumber(l.ID)
						late <- time.Since(dueAt(job))
						_ = d.Ack(b.Context(), l)
					}
				}
			}()
		}
		all := make([]time.Duration, entries)
		for i := range all {
			all[i] = <-late
		}
		slices.Sort(all)
		for name, at := range map[string]int{"min": 0, "p50": entries / 2, "p99": entries * 99 / 100, "max": entries - 1} {
			b.ReportMetric(float64(all[at].Microseconds()), name+"-late-µs")
		}
	}
}
