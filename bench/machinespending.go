package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"

	"sluice/bench/redisinfo"
	"sluice/bench/report"
	"sluice/internal/domain"
	"sluice/internal/engine/enginetest"
	"sluice/internal/source"
	"sluice/internal/state"
	"sluice/internal/wiring"
)

const (
	// backlogWorkers is the engine's default.
	backlogWorkers = 16
	// backlogWarmup is how many jobs a process does before it is timed.
	backlogWarmup = 500
	// rebuildLook is how often it is looked whether dispatch is filled.
	rebuildLook = 50 * time.Millisecond
)

// machinesPending compares what a job costs while a million wait in MariaDB and
// Redis with what it costs while a thousand do. Each job that is done creates
// one, so that the number stays.
func machinesPending(ctx context.Context, l *lab) error {
	few, err := l.backlog(ctx, 1_000)
	if err != nil {
		return err
	}
	defer few.drop()
	many, err := l.backlog(ctx, l.size(1_000_000, 20_000))
	if err != nil {
		return err
	}
	defer many.drop()
	addr, err := l.emptyRedis(ctx)
	if err != nil {
		return err
	}
	// A million entries are in nobody's way afterwards.
	defer func() { _, _ = l.emptyRedis(context.WithoutCancel(ctx)) }()
	for _, b := range []*backlog{few, many} {
		if err := b.fill(ctx, addr); err != nil {
			return err
		}
		l.notef("%d jobs: dispatch rebuilt in %.2f s, %.0f MB in Redis", b.jobs, b.rebuild.Seconds(), float64(b.memory)/1e6)
	}
	n := l.size(10_000, 500)
	for round := range l.rounds() {
		for _, b := range []*backlog{few, many} {
			if err := b.work(ctx, l, n); err != nil {
				return err
			}
			l.notef("round %d, %d jobs: %.0f µs/job; µs/job of the servers: %s", round+1, b.jobs, b.cost[round], b.spent)
		}
	}
	return l.reportBacklog(few, many, n)
}

func (l *lab) reportBacklog(few, many *backlog, n int) error {
	const beside = "the same with 1,000 jobs"
	ratio := report.Median(report.Ratios(many.cost, few.cost))
	cost := report.Line{
		Name: "machines_pending", Value: report.Median(many.cost), Unit: "µs/job",
		Detail: fmt.Sprintf("%d jobs wait; %d workers take %d jobs, each creates one, rows are read as if another process had created them; median of %d rounds; processor time in µs/job: %s; with 1,000: %s",
			many.jobs, backlogWorkers, n, len(many.cost), many.spent, few.spent),
	}
	memory := report.Line{
		Name: "machines_pending_memory", Value: float64(many.memory) / 1e6, Unit: "MB in Redis",
		Detail: fmt.Sprintf("%.0f bytes a job", float64(many.memory)/float64(many.jobs)),
	}
	rebuild := report.Line{
		Name: "machines_pending_rebuild", Value: many.rebuild.Seconds(), Unit: "s",
		Detail: fmt.Sprintf("from the start of a process on an empty Redis until all of %d jobs are dispatched from MariaDB", many.jobs),
	}
	return errors.Join(
		l.report.Add(cost.Against(beside, report.Median(few.cost)).WithRatio(ratio).Aim("<= 1.3x", ratio <= 1.3)),
		l.report.Add(memory.Against(beside, float64(few.memory)/1e6)),
		l.report.Add(rebuild.Against(beside, few.rebuild.Seconds())),
	)
}

// backlog is a fleet before which jobs wait.
type backlog struct {
	*fleet
	jobs    int
	rebuild time.Duration
	memory  int64
	// cost is what a job takes in each round, in µs; spent is what the servers
	// took in the last.
	cost  []float64
	spent string
}

func (l *lab) backlog(ctx context.Context, jobs int) (*backlog, error) {
	f, err := l.fleet(ctx)
	if err != nil {
		return nil, err
	}
	began := time.Now()
	if err := plan(ctx, f.options(1, &enginetest.Noop{}), jobs); err != nil {
		f.drop()
		return nil, err
	}
	l.notef("planned %d jobs in %.1f s", jobs, time.Since(began).Seconds())
	return &backlog{fleet: f, jobs: jobs}, nil
}

// chain is a source each of whose calls creates the next. No two are alike, of
// any process.
func chain(begun func()) source.Source {
	stem := strconv.FormatInt(time.Now().UnixNano(), 36) + "-"
	var made atomic.Int64
	return &enginetest.Noop{OnCall: func(source.Call) (source.Result, bool) {
		begun()
		return source.Result{Verdict: source.Done, Next: []domain.JobSpec{{
			Type: "NOOP", Resource: stem + strconv.FormatInt(made.Add(1), 10), Bucket: "core", Class: domain.ClassChild,
		}}}, true
	}}
}

// fill lets a process find Redis empty and fill it from the state. Its one
// worker does nothing until that is done.
func (b *backlog) fill(ctx context.Context, addr string) (err error) {
	before, err := redisinfo.Memory(ctx, addr)
	if err != nil {
		return err
	}
	filled := make(chan struct{})
	began := time.Now()
	svc, err := wiring.Open(ctx, b.options(1, chain(func() { <-filled })))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, svc.Close(context.WithoutCancel(ctx))) }()
	defer close(filled)
	if err := svc.Start(ctx); err != nil {
		return err
	}
	for done := false; !done; {
		if err := pause(ctx, rebuildLook); err != nil {
			return err
		}
		if done, err = b.isFilled(ctx, svc); err != nil {
			return err
		}
	}
	b.rebuild = time.Since(began)
	after, err := redisinfo.Memory(ctx, addr)
	b.memory = after - before
	return err
}

// isFilled says whether all jobs are in dispatch and nothing else is.
func (b *backlog) isFilled(ctx context.Context, svc *wiring.Service) (bool, error) {
	stats, err := svc.Dispatch.Stats(ctx)
	if err != nil || stats.Ready+stats.Due+stats.Leased != b.jobs {
		return false, err
	}
	return len(stats.Lanes) == pendingAccounts, nil
}

// withoutRows is a state that leaves it to the engine to read the rows of new
// jobs, as it must for those that another process created. Of a short backlog
// it would otherwise know every row, and of a long one none.
type withoutRows struct{ state.Store }

// Finish implements state.Jobs.
func (s withoutRows) Finish(ctx context.Context, o state.Outcome) (state.Effect, error) {
	effect, err := s.Store.Finish(ctx, o)
	effect.Rows = nil
	return effect, err
}

// work takes n jobs and notes what each cost.
func (b *backlog) work(ctx context.Context, l *lab, n int) (err error) {
	var calls atomic.Int64
	warm, done := make(chan struct{}), make(chan struct{})
	o := b.options(backlogWorkers, chain(func() {
		switch calls.Add(1) {
		case backlogWarmup:
			close(warm)
		case int64(backlogWarmup + n):
			close(done)
		}
	}))
	o.WrapState = func(s state.Store) state.Store { return withoutRows{s} }
	svc, err := wiring.Open(ctx, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, svc.Close(context.WithoutCancel(ctx))) }()
	if err := svc.Start(ctx); err != nil {
		return err
	}
	if err := await(ctx, warm); err != nil {
		return err
	}
	before, err := l.serverTime(machineServers...)
	if err != nil {
		return err
	}
	spent, err := timed(func() (int, error) { return n, await(ctx, done) })
	if err != nil {
		return err
	}
	after, err := l.serverTime(machineServers...)
	b.cost = append(b.cost, float64(spent.took.Microseconds())/float64(n))
	b.spent = fmt.Sprintf("itself %.0f, %s", perCall(spent), after.perJob(before, n))
	return err
}

// await waits for a channel to be closed.
func await(ctx context.Context, closed <-chan struct{}) error {
	select {
	case <-closed:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
