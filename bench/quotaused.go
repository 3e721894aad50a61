package main

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"slices"
	"time"

	"sluice/bench/report"
	"sluice/internal/config"
	"sluice/internal/engine"
	"sluice/internal/quota"
	sim "sluice/internal/simulator/github"
	"sluice/internal/source"
	"sluice/internal/source/github"
	"sluice/internal/wiring"
)

const quotaWorkers = 50

// generous is more points per minute than a benchmark can spend: the windows
// are to be what limits.
const generous = 1 << 20

// quotaUsed collects a backlog of several windows and asks the upstream how
// much of each window was spent. The windows allow far fewer calls than a slow
// machine can make, so that they are what limits.
func quotaUsed(ctx context.Context, l *lab) error {
	limit, window := l.size(200, 60), time.Duration(l.size(5, 2))*time.Second
	world := sim.New(sim.Options{
		Seed: 5, Accounts: 2,
		// All repositories fit on one page, so that discovery is over in the
		// first window and a backlog is known from then on.
		Shape: &sim.Shape{
			Repos: sim.Exactly(100), Commits: sim.Exactly(l.size(1200, 400)), Issues: sim.Exactly(l.size(1200, 400)), Pulls: sim.Exactly(0),
		},
		Latency: sim.Latency{Fixed: 10 * time.Millisecond, Jitter: 10 * time.Millisecond},
		Limits: sim.Limits{
			Window: window, CoreLimit: limit, GraphQLLimit: limit, RESTPoints: generous, GraphQLPoints: generous,
		},
	})
	server := httptest.NewServer(world)
	defer server.Close()
	if err := l.collectWithin(ctx, world, server.URL, shortQuota(limit, window)); err != nil {
		return err
	}
	return l.reportWindows(world.Audit(), window)
}

func shortQuota(limit int, window time.Duration) quota.Config {
	bucket := quota.Limits{Limit: limit, Window: window, PointsPerMinute: generous}
	return quota.Config{Concurrency: 100, Buckets: map[string]quota.Limits{"core": bucket, "graphql": bucket}}
}

func (l *lab) collectWithin(ctx context.Context, world *sim.Server, url string, q quota.Config) (err error) {
	dir, remove, err := l.folder("quota")
	if err != nil {
		return err
	}
	defer remove()
	src, err := github.New(github.Options{BaseURL: url})
	if err != nil {
		return err
	}
	svc, err := wiring.Open(ctx, wiring.Options{
		Config: config.Embedded(dir), Holder: "bench", Quota: q, Sources: []source.Source{src}, Engine: engine.Config{Workers: quotaWorkers},
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, svc.Close(context.WithoutCancel(ctx))) }()
	if err := svc.Engine.Start(ctx); err != nil {
		return err
	}
	accounts, err := signUp(ctx, svc, world, "github")
	if err != nil {
		return err
	}
	return runAll(ctx, svc, accounts)
}

func (l *lab) reportWindows(audit sim.Audit, length time.Duration) error {
	full, gaps := fullWindows(audit.Windows)
	if len(full) == 0 {
		return errors.New("the collection was over before a window was full")
	}
	used, lowest, most := 0.0, 1.0, 0.0
	for _, w := range full {
		share := float64(w.Used) / float64(w.Limit)
		if share < 0.99 {
			l.notef("%s %s: %d of %d from %s to %s", w.Owner, w.Bucket, w.Used, w.Limit,
				w.Start.Format("15:04:05.000"), w.End.Format("15:04:05"))
		}
		used, lowest, most = used+share, min(lowest, share), max(most, share)
	}
	detail := fmt.Sprintf("%d windows of %s with a backlog, the first and the last of each owner and bucket left out; the fullest %.4g %%", len(full), length, 100*most)
	return errors.Join(
		l.report.Add(report.Line{Name: "quota_used_min", Value: 100 * lowest, Unit: "% of a window", Detail: detail}.
			Aim(">= 99 %, <= 100 %", lowest >= 0.99 && most <= 1)),
		l.report.Add(report.Line{Name: "quota_used_mean", Value: 100 * used / float64(len(full)), Unit: "% of a window", Detail: detail}),
		l.report.Add(report.Line{Name: "quota_beyond", Value: float64(audit.Violations), Unit: "violations", Detail: fmt.Sprintf("of %d calls", audit.Calls)}.
			Aim("0", audit.Violations == 0)),
		l.report.Add(report.Line{
			Name: "quota_reset_gap", Value: report.Median(gaps), Unit: "ms",
			Detail: "from a window's end to the first call of the next, median; " + fmt.Sprintf("the longest %.4g ms", report.Quantile(gaps, 1)),
		}),
	)
}

// fullWindows leaves out the first window of each owner and bucket, before
// which there was no backlog, and the last, after which there was none. The
// gaps are the milliseconds between a window's end and its successor's start.
func fullWindows(all []sim.WindowUsage) (full []sim.WindowUsage, gaps []float64) {
	lanes := map[[2]string][]sim.WindowUsage{}
	for _, w := range all {
		key := [2]string{w.Owner, w.Bucket}
		lanes[key] = append(lanes[key], w)
	}
	for _, windows := range lanes {
		slices.SortFunc(windows, func(a, b sim.WindowUsage) int { return a.Start.Compare(b.Start) })
		if len(windows) < 3 {
			continue
		}
		full = append(full, windows[1:len(windows)-1]...)
		for i := 1; i < len(windows); i++ {
			gaps = append(gaps, float64(windows[i].Start.Sub(windows[i-1].End).Microseconds())/1e3)
		}
	}
	return full, gaps
}
