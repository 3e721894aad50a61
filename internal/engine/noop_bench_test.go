package engine_test

import (
	"context"
	"testing"

	"sluice/internal/config"
	"sluice/internal/domain"
	"sluice/internal/engine"
	"sluice/internal/engine/enginetest"
	"sluice/internal/source"
	"sluice/internal/wiring"
)

// BenchmarkDurableNoop measures jobs through the whole engine: planned,
// leased, committed with an fsync, completed.
func BenchmarkDurableNoop(b *testing.B) {
	ctx := context.Background()
	svc, err := wiring.Open(ctx, wiring.Options{
		Config: config.Embedded(b.TempDir()), Engine: engine.Config{Workers: 50}, Quota: wiring.NoQuota(),
		Sources: []source.Source{&enginetest.Noop{Jobs: b.N, FanOut: 500}},
	})
	if err != nil {
		b.Fatal(err)
	}
	if err := svc.Engine.Start(ctx); err != nil {
		b.Fatal(err)
	}
	b.ResetTimer()
	_, run, err := svc.Engine.Signup(ctx, engine.Signup{Source: "noop", Login: "bench", Token: "t"})
	if err != nil {
		b.Fatal(err)
	}
	done, err := svc.WaitRun(ctx, run.ID)
	if err != nil || done.Status != domain.RunCompleted || done.Succeeded < int64(b.N) {
		b.Fatalf("run %+v, error %v", done, err)
	}
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "jobs/s")
	b.ReportMetric(float64(b.N)/float64(svc.DB.Transactions()), "jobs/transaction")
	if err := svc.Close(ctx); err != nil {
		b.Fatal(err)
	}
}
