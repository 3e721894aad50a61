package engine

import (
	"context"
	"sync"
	"sync/atomic"

	"sluice/internal/dispatch"
	"sluice/internal/domain"
)

// choreHandler does what is leased and is no job.
type choreHandler interface {
	runChore(ctx context.Context, l dispatch.Lease)
}

// runChanger is what workers ask for besides calls.
type runChanger interface {
	SetRunPriority(ctx context.Context, id int64, p domain.Priority) (domain.Run, error)
	// ensureStatistics sees to it that a run whose last job has ended completes.
	ensureStatistics(ctx context.Context, id int64) error
	// pauseUnreadable pauses an account whose credential cannot be opened.
	pauseUnreadable(ctx context.Context, id int64) error
}

// pool leases jobs and makes their calls: the feeder, the workers and what
// keeps their leases.
type pool struct {
	*core
	delivery *delivery
	permits  *permits
	policy   *outcomePolicy
	commits  *committer
	planner  *harvestPlanner
	control  runChanger
	chores   choreHandler
	rows     *rowCache
	renewer  *renewer
	expects  *expecter

	// averageTurn is how long a worker took for a job of late, in nanoseconds.
	averageTurn atomic.Int64

	tasks chan task
	slots chan struct{}
}

func newPool(c *core, d *delivery, control *runControl, planner *harvestPlanner, ps *permits, chores choreHandler) *pool {
	rows := newRowCache()
	return &pool{
		core: c, delivery: d, permits: ps, control: control, planner: planner, chores: chores, rows: rows,
		policy:  newOutcomePolicy(c, d, ps, control),
		commits: newCommitter(c, d, control, rows),
		renewer: newRenewer(c.Dispatch, c.cfg),
		expects: newExpecter(c),
	}
}

// run lets the feeder, the workers and the renewer work, until feed ends and the
// last worker is done.
func (p *pool) run(feed, hard context.Context) {
	// Each worker may have one job in hand and one ahead.
	p.tasks = make(chan task, 2*p.cfg.Workers+p.extraPrefetch())
	p.slots = make(chan struct{}, cap(p.tasks))
	p.giveSlots(2 * p.cfg.Workers)
	// Leases are renewed until the last worker is done.
	renew, stopRenew := context.WithCancel(hard)
	var workers, renewing sync.WaitGroup
	renewing.Go(func() { p.renewer.loop(renew) })
	for range p.cfg.Workers {
		workers.Go(func() { p.runWorker(feed, hard) })
	}
	// The feeder adds chores to them before it ends.
	workers.Go(func() { p.runFeeder(feed, hard, &workers) })
	workers.Wait()
	p.commits.acks.Wait()
	stopRenew()
	renewing.Wait()
}
