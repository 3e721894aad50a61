package engine

import (
	"context"
	"sync"
	"time"

	"sluice/internal/dispatch"
	"sluice/internal/domain"
)

// task is one leased job with its row.
type task struct {
	lease dispatch.Lease
	job   domain.Job
}

// feed leases jobs for idle workers. It alone waits for work, so an idle
// engine wakes once per dispatch.MaxWait, however many workers it has.
func (e *Engine) feed(ctx, hard context.Context, chores *sync.WaitGroup) {
	defer close(e.tasks)
	further := 0
	for {
		further = e.reach(further)
		n := e.takeSlots(ctx)
		if n == 0 {
			return
		}
		if further < 0 {
			// Fewer jobs are to be ahead: these slots are not given out again.
			drop := min(n, -further)
			further += drop
			if n -= drop; n == 0 {
				continue
			}
		}
		leases, err := e.Dispatch.Lease(ctx, n)
		if err != nil && ctx.Err() == nil {
			e.cfg.Log.Error("lease", "error", err)
			pause(ctx, e.cfg.BackoffBase)
		}
		jobs := e.beginChores(hard, leases, chores)
		tasks := e.load(ctx, jobs)
		e.giveSlots(n - (len(leases) - len(jobs)) - len(tasks))
		for _, t := range tasks {
			// There is room: no more tasks are about than there are slots.
			e.tasks <- t
		}
	}
}

// beginChores sets about the chores among leases and returns the jobs. A chore
// takes a slot too: who is busy with many leaves jobs to others.
func (e *Engine) beginChores(ctx context.Context, leases []dispatch.Lease, chores *sync.WaitGroup) (jobs []dispatch.Lease) {
	for i, l := range leases {
		if l.Job >= 0 {
			jobs = append(jobs, l)
			continue
		}
		e.renewer.hold(leases[i : i+1])
		chores.Go(func() {
			e.do(ctx, l)
			e.leave(l)
		})
	}
	return jobs
}

// quickTurn is how soon a worker must be through with a job for the way to
// dispatch to matter.
const quickTurn = 10 * time.Millisecond

// furtherAhead is how many more jobs than one for each worker may be leased
// ahead while jobs are quick: workers that share a dispatcher would wait for
// the way to it. Slow jobs are better left to whoever is idle.
func (e *Engine) furtherAhead() int {
	if e.cfg.Shared {
		return 2 * e.cfg.Workers
	}
	return 0
}

// reach gives out the slots of furtherAhead, or asks for them back, as jobs are
// quick or not. further is how many are given out; negative, how many are still
// to be taken back.
func (e *Engine) reach(further int) int {
	turn := time.Duration(e.turn.Load())
	switch quick := turn > 0 && turn < quickTurn; {
	case quick && further <= 0:
		e.giveSlots(e.furtherAhead() + further)
		return e.furtherAhead()
	case !quick && further > 0:
		return -further
	}
	return further
}

// took notes how long a worker was busy with a job.
func (e *Engine) took(d time.Duration) {
	const memory = 8
	was := e.turn.Load()
	e.turn.Store(was + (int64(d)-was)/memory)
}

// takeSlots waits for an idle worker and takes all that are idle.
func (e *Engine) takeSlots(ctx context.Context) int {
	select {
	case <-e.slots:
	case <-ctx.Done():
		return 0
	}
	n := 1
	for {
		select {
		case <-e.slots:
			n++
		default:
			if len(e.tasks) == 0 || !e.cfg.Shared || n >= e.cfg.Workers {
				return n
			}
			return n + e.gatherSlots(ctx, e.cfg.Workers-n)
		}
	}
}

// gatherTime is how long the feeder may wait for more idle workers while the
// others have work ahead: a trip to a server for one job costs as much as one
// for many.
const gatherTime = time.Millisecond

func (e *Engine) gatherSlots(ctx context.Context, most int) (n int) {
	over := time.NewTimer(gatherTime)
	defer over.Stop()
	for n < most {
		select {
		case <-e.slots:
			n++
		case <-over.C:
			return n
		case <-ctx.Done():
			return n
		}
	}
	return n
}

func (e *Engine) giveSlots(n int) {
	for range n {
		e.slots <- struct{}{}
	}
}

// load reads the rows of leased jobs in one go. What has no row is forgotten.
func (e *Engine) load(ctx context.Context, leases []dispatch.Lease) []task {
	if len(leases) == 0 {
		return nil
	}
	rows := make(map[int64]domain.Job, len(leases))
	unknown := make([]int64, 0, len(leases))
	for _, l := range leases {
		if j, ok := e.rows.take(l.Job); ok {
			rows[l.Job] = j
		} else {
			unknown = append(unknown, l.Job)
		}
	}
	if err := e.read(ctx, unknown, rows); err != nil {
		if ctx.Err() == nil {
			e.cfg.Log.Error("load jobs", "error", err)
			e.storeWaits(err, e.cfg.BackoffBase)
		}
		e.release(ctx, leases, e.cfg.Now().Add(e.cfg.BackoffBase))
		return nil
	}
	tasks := make([]task, 0, len(leases))
	for _, l := range leases {
		job, ok := rows[l.Job]
		if !ok {
			e.acknowledge(ctx, l)
			continue
		}
		tasks = append(tasks, task{l, job})
	}
	e.renewer.hold(leases)
	return tasks
}

// read adds the rows of jobs.
func (e *Engine) read(ctx context.Context, ids []int64, rows map[int64]domain.Job) error {
	if len(ids) == 0 {
		return nil
	}
	jobs, err := e.State.Load(ctx, ids)
	for _, j := range jobs {
		rows[j.ID] = j
	}
	return err
}

func (e *Engine) release(ctx context.Context, leases []dispatch.Lease, at time.Time) {
	for _, l := range leases {
		if err := e.Dispatch.Release(ctx, l, at); err != nil && ctx.Err() == nil {
			// The lease runs out by itself; the job is only later.
			e.cfg.Log.Warn("release", "job", l.Job, "error", err)
		}
	}
}
