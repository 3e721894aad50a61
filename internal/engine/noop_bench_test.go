package engine_test

import (
	"context"
	"testing"

	"sluice/internal/domain"
	"sluice/internal/engine"
	"sluice/internal/engine/enginetest"
	"sluice/internal/source"
)

// BenchmarkDurableNoop measures jobs through the whole engine: planned,
// leased, committed with an fsync, completed.
func BenchmarkDurableNoop(b *testing.B) {
	ctx := context.Background()
	rig, err := enginetest.Open(ctx, enginetest.Setup{
		Dir: b.TempDir(), Config: engine.Config{Workers: 50},
		Sources: []source.Source{&enginetest.Noop{Jobs: b.N, FanOut: 500}},
	})
	if err != nil {
		b.Fatal(err)
	}
	if err := rig.Engine.Start(ctx); err != nil {
		b.Fatal(err)
	}
	b.ResetTimer()
	_, run, err := rig.Engine.Signup(ctx, engine.Signup{Source: "noop", Login: "bench", Token: "t"})
	if err != nil {
		b.Fatal(err)
	}
	done, err := rig.Wait(ctx, run.ID)
	if err != nil || done.Status != domain.RunCompleted || done.Succeeded < int64(b.N) {
		b.Fatalf("run %+v, error %v", done, err)
	}
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "jobs/s")
	b.ReportMetric(float64(b.N)/float64(rig.DB.Transactions()), "jobs/transaction")
	if err := rig.Close(ctx); err != nil {
		b.Fatal(err)
	}
}
