package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"time"

	"sluice/bench/proc"
	"sluice/bench/report"
	"sluice/internal/config"
	"sluice/internal/dispatch"
	"sluice/internal/engine"
	"sluice/internal/engine/enginetest"
	"sluice/internal/source"
	"sluice/internal/state"
	"sluice/internal/wiring"
)

const (
	// pendingClaims is how many jobs are claimed one after the other.
	pendingClaims = 300
	// leaseBatch and leaseBatches bound how often leasing alone is timed. A
	// batch is timed as a whole, as the clock costs as much as a lease.
	leaseBatch, leaseBatches = 100, 200
)

// pendingFigures are what a child measured on one start.
type pendingFigures struct {
	Waiting      int
	StartSeconds float64
	ResidentMB   float64
	HeapMB       float64
	LeaseNanos   float64
	ClaimMicros  float64
}

// stalled is a source whose calls take until the engine gives them up, so that
// jobs keep waiting in an engine that runs.
type stalled struct{ *enginetest.Noop }

// Call implements source.Source.
func (stalled) Call(ctx context.Context, _ source.Call) source.Result {
	<-ctx.Done()
	return source.Result{Verdict: source.Wait}
}

// startPending starts an engine on a folder and measures what it finds.
func startPending(ctx context.Context, dir string, claims int) (f pendingFigures, err error) {
	began := time.Now()
	svc, err := wiring.Open(ctx, wiring.Options{
		Config: config.Embedded(dir), Holder: "bench", Quota: wiring.NoQuota(),
		Engine:  engine.Config{Workers: 1, StopTimeout: time.Millisecond},
		Sources: []source.Source{stalled{&enginetest.Noop{}}},
	})
	if err != nil {
		return f, err
	}
	// Whatever is under way is given up; the folder is none the worse for it.
	defer func() { _ = svc.Close(context.WithoutCancel(ctx)) }()
	if err := svc.Engine.Start(ctx); err != nil {
		return f, err
	}
	f.StartSeconds = time.Since(began).Seconds()
	if err := f.memory(); err != nil {
		return f, err
	}
	stats, err := svc.Dispatch.Stats(ctx)
	if err != nil {
		return f, err
	}
	f.Waiting = stats.Ready + stats.Due + stats.Leased
	if err := f.claim(ctx, svc, claims); err != nil {
		return f, err
	}
	return f, f.lease(ctx, svc.Dispatch)
}

func (f *pendingFigures) memory() error {
	resident, err := proc.Resident(os.Getpid())
	if err != nil {
		return err
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	f.ResidentMB, f.HeapMB = float64(resident)/1e6, float64(m.HeapInuse)/1e6
	return nil
}

// claim takes the median of jobs that are leased, read and claimed one by one.
func (f *pendingFigures) claim(ctx context.Context, svc *wiring.Service, claims int) error {
	var took []float64
	for range claims {
		began := time.Now()
		lease, err := next(ctx, svc.Dispatch)
		if err != nil {
			return err
		}
		number, _ := dispatch.JobNumber(lease.ID)
		jobs, err := svc.State.Load(ctx, []int64{number})
		if err != nil {
			return err
		}
		if len(jobs) != 1 {
			return fmt.Errorf("%s has no row", lease.ID)
		}
		if err := svc.State.Claim(ctx, state.Claim{Job: number, Attempt: jobs[0].Attempt, At: began}); err != nil {
			return err
		}
		took = append(took, float64(time.Since(began).Nanoseconds())/1e3)
	}
	f.ClaimMicros = report.Median(took)
	return nil
}

// lease takes the median of leases alone. What was leased is replaced, so that
// as many jobs wait as before.
func (f *pendingFigures) lease(ctx context.Context, d dispatch.Dispatcher) error {
	var took []float64
	fresh := int64(1) << 40
	batch := make([]dispatch.Lease, leaseBatch)
	for range leaseBatches {
		began := time.Now()
		for i := range batch {
			var err error
			if batch[i], err = next(ctx, d); err != nil {
				return err
			}
		}
		took = append(took, float64(time.Since(began).Nanoseconds())/leaseBatch)
		if err := d.Ack(ctx, batch...); err != nil {
			return err
		}
		for _, l := range batch {
			fresh++
			l.ID = dispatch.JobID(fresh)
			if err := d.Push(ctx, l.Entry); err != nil {
				return err
			}
		}
	}
	f.LeaseNanos = report.Median(took)
	return nil
}

func next(ctx context.Context, d dispatch.Dispatcher) (dispatch.Lease, error) {
	leases, err := d.Lease(ctx, 1)
	if err == nil && len(leases) != 1 {
		err = errors.New("nothing waits")
	}
	if err != nil {
		return dispatch.Lease{}, fmt.Errorf("lease: %w", err)
	}
	return leases[0], nil
}
