package refreshtest

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"sluice/internal/refresh"
)

// BenchedSnapshots is a store that is measured, and how much it takes on disk.
type BenchedSnapshots struct {
	refresh.Snapshots
	Bytes func() int64
}

const (
	saveCallers   = 32
	saveBatch     = 20
	benchBodySize = 17_000
	// benchEntities is how many are refreshed again and again.
	benchEntities = 20_000
)

// BenchSnapshots measures a store: each benchmark opens an empty one.
func BenchSnapshots(b *testing.B, open func(b *testing.B) BenchedSnapshots) {
	// SaveTouched saves values that did not change.
	b.Run("SaveTouched", func(b *testing.B) {
		s, bodies := open(b), benchBodies(64)
		saveAll(b, s, benchEntities, bodies, 1, func(i int) int { return i % benchEntities })
		counts, err := s.Counts(b.Context(), "shop")
		if err != nil {
			b.Fatal(err)
		}
		b.ResetTimer()
		saveAll(b, s, b.N, bodies, 2, func(i int) int { return i % benchEntities })
		b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "saves/s")
		b.ReportMetric(float64(counts.Bytes)/float64(counts.Snapshots), "compressed-bytes")
		b.ReportMetric(float64(s.Bytes())/benchEntities, "disk-bytes/snapshot")
	})
	// SaveChanged saves values of which each is another than before.
	b.Run("SaveChanged", func(b *testing.B) {
		s, bodies := open(b), benchBodies(67)
		saveAll(b, s, benchEntities, bodies, 1, func(i int) int { return i })
		b.ResetTimer()
		saveAll(b, s, b.N, bodies, 2, func(i int) int { return i%benchEntities + 1 + i/benchEntities })
		b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "saves/s")
	})
	// ReadWhileSaving is how long a read takes while others save, at a rate or,
	// with 0, as fast as they can.
	for _, rate := range []int{1000, 0} {
		b.Run(fmt.Sprintf("ReadWhileSaving/saves=%d", rate), func(b *testing.B) { readWhileSaving(b, open(b), rate) })
	}
}

func readWhileSaving(b *testing.B, s refresh.Entities, rate int) {
	bodies := benchBodies(64)
	saveAll(b, s, benchEntities, bodies, 1, func(i int) int { return i })
	quit := make(chan struct{})
	var saving sync.WaitGroup
	saving.Go(func() { saveUntil(b, s, bodies, rate, quit) })
	took := make([]time.Duration, 0, b.N)
	b.ResetTimer()
	for i := range b.N {
		began := time.Now()
		if _, ok, _, err := s.Snapshot(b.Context(), benchEntity(i*7)); err != nil || !ok {
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
}

// benchEntity is one of those that are refreshed, which are in no order.
func benchEntity(i int) refresh.Entity {
	return refresh.Entity{Source: "shop", Key: fmt.Sprintf("item:%016x", uint64(i%benchEntities)*0x9e3779b97f4a7c15)}
}

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
	for size := 0; size < benchBodySize; size += 130 {
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
func saveAll(b *testing.B, s refresh.Entities, n int, bodies []refresh.Refreshed, version int64, bodyOf func(i int) int) {
	b.Helper()
	var next atomic.Int64
	var all sync.WaitGroup
	at := time.Now()
	for range saveCallers {
		all.Go(func() {
			for {
				first := int(next.Add(saveBatch)) - saveBatch
				if first >= n {
					return
				}
				part := make([]refresh.Refreshed, 0, saveBatch)
				for i := first; i < min(n, first+saveBatch); i++ {
					r := bodies[bodyOf(i)%len(bodies)]
					r.Entity = benchEntity(i)
					r.Version, r.At = version+int64(i/benchEntities), at
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

// saveUntil saves, nine values of ten unchanged, so many a second or as many as
// can be if that is 0.
func saveUntil(b *testing.B, s refresh.Entities, bodies []refresh.Refreshed, rate int, quit <-chan struct{}) {
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
