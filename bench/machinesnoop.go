package main

import (
	"context"
	"errors"
	"fmt"

	"sluice/bench/report"
	"sluice/internal/engine/enginetest"
	"sluice/internal/quota"
	"sluice/internal/wiring"
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
	var theirs []float64
	// Calls that nobody rations, as asynq's, and such that are reserved and
	// settled through Redis.
	plain, rationed := fleetRounds{quota: wiring.NoQuota()}, fleetRounds{quota: amply()}
	for round := range l.rounds() {
		for _, r := range []*fleetRounds{&plain, &rationed} {
			if err := l.fleetNoop(ctx, r, workers, n); err != nil {
				return err
			}
		}
		if _, err := l.emptyRedis(ctx); err != nil {
			return err
		}
		rates, err := asynq.Process(ctx, n, workers)
		if err != nil {
			return err
		}
		theirs = append(theirs, rates.Process)
		l.notef("round %d, %d workers: Sluice %.0f jobs/s (%s), with rations %.0f jobs/s (%s), asynq %.0f jobs/s",
			round+1, workers, plain.rates[round], plain.spent, rationed.rates[round], rationed.spent, rates.Process)
	}
	line := func(name, what string, r fleetRounds) report.Line {
		return report.Line{
			Name: fmt.Sprintf("%s_%d", name, workers), Value: report.Median(r.rates), Unit: "jobs/s",
			Detail: fmt.Sprintf("%d workers, %d jobs, median of %d rounds, %s; the last round's %s; asynq keeps no SQL truth",
				workers, n, len(r.rates), what, r.spent),
		}.Against(asynq.Name(), report.Median(theirs)).WithRatio(report.Median(report.Ratios(r.rates, theirs)))
	}
	ours := line("machines_noop", "nothing is rationed", plain)
	return errors.Join(
		l.report.Add(ours.Aim(">= 1x", *ours.Ratio >= 1)),
		l.report.Add(line("machines_noop_rationed", "each call reserved and settled through Redis", rationed)),
	)
}

// fleetRounds are rounds of one kind.
type fleetRounds struct {
	quota quota.Config
	rates []float64
	// spent is where the processor time of the last round went.
	spent string
}

// fleetNoop takes n no-op jobs through one process on MariaDB and Redis.
func (l *lab) fleetNoop(ctx context.Context, r *fleetRounds, workers, n int) error {
	if _, err := l.emptyRedis(ctx); err != nil {
		return err
	}
	f, err := l.fleet(ctx)
	if err != nil {
		return err
	}
	defer f.drop()
	before, err := l.serverTime(machineServers...)
	if err != nil {
		return err
	}
	o := f.options(workers, &enginetest.Noop{Jobs: n, FanOut: 500})
	o.Quota = r.quota
	e, err := noop(ctx, o, n)
	if err != nil {
		return err
	}
	after, err := l.serverTime(machineServers...)
	r.rates = append(r.rates, e.perSecond())
	r.spent = fmt.Sprintf("µs/job of the processors: itself %.0f, %s", perCall(e), after.perJob(before, n))
	return err
}
