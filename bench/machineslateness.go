package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"

	"sluice/bench/report"
	"sluice/internal/dispatch/redis"
	"sluice/internal/redisdb"
)

// machinesLateTarget is what the 99th percentile must not exceed, in ms.
const machinesLateTarget = 10.0

// machinesLateness compares how late work begins that is due at a random
// instant and handed out through Redis.
func machinesLateness(ctx context.Context, l *lab) error {
	asynq, err := l.asynq(ctx)
	if err != nil {
		return err
	}
	n, spread := l.size(10_000, 500), lateSpread
	if l.short {
		spread = time.Second
	}
	addr, err := l.emptyRedis(ctx)
	if err != nil {
		return err
	}
	delays, err := redisLateness(ctx, "redis://"+addr, n, spread)
	if err != nil {
		return err
	}
	ours := summarize(delays)
	l.notef("Sluice: %s", ours)
	if delays, err = asynq.Lateness(ctx, n, lateWorkers, spread); err != nil {
		return err
	}
	theirs := summarize(delays)
	l.notef("%s: %s", asynq.Name(), theirs)
	what := fmt.Sprintf("%d entries due at random instants over %s, %d who wait", n, spread, lateWorkers)
	p50 := report.Line{Name: "machines_lateness_p50", Value: ours.p50, Unit: "ms", Detail: what}
	p99 := report.Line{Name: "machines_lateness_p99", Value: ours.p99, Unit: "ms", Detail: "Sluice: " + ours.String() + "; asynq: " + theirs.String()}
	early := report.Line{Name: "machines_early", Value: float64(ours.early), Unit: "entries", Detail: what}
	return errors.Join(
		l.report.Add(p50.Against(asynq.Name(), theirs.p50)),
		l.report.Add(p99.Against(asynq.Name(), theirs.p99).Aim("<= 10 ms", ours.p99 <= machinesLateTarget)),
		l.report.Add(early.Against(asynq.Name(), float64(theirs.early)).Aim("0", ours.early == 0)),
	)
}

// redisLateness lets one process schedule and another one wait.
func redisLateness(ctx context.Context, url string, n int, spread time.Duration) (delays []time.Duration, err error) {
	open := func() (*redis.Dispatcher, func(), error) {
		db, err := redisdb.Open(ctx, redisdb.Options{URL: url})
		if err != nil {
			return nil, nil, err
		}
		d, err := redis.New(ctx, db, redis.Options{Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			db.Close()
			return nil, nil, err
		}
		return d, func() { d.Close(); db.Close() }, nil //nolint:contextcheck // closing outlives what was asked
	}
	scheduler, closeScheduler, err := open()
	if err != nil {
		return nil, err
	}
	defer closeScheduler()
	worker, closeWorker, err := open()
	if err != nil {
		return nil, err
	}
	defer closeWorker()
	scheduling, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- scheduler.Schedule(scheduling) }()
	defer func() { stop(); err = errors.Join(err, <-ended) }()
	due := randomInstants(time.Now().Add(2*time.Second), n, spread)
	if err := pushDue(ctx, worker, due); err != nil {
		return nil, err
	}
	return handOut(ctx, worker, due)
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
