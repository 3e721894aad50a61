package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"sluice/bench/peer"
	"sluice/bench/report"
)

// machinesLateTarget is what the 99th percentile must not exceed, in ms.
const machinesLateTarget = 10.0

// machinesLateness measures how late work begins that is due at a random
// instant, through MariaDB and Redis, and compares at whole seconds, the only
// instants that the peer knows.
func machinesLateness(ctx context.Context, l *lab) error {
	asynq, err := l.asynq(ctx)
	if err != nil {
		return err
	}
	n, spread := l.size(10_000, 500), lateSpread
	if l.short {
		spread = time.Second
	}
	delays, err := l.fleetLateness(ctx, randomInstants(time.Now().Add(machinesLead), n, spread))
	if err != nil {
		return err
	}
	ours := summarize(delays)
	l.notef("Sluice: %s", ours)
	if delays, err = l.fleetLateness(ctx, peer.DueTimes(n, machinesLead, spread, asynq.Resolution())); err != nil {
		return err
	}
	whole := summarize(delays)
	l.notef("Sluice, due at whole seconds: %s", whole)
	if delays, err = asynq.Lateness(ctx, n, lateWorkers, spread); err != nil {
		return err
	}
	theirs := summarize(delays)
	l.notef("%s: %s", asynq.Name(), theirs)
	what := fmt.Sprintf("%d jobs due at random instants over %s, through the whole engine, %d workers: %s", n, spread, lateWorkers, ours)
	early := float64(ours.early + whole.early)
	return errors.Join(
		l.report.Add(report.Line{Name: "machines_lateness_p50", Value: ours.p50, Unit: "ms", Detail: what}),
		l.report.Add(report.Line{Name: "machines_lateness_p99", Value: ours.p99, Unit: "ms", Detail: what}.
			Aim("<= 10 ms", ours.p99 <= machinesLateTarget)),
		l.report.Add(report.Line{
			Name: "machines_seconds_p99", Value: whole.p99, Unit: "ms",
			Detail: "as many, due at whole seconds; Sluice: " + whole.String() + "; " + asynq.Name() + ": " + theirs.String(),
		}.Against(asynq.Name(), theirs.p99)),
		l.report.Add(report.Line{Name: "machines_early", Value: early, Unit: "jobs", Detail: "of both"}.Aim("0", early == 0)),
	)
}

// machinesLead is what putting the jobs off may take before the first is due.
const machinesLead = 15 * time.Second

// fleetLateness takes jobs through the whole engine of a process with every
// role.
func (l *lab) fleetLateness(ctx context.Context, due []time.Time) ([]time.Duration, error) {
	if _, err := l.emptyRedis(ctx); err != nil {
		return nil, err
	}
	f, err := l.fleet(ctx)
	if err != nil {
		return nil, err
	}
	defer f.drop()
	return engineLateness(ctx, f.options(lateWorkers, nil), due)
}

// randomInstants are the same in every run, counted from the first.
func randomInstants(first time.Time, n int, spread time.Duration) []time.Time {
	random := rand.New(rand.NewPCG(4, uint64(n))) //nolint:gosec // it need not be secret
	out := make([]time.Time, n)
	for i := range out {
		out[i] = first.Add(time.Duration(random.Int64N(int64(spread))))
	}
	return out
}
