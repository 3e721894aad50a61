package mysql_test

import (
	"crypto/sha256"
	"database/sql"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"sluice/internal/mysqldb"
	"sluice/internal/refresh"
	"sluice/internal/refresh/mysql"
	"sluice/internal/testkit"
)

const (
	callers   = 32
	batchSize = 20
	bodySize  = 17_000
	// entities is how many are refreshed again and again.
	entities = 20_000
)

// benchBody is about 17 KB of the kind that catalogues answer with.
func benchBody(n uint64) []byte {
	dice := rand.New(rand.NewPCG(n, 1))
	type offer struct {
		ID     string  `json:"id"`
		Name   string  `json:"name"`
		Price  float64 `json:"price"`
		Stock  int     `json:"stock"`
		Image  string  `json:"image"`
		Active bool    `json:"active"`
	}
	var offers []offer
	for size := 0; size < bodySize; size += 130 {
		offers = append(offers, offer{
			fmt.Sprintf("%016x", dice.Uint64()), fmt.Sprintf("Part %d of series %c-%d", dice.IntN(10000), 'A'+rune(dice.IntN(26)), dice.IntN(100)),
			float64(dice.IntN(100000)) / 100, dice.IntN(500), fmt.Sprintf("https://cdn.example.org/i/%08x.jpg", dice.Uint32()), dice.IntN(2) == 0,
		})
	}
	body, err := json.Marshal(offers)
	if err != nil {
		return nil
	}
	return body
}

// benchBodies are some bodies and their hashes, made before the clock runs.
func benchBodies(n int) []refresh.Refreshed {
	bodies := make([]refresh.Refreshed, n)
	for i := range bodies {
		bodies[i].Body = benchBody(uint64(i))
		bodies[i].Hash = sha256.Sum256(bodies[i].Body)
	}
	return bodies
}

// saveAll saves n results from many callers in batches, of entities that are in
// no order. A round is one of each entity.
func saveAll(b *testing.B, s *mysql.Store, n int, bodies []refresh.Refreshed, version int64, bodyOf func(i int) int) {
	b.Helper()
	var next atomic.Int64
	var all sync.WaitGroup
	at := time.Now()
	for range callers {
		all.Go(func() {
			for {
				first := int(next.Add(batchSize)) - batchSize
				if first >= n {
					return
				}
				part := make([]refresh.Refreshed, 0, batchSize)
				for i := first; i < min(n, first+batchSize); i++ {
					r := bodies[bodyOf(i)%len(bodies)]
					r.Entity = refresh.Entity{Source: "shop", Key: fmt.Sprintf("item:%016x", uint64(i%entities)*0x9e3779b97f4a7c15)}
					r.Version, r.At = version+int64(i/entities), at
					part = append(part, r)
				}
				if _, err := s.Save(b.Context(), part); err != nil {
					b.Errorf("save: %v", err)
					return
				}
			}
		})
	}
	all.Wait()
}

// tableBytes is what the tables take on disk.
func tableBytes(b *testing.B, db *mysqldb.DB) (sum int64) {
	b.Helper()
	err := db.Query(b.Context(), func(r *sql.Rows) error { return r.Scan(&sum) },
		"SELECT SUM(data_length + index_length) FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name LIKE 'snapshot%'")
	if err != nil {
		b.Fatal(err)
	}
	return sum
}

// BenchmarkSaveTouched saves values that did not change.
func BenchmarkSaveTouched(b *testing.B) {
	db := open(b, testkit.MariaDB(b))
	s, bodies := newStore(b, db), benchBodies(64)
	saveAll(b, s, entities, bodies, 1, func(i int) int { return i % entities })
	counts, err := s.Counts(b.Context(), "shop")
	if err != nil {
		b.Fatal(err)
	}
	b.ResetTimer()
	saveAll(b, s, b.N, bodies, 2, func(i int) int { return i % entities })
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "saves/s")
	b.ReportMetric(float64(counts.Bytes)/float64(counts.Snapshots), "compressed-bytes")
	b.ReportMetric(float64(tableBytes(b, db))/entities, "table-bytes/snapshot")
}

// BenchmarkSaveChanged saves values of which each is another than before.
func BenchmarkSaveChanged(b *testing.B) {
	db := open(b, testkit.MariaDB(b))
	s, bodies := newStore(b, db), benchBodies(67)
	saveAll(b, s, entities, bodies, 1, func(i int) int { return i })
	b.ResetTimer()
	saveAll(b, s, b.N, bodies, 2, func(i int) int { return i%entities + 1 + i/entities })
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "saves/s")
}

// BenchmarkSnapshotWhileSaving is how long a read takes while others save, at a
// rate or, with 0, as
// fast as they can.
func BenchmarkSnapshotWhileSaving(b *testing.B) {
	for _, rate := range []int{1000, 0} {
		b.Run(fmt.Sprintf("saves=%d", rate), func(b *testing.B) {
			db := open(b, testkit.MariaDB(b))
			s, bodies := newStore(b, db), benchBodies(64)
			saveAll(b, s, entities, bodies, 1, func(i int) int { return i })
			quit := make(chan struct{})
			var saving sync.WaitGroup
			saving.Go(func() { saveUntil(b, s, bodies, rate, quit) })
			took := make([]time.Duration, 0, b.N)
			b.ResetTimer()
			for i := range b.N {
				e := refresh.Entity{Source: "shop", Key: fmt.Sprintf("item:%016x", uint64(i*7%entities)*0x9e3779b97f4a7c15)}
				began := time.Now()
				if _, ok, _, err := s.Snapshot(b.Context(), e); err != nil || !ok {
					b.Fatalf("snapshot: %v, %v", ok, err)
				}
				took = append(took, time.Since(began))
			}
			b.StopTimer()
			close(quit)
			saving.Wait()
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-us")
			b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-us")
		})
	}
}

// saveUntil saves, nine values of ten unchanged, so many a second or as many as
// can be if that is 0.
func saveUntil(b *testing.B, s *mysql.Store, bodies []refresh.Refreshed, rate int, quit <-chan struct{}) {
	b.Helper()
	const part = 640
	tick := time.NewTicker(time.Nanosecond + time.Duration(min(rate, 1))*part*time.Second/time.Duration(max(1, rate)))
	defer tick.Stop()
	for version := int64(2); ; version++ {
		select {
		case <-quit:
			return
		case <-tick.C:
			saveAll(b, s, part, bodies, version, func(i int) int { return i + int(version)*(i%10/9) })
		}
	}
}
