package timertest

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"sluice/internal/due"
	"sluice/internal/timer"
)

// BenchedStore is a store that is measured, and how many transactions it has made.
type BenchedStore struct {
	timer.Store
	Transactions func() uint64
}

// callers are how many put or fire at the same time.
const callers = 256

// BenchStore measures a store: each benchmark opens an empty one.
func BenchStore(b *testing.B, open func(b *testing.B) BenchedStore) {
	// PutOne is one timer a call, on disk before it is answered.
	b.Run("PutOne", func(b *testing.B) {
		o, ids, now := open(b), benchIDs(b.N), time.Now()
		o.measure(b, func() error {
			return share(callers, b.N, func(i int) error {
				_, err := o.Put(b.Context(), []timer.Spec{benchSpec(ids[i], now.Add(time.Duration(i)*time.Millisecond))}, now)
				return err
			})
		})
	})
	// PutBatch is a thousand timers a call.
	b.Run("PutBatch", func(b *testing.B) {
		o, ids := open(b), benchIDs(b.N)
		o.measure(b, func() error { return o.putAll(b, ids, time.Now()) })
	})
	// Fire is a few callers with many timers each, and many with one.
	for _, shape := range []struct{ callers, size int }{{2, 500}, {callers, 1}} {
		b.Run(fmt.Sprintf("Fire/callers=%d/size=%d", shape.callers, shape.size), func(b *testing.B) {
			o, ids, now := open(b), benchIDs(b.N), time.Now()
			if err := o.putAll(b, ids, now); err != nil {
				b.Fatal(err)
			}
			now = now.Add(time.Duration(b.N) * time.Millisecond)
			o.measure(b, func() error {
				return share(shape.callers, (b.N+shape.size-1)/shape.size, func(i int) error {
					part := ids[i*shape.size : min(b.N, (i+1)*shape.size)]
					_, err := o.Fire(b.Context(), timer.Firing{IDs: part, Now: now, Server: "server-1", Grace: due.DefaultGrace})
					return err
				})
			})
		})
	}
	// Open is how fast a trigger is filled again.
	b.Run("Open", func(b *testing.B) {
		o, n := open(b), 0
		if err := o.putAll(b, benchIDs(b.N), time.Now()); err != nil {
			b.Fatal(err)
		}
		b.ResetTimer()
		if err := o.Open(b.Context(), func(timer.Due) error { n++; return nil }); err != nil || n != b.N {
			b.Fatalf("%d of %d: %v", n, b.N, err)
		}
		b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "timers/s")
	})
}

func (o BenchedStore) measure(b *testing.B, do func() error) {
	b.Helper()
	before := o.Transactions()
	b.ResetTimer()
	if err := do(); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "timers/s")
	b.ReportMetric(float64(b.N)/float64(o.Transactions()-before), "timers/txn")
}

// putAll stores timers in batches of a thousand, of which some are on their way
// at once.
func (o BenchedStore) putAll(b *testing.B, ids []string, now time.Time) error {
	const size = 1000
	return share(4, (len(ids)+size-1)/size, func(i int) error {
		part := ids[i*size : min(len(ids), (i+1)*size)]
		specs := make([]timer.Spec, len(part))
		for k, id := range part {
			specs[k] = benchSpec(id, now.Add(time.Duration(i*size+k)*time.Millisecond))
		}
		_, err := o.Put(b.Context(), specs, now)
		return err
	})
}

// benchIDs are ids in the order that those of real timers have: none.
func benchIDs(n int) []string {
	ids := make([]string, n)
	for i := range ids {
		ids[i] = fmt.Sprintf("order:%016x", uint64(i)*0x9e3779b97f4a7c15)
	}
	return ids
}

func benchSpec(id string, at time.Time) timer.Spec {
	return timer.Spec{ID: id, At: at, Payload: []byte(`{"order":123456,"action":"remind","note":"call them back"}`)}
}

// share has many goroutines do each of n things once.
func share(goroutines, n int, do func(i int) error) error {
	var next atomic.Int64
	var all sync.WaitGroup
	failed := make(chan error, goroutines)
	for range goroutines {
		all.Go(func() {
			for i := int(next.Add(1)); i <= n; i = int(next.Add(1)) {
				if err := do(i - 1); err != nil {
					failed <- err
					return
				}
			}
		})
	}
	all.Wait()
	close(failed)
	return <-failed
}
