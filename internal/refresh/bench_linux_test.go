package refresh_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"log/slog"
	"syscall"
	"testing"
	"time"

	"sluice/internal/backend/memory"
	"sluice/internal/backend/sqlite"
	"sluice/internal/quota/paced"
	"sluice/internal/quota/rate"
	"sluice/internal/refresh"
	sim "sluice/internal/simulator/maplestory"
)

// bodies are such values as are kept of the game, about 17 KB each.
func bodies(n int) []refresh.Fetched {
	world := sim.New(sim.Options{Characters: n})
	out := make([]refresh.Fetched, n)
	for i := range out {
		truth, _ := world.Truth(world.Ocid(i), time.Now())
		out[i] = refresh.Fetched{Verdict: refresh.FetchDone, Body: truth.Value, Hash: sha256.Sum256(truth.Value), Received: 300_000}
	}
	return out
}

// benchPipeline is a pipeline on the embedded database whose upstream and rate
// cost nothing.
func benchPipeline(b *testing.B, up refresh.Upstream) *refresh.Pipeline {
	b.Helper()
	db, err := sqlite.Open(b.Context(), sqlite.Options{Dir: b.TempDir(), Holder: "a benchmark"})
	if err != nil {
		b.Fatal(err)
	}
	store, err := sqlite.NewSnapshots(db, refresh.TierOptions{})
	if err != nil {
		b.Fatal(err)
	}
	free := rate.Limits{Hard: 900_000_000, Rate: 400_000_000, Burst: 400_000_000, LowRate: 400_000_000, LowBurst: 400_000_000}
	keeper, err := paced.New(map[string]rate.Limits{game: free}, memory.NewRations(memory.RationsOptions{}), paced.Options{})
	if err != nil {
		b.Fatal(err)
	}
	log := sqlite.NewEventLog(db, sqlite.EventLogOptions{Log: slog.New(slog.DiscardHandler)})
	p, err := refresh.NewPipeline(refresh.Parts{
		Log: log, Coalescer: memory.NewCoalescer(refresh.CoalescerTTLs{}, nil), Snapshots: store, Rate: keeper,
		Cache: memory.NewCache(memory.CacheOptions{}), Upstreams: map[string]refresh.Upstream{game: up},
	}, refresh.Settings{Works: true})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = p.Stop(b.Context())
		_ = log.Close(context.WithoutCancel(b.Context()))
		_ = db.Close()
	})
	return p
}

// BenchmarkRefresh works a backlog off: of values that are new, and of values
// that have not changed. An operation is one refresh.
func BenchmarkRefresh(b *testing.B) {
	for _, changed := range []bool{true, false} {
		b.Run(fmt.Sprintf("changed=%t", changed), func(b *testing.B) {
			values := bodies(256)
			up := scripted(func(_ context.Context, key string, _ int) refresh.Fetched {
				return values[len(key)%2*128+int(key[len(key)-1])]
			})
			p := benchPipeline(b, up)
			counters := p.Worker().Counters()
			entities := make([]refresh.Entity, b.N)
			for i := range entities {
				entities[i] = entity(fmt.Sprintf("item-equipment:%064d", i))
			}
			var began time.Duration
			work := func() {
				ask(b, p, entities)
				before := counters.Stored.Load() + counters.Touched.Load()
				b.ResetTimer()
				began = processorTime(b)
				_ = p.Start(b.Context())
				for counters.Stored.Load()+counters.Touched.Load() < before+int64(b.N) {
					<-time.After(time.Millisecond)
				}
			}
			<-time.After(1100 * time.Millisecond) // the keeper's first second
			work()
			if !changed {
				_ = p.Stop(b.Context())
				work()
			}
			b.StopTimer()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "refreshes/s")
			// This is what counts where others use the processors as well.
			b.ReportMetric(float64((processorTime(b)-began).Microseconds())/float64(b.N), "processor-µs/op")
		})
	}
}

// processorTime is what the process has used so far.
func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

func ask(b *testing.B, p *refresh.Pipeline, entities []refresh.Entity) {
	b.Helper()
	for i := 0; i < len(entities); i += 1000 {
		part := entities[i:min(i+1000, len(entities))]
		if _, err := p.Request(b.Context(), refresh.Request{Entities: part, Priority: high, Reason: refresh.ReasonUserRequest}); err != nil {
			b.Fatal(err)
		}
	}
}
