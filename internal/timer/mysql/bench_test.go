package mysql_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"sluice/internal/mysqldb"
	"sluice/internal/testkit"
	"sluice/internal/timer"
	"sluice/internal/timer/mysql"
)

// callers are how many put or fire at the same time.
const callers = 256

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

func report(b *testing.B, db *mysqldb.DB, before uint64) {
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "timers/s")
	b.ReportMetric(float64(b.N)/float64(db.Transactions()-before), "timers/txn")
}

// BenchmarkPutOne is one timer a call, on disk before it is answered.
func BenchmarkPutOne(b *testing.B) {
	db := open(b, testkit.MariaDB(b))
	store, ids, now := mysql.New(db), benchIDs(b.N), time.Now()
	before := db.Transactions()
	b.ResetTimer()
	err := share(callers, b.N, func(i int) error {
		_, err := store.Put(b.Context(), []timer.Spec{benchSpec(ids[i], now.Add(time.Duration(i)*time.Millisecond))}, now)
		return err
	})
	if err != nil {
		b.Fatalf("put: %v", err)
	}
	report(b, db, before)
}

// putAll stores timers in batches of a thousand, of which some are on their
// way at once.
func putAll(b *testing.B, store *mysql.Store, ids []string, now time.Time) {
	b.Helper()
	err := share(4, (len(ids)+999)/1000, func(i int) error {
		part := ids[i*1000 : min(len(ids), (i+1)*1000)]
		specs := make([]timer.Spec, len(part))
		for k, id := range part {
			specs[k] = benchSpec(id, now.Add(time.Duration(i*1000+k)*time.Millisecond))
		}
		_, err := store.Put(b.Context(), specs, now)
		return err
	})
	if err != nil {
		b.Fatalf("put: %v", err)
	}
}

// BenchmarkPutBatch is a thousand timers a call.
func BenchmarkPutBatch(b *testing.B) {
	db := open(b, testkit.MariaDB(b))
	store, ids := mysql.New(db), benchIDs(b.N)
	before := db.Transactions()
	b.ResetTimer()
	putAll(b, store, ids, time.Now())
	report(b, db, before)
}

// BenchmarkFire fires timers in batches: a few callers with many each, and many
// with few.
func BenchmarkFire(b *testing.B) {
	for _, shape := range []struct{ callers, size int }{{2, 500}, {callers, 1}} {
		b.Run(fmt.Sprintf("callers=%d/size=%d", shape.callers, shape.size), func(b *testing.B) {
			db := open(b, testkit.MariaDB(b))
			store, ids, now := mysql.New(db), benchIDs(b.N), time.Now()
			putAll(b, store, ids, now)
			now = now.Add(time.Duration(b.N) * time.Millisecond)
			before := db.Transactions()
			b.ResetTimer()
			err := share(shape.callers, (b.N+shape.size-1)/shape.size, func(i int) error {
				part := ids[i*shape.size : min(b.N, (i+1)*shape.size)]
				_, err := store.Fire(b.Context(), timer.Firing{IDs: part, Now: now, Server: "server-1", Grace: timer.DefaultGrace})
				return err
			})
			if err != nil {
				b.Fatalf("fire: %v", err)
			}
			report(b, db, before)
		})
	}
}
