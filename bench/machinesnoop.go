package main

import (
	"context"
	"fmt"

	"sluice/bench/report"
	"sluice/bench/servers"
	"sluice/internal/engine/enginetest"
)

// machinesNoop compares jobs per second of one process through MariaDB and
// Redis with asynq on the same Redis. As in durable_noop, Sluice's time begins
// with the signup and asynq's from a full queue on.
func machinesNoop(ctx context.Context, l *lab) error {
	for _, workers := range []int{16, 50} {
		if err := l.machinesNoop(ctx, workers); err != nil {
			return err
		}
	}
	return nil
}

func (l *lab) machinesNoop(ctx context.Context, workers int) error {
	asynq, err := l.asynq(ctx)
	if err != nil {
		return err
	}
	n := l.size(40_000, 2_000)
	var ours, theirs, cpu []float64
	var spent string
	for round := range l.rounds() {
		own, used, err := l.fleetNoop(ctx, workers, n)
		if err != nil {
			return err
		}
		if _, err := l.emptyRedis(ctx); err != nil {
			return err
		}
		rates, err := asynq.Process(ctx, n, workers)
		if err != nil {
			return err
		}
		ours, theirs = append(ours, own.perSecond()), append(theirs, rates.Process)
		cpu, spent = append(cpu, perCall(own)), used
		l.notef("round %d, %d workers: Sluice %.0f jobs/s (µs/job: itself %.0f, %s), asynq %.0f jobs/s",
			round+1, workers, own.perSecond(), perCall(own), used, rates.Process)
	}
	ratio := report.Median(report.Ratios(ours, theirs))
	line := report.Line{
		Name: fmt.Sprintf("machines_noop_%d", workers), Value: report.Median(ours), Unit: "jobs/s",
		Detail: fmt.Sprintf("%d workers, %d jobs, median of %d rounds; processor time in µs/job: this process %.0f, %s; asynq keeps no SQL truth",
			workers, n, len(ours), report.Median(cpu), spent),
	}
	line = line.Against(asynq.Name(), report.Median(theirs)).WithRatio(ratio)
	return l.report.Add(line.Aim(">= 1x", ratio >= 1))
}

// fleetNoop takes n no-op jobs through one process on MariaDB and Redis. It
// also says what the servers spent on each.
func (l *lab) fleetNoop(ctx context.Context, workers, n int) (e effort, used string, err error) {
	if _, err := l.emptyRedis(ctx); err != nil {
		return effort{}, "", err
	}
	f, err := l.fleet(ctx)
	if err != nil {
		return effort{}, "", err
	}
	defer f.drop()
	before, err := l.serverTime(servers.Redis, servers.MariaDB)
	if err != nil {
		return effort{}, "", err
	}
	if e, err = noop(ctx, f.options(workers, &enginetest.Noop{Jobs: n, FanOut: 500}), n); err != nil {
		return effort{}, "", err
	}
	after, err := l.serverTime(servers.Redis, servers.MariaDB)
	return e, after.perJob(before, n), err
}
