package main

import (
	"context"
	"errors"
	"fmt"

	"sluice/bench/peer"
	"sluice/bench/report"
	"sluice/internal/config"
	"sluice/internal/domain"
	"sluice/internal/engine"
	"sluice/internal/engine/enginetest"
	"sluice/internal/source"
	"sluice/internal/wiring"
)

// durableWorkers is how many workers everybody has.
const durableWorkers = 50

// contest is a peer, how many jobs it gets and what Sluice aims at. Slower
// peers get fewer jobs, so that each round takes seconds for everybody.
type contest struct {
	peer   peer.Peer
	jobs   int
	target float64

	enqueue, process []float64
}

// durableNoop compares jobs per second. Sluice's time begins with the signup,
// before any job exists, and ends when its run is complete; peers are timed
// from a full queue on.
func durableNoop(ctx context.Context, l *lab) error {
	contests, err := l.contests(ctx)
	if err != nil {
		return err
	}
	var ours, cpu []float64
	for round := range l.rounds() {
		own, err := l.sluiceNoop(ctx, l.size(200_000, 5_000))
		if err != nil {
			return err
		}
		ours, cpu = append(ours, own.perSecond()), append(cpu, perCall(own))
		l.notef("round %d: Sluice %.0f jobs/s", round+1, own.perSecond())
		for _, c := range contests {
			rates, err := c.peer.Process(ctx, c.jobs, durableWorkers)
			if err != nil {
				return err
			}
			c.enqueue, c.process = append(c.enqueue, rates.Enqueue), append(c.process, rates.Process)
			l.notef("round %d: %s %.0f jobs/s (enqueued at %.0f/s)", round+1, c.peer.Name(), rates.Process, rates.Enqueue)
		}
	}
	for _, c := range contests {
		ratio := report.Median(report.Ratios(ours, c.process))
		line := report.Line{
			Name: "durable_noop", Value: report.Median(ours), Unit: "jobs/s",
			Detail: fmt.Sprintf("%d workers, median of %d rounds; the peer enqueues %.0f jobs/s before its time begins",
				durableWorkers, len(ours), report.Median(c.enqueue)),
		}
		line = line.Against(c.peer.Name(), report.Median(c.process)).WithRatio(ratio)
		if err := l.report.Add(line.Aim(fmt.Sprintf(">= %gx", c.target), ratio >= c.target)); err != nil {
			return err
		}
	}
	return l.report.Add(report.Line{
		Name: "durable_noop_cpu", Value: report.Median(cpu), Unit: "µs/job",
		Detail: "processor time of the whole process; other work on the machine moves it less than the rate",
	})
}

func (l *lab) contests(ctx context.Context) ([]*contest, error) {
	peers, err := l.peers(ctx)
	if err != nil {
		return nil, err
	}
	return []*contest{
		{peer: peers[0], jobs: l.size(40_000, 2_000), target: 3},
		{peer: peers[1], jobs: l.size(20_000, 1_000), target: 5},
		{peer: peers[2], jobs: l.size(40_000, 2_000), target: 2},
	}, nil
}

// peers are asynq, River on SQLite and River on PostgreSQL, in this order. All
// benchmarks share them.
func (l *lab) peers(ctx context.Context) ([]peer.Peer, error) {
	if l.shared != nil {
		return l.shared, nil
	}
	asynq, err := l.asynq(ctx)
	if err != nil {
		return nil, err
	}
	postgres, err := l.servers.Postgres(ctx)
	if err != nil {
		return nil, err
	}
	files, _, err := l.folder("river")
	if err != nil {
		return nil, err
	}
	l.shared = []peer.Peer{asynq, peer.NewRiverSQLite(files), peer.NewRiverPostgres(postgres)}
	return l.shared, nil
}

// sluiceNoop takes n no-op jobs through the whole engine.
func (l *lab) sluiceNoop(ctx context.Context, n int) (effort, error) {
	dir, remove, err := l.folder("noop")
	if err != nil {
		return effort{}, err
	}
	defer remove()
	return noop(ctx, wiring.Options{
		Config: config.Embedded(dir), Holder: "bench", Quota: wiring.NoQuota(),
		Engine:  engine.Config{Workers: durableWorkers},
		Sources: []source.Source{&enginetest.Noop{Jobs: n, FanOut: 500}},
	}, n)
}

// noop times one run of n no-op jobs.
func noop(ctx context.Context, o wiring.Options, n int) (e effort, err error) {
	svc, err := wiring.Open(ctx, o)
	if err != nil {
		return effort{}, err
	}
	defer func() { err = errors.Join(err, svc.Close(context.WithoutCancel(ctx))) }()
	if err := svc.Start(ctx); err != nil {
		return effort{}, err
	}
	return timed(func() (int, error) {
		_, run, err := svc.Engine.Signup(ctx, engine.Signup{Source: "noop", Login: "bench", Token: "t"})
		if err != nil {
			return 0, err
		}
		done, err := awaitRun(ctx, svc, run.ID)
		if err == nil && (done.Status != domain.RunCompleted || done.Succeeded < int64(n)) {
			err = fmt.Errorf("the run is %s with %d of %d jobs", done.Status, done.Succeeded, n)
		}
		return n, err
	})
}

// awaitRun waits for a run that ends in this process. Its row is read when a
// run has ended and not before, so that waiting costs next to nothing.
func awaitRun(ctx context.Context, svc *wiring.Service, id int64) (domain.Run, error) {
	changed, end := svc.Engine.Watch()
	defer end()
	for svc.Engine.Counters().RunsEnded.Load() == 0 {
		select {
		case <-changed:
		case <-ctx.Done():
			return domain.Run{}, ctx.Err()
		}
	}
	return svc.State.Run(ctx, id)
}
