package metrics_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"sluice/internal/config"
	"sluice/internal/dispatch"
	"sluice/internal/domain"
	"sluice/internal/engine"
	"sluice/internal/engine/enginetest"
	"sluice/internal/metrics"
	"sluice/internal/quota"
	"sluice/internal/quota/rate"
	"sluice/internal/source"
	"sluice/internal/source/github"
	"sluice/internal/state"
	"sluice/internal/wiring"
)

// BenchmarkMeasuring is what measuring adds to each thing that is measured.
func BenchmarkMeasuring(b *testing.B) {
	i, _ := measured(b)
	turn := engine.Turn{
		Source: "github", Priority: domain.PriorityHigh, Verdict: source.Done, To: domain.JobSucceeded,
		Job: domain.Job{CreatedAt: now.Add(-time.Second)}, Began: now, Answered: now.Add(time.Millisecond), Ended: now.Add(2 * time.Millisecond),
	}
	jobs, granting := i.Jobs(stub{}), i.Rate(keeper{pipeline: &pipeline{granted: 1}}, map[string]rate.Limits{"game": {Hard: 500}})
	ctx := b.Context()
	for name, do := range map[string]func(){
		"a job's turn":    func() { i.Turned(turn) },
		"a commit":        func() { _, _ = jobs.Finish(ctx, state.Outcome{}) },
		"a granted call":  func() { _, _ = granting.Reserve(ctx, "game", domain.PriorityHigh, 1) },
		"a Redis command": func() { i.RedisCommand("EVALSHA", time.Millisecond, nil) },
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				do()
			}
		})
	}
}

// manyAccounts is how many accounts a scrape is to be quick with.
const manyAccounts = 10_000

// BenchmarkScrape scrapes a service that has many accounts, each with an active run,
// a ration that is being spent and a lane with work.
func BenchmarkScrape(b *testing.B) {
	i, err := metrics.NewInstruments(nil)
	if err != nil {
		b.Fatal(err)
	}
	svc, err := wiring.Open(b.Context(), wiring.Options{
		Config: config.Embedded(b.TempDir()), Holder: "test", Quota: github.Describe().Quota(0), Sources: []source.Source{&enginetest.Noop{}}, Meter: i,
	})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = svc.Close(context.WithoutCancel(b.Context())) })
	populate(b, svc)
	m, err := metrics.New(metrics.Sources{
		Engine: svc.Engine, State: svc.State, Dispatch: svc.Dispatch, Quota: svc.Quota, SQL: svc.SQL, Timers: svc.Timers, Instruments: i, Owners: 20,
	}, nil)
	if err != nil {
		b.Fatal(err)
	}
	size := 0
	scrapeOnce := func() {
		w := httptest.NewRecorder()
		m.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
		size = w.Body.Len()
	}
	// For the first one everything is counted, however long that takes.
	began := time.Now()
	scrapeOnce()
	first := time.Since(began)
	for b.Loop() {
		scrapeOnce()
	}
	b.ReportMetric(float64(first.Microseconds())/1000, "ms/first")
	b.ReportMetric(float64(b.Elapsed().Milliseconds())/float64(b.N), "ms/scrape")
	b.ReportMetric(float64(size), "bytes/scrape")
}

// populate fills a service.
func populate(b *testing.B, svc *wiring.Service) {
	b.Helper()
	const together = 100
	var group sync.WaitGroup
	for part := range together {
		group.Go(func() {
			for n := part; n < manyAccounts; n += together {
				if err := addAccount(b.Context(), svc, n); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	group.Wait()
}

func addAccount(ctx context.Context, svc *wiring.Service, n int) error {
	name := fmt.Sprintf("owner%05d", n)
	a, err := svc.State.PutAccount(ctx, state.AccountSpec{Source: "noop", Login: name, Name: name})
	if err != nil {
		return err
	}
	run, err := svc.State.CreateRun(ctx, state.RunSpec{AccountID: a.ID, Trigger: domain.TriggerManual, Priority: domain.PriorityHigh, Anchor: time.Now()})
	if err != nil {
		return err
	}
	if _, err := svc.State.PlanRun(ctx, run.ID, []domain.JobSpec{{Type: "T", Resource: "r", Bucket: "core", Class: domain.ClassChild}}); err != nil {
		return err
	}
	if _, err := svc.Quota.Reserve(ctx, quota.Ask{Owner: name, Bucket: "core", Endpoint: "e", Cost: 1, Points: 1}); err != nil {
		return err
	}
	return svc.Dispatch.Push(ctx, dispatch.Entry{ID: dispatch.JobID(run.ID), Lane: dispatch.Lane(name, "core"), Priority: domain.PriorityHigh, Class: domain.ClassChild})
}
